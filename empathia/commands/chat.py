"""`empathia chat`: talk to a responder in the terminal."""

from __future__ import annotations

import re

import click

HELP = """/why            what was seen and which replies were weighed
/intent NAME    what replies should do: questioning, consoling, ...; /intent off lets empathia choose
/emotion NAME   what replies should sound like: hopeful, proud, ...; /emotion off
/model NAME     talk to another: empathia, retrieval, a trained run, a .gguf file, an address
/seed N         fix the chance, N of up to nine digits; /seed off lets it go
/reset          start over
/help           this
/quit           leave (or Ctrl-D)"""


@click.command()
@click.option(
    "--model", "name", help="empathia (default), retrieval, a trained run, a .gguf file, a folder, an address."
)
@click.option("--decoder", help="How a trained run searches, e.g. greedy, beam5, nucleus0.9.")
@click.option("--stochastic/--steady", default=None, help="Draw the plan, or take the likeliest.")
@click.option("--country", help="Whose help lines to show in a crisis, e.g. NZ (default: EMPATHIA_COUNTRY, locale).")
def chat(name: str | None, decoder: str | None, stochastic: bool | None, country: str | None) -> None:
    """Talk to a responder in the terminal.

    \b
    Examples:
      empathia chat
      empathia chat --model mime --decoder nucleus0.9
    """
    import io
    import sys

    from rich.console import Console
    from rich.text import Text

    from ..core.errors import EmpathiaError
    from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, checked
    from ..core.types import Context, Reply, Turn, Wish
    from ..guard import Guard, Verdict
    from .progress import announce
    from .responders import responder_of
    from .why import print_guard, print_why

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # bytes that are not text become �, as in `reply`
    console = Console()
    guard, verdict = Guard(country), Verdict()
    responder = responder_of(name, decoder, announce)
    console.print(Text(f"{responder.name} listens. It is a program, not a person. /help for commands.", style="dim"))
    turns: tuple[Turn, ...] = ()
    last = None
    seed: int | None = None
    wished: dict[str, str | None] = {"intent": None, "emotion": None}
    while True:
        try:
            said = console.input("[bold]you[/bold] › ").strip()
        except EOFError:
            console.print()
            return
        command, _, rest = said.partition(" ")
        if command in ("/quit", "/exit"):
            return
        if command == "/reset":
            turns, last = (), None
            console.print(Text("A fresh start.", style="dim"))
        elif command == "/why":
            if last is None:
                console.print(Text("Nothing has been said yet.", style="dim"))
            else:
                print_why(last, console)
                print_guard(verdict, console)
        elif command == "/seed":
            seed = int(rest) if re.fullmatch(r"[0-9]{1,9}", rest.strip()) else None
            console.print(Text("The chance is free." if seed is None else f"Seed {seed}.", style="dim"))
        elif command in ("/intent", "/emotion"):
            kind, known = command[1:], EMOTIONS if command == "/emotion" else EMOTIONS_AND_INTENTS
            try:
                wished[kind] = None if rest.strip() in ("", "off") else checked(rest, known, kind)
                console.print(Text(f"The reply's {kind}: {wished[kind] or 'its own choice'}.", style="dim"))
            except EmpathiaError as problem:
                console.print(Text(str(problem), style="dim"))
        elif command == "/model":
            try:
                responder = responder_of(rest.strip() or None, decoder, announce)
                console.print(Text(f"{responder.name} listens now.", style="dim"))
            except EmpathiaError as problem:
                console.print(Text(str(problem), style="dim"))
        elif said.startswith("/"):
            console.print(Text(HELP, style="dim"))
        elif said:
            asked = Context((*turns, Turn("speaker", said)))
            verdict = guard.check(asked)
            if verdict.answer:  # fixed text; no model is asked
                last = Reply(verdict.answer)
                turns = (*asked.turns, Turn("listener", verdict.answer))
                console.print(Text.assemble(("empathia", "bold cyan"), " › ", verdict.answer))
                continue
            chance = seed if seed is not None else len(turns)
            drawn = True if stochastic is None and seed is not None else stochastic  # who names a seed wants draws
            try:
                last = responder.reply(asked, Wish(wished["emotion"], wished["intent"], stochastic=drawn, seed=chance))
            except EmpathiaError as problem:
                console.print(Text(str(problem), style="dim"))
                continue
            turns = (*asked.turns, Turn("listener", last.text))
            feeling = last.evidence.top_emotion
            if feeling:
                console.print(Text(f"      seems {feeling}", style="dim italic"))
            console.print(Text.assemble((responder.name, "bold cyan"), " › ", last.text))
            if verdict.reminder:
                console.print(Text(f"      {verdict.reminder}", style="dim"))
