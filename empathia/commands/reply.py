"""`empathia reply`: one message in, one answer out."""

from __future__ import annotations

import json
import sys

import click

from ..core.errors import BadInput


@click.command()
@click.argument("messages", nargs=-1)
@click.option(
    "--model", "name", help="empathia (default), retrieval, a trained run, a .gguf file, a folder, an address."
)
@click.option("--decoder", help="How a trained run searches, e.g. greedy, beam5, nucleus0.9.")
@click.option("--intent", help="What the reply should do, e.g. questioning, consoling.")
@click.option("--emotion", help="What the reply should sound like, e.g. hopeful.")
@click.option("--candidates", type=click.IntRange(1, 16), help="Replies to weigh before one is chosen (default: 4).")
@click.option(
    "--stochastic/--steady", default=None, help="Draw the plan (and MIME's latent variables) or take the likeliest."
)
@click.option(
    "--know", is_flag=True, help="Tell the language model what ATOMIC and ConceptNet say of it (docs/data.md)."
)
@click.option("--seed", type=int, help="Same seed, same reply.")
@click.option("--why", is_flag=True, help="Also show the emotion seen and the other candidates.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with all evidence, for programs.")
@click.option("--country", help="Whose help lines to show in a crisis, e.g. NZ (default: EMPATHIA_COUNTRY, locale).")
def reply(
    messages: tuple[str, ...],
    name: str | None,
    decoder: str | None,
    intent: str | None,
    emotion: str | None,
    candidates: int | None,
    stochastic: bool | None,
    know: bool,
    seed: int | None,
    why: bool,
    as_json: bool,
    country: str | None,
) -> None:
    """Answer a message. Several messages are the turns of one conversation, the last one waiting for an answer;
    without any, the message is read from standard input.

    \b
    Examples:
      empathia reply "I lost my job today."
      empathia reply "I lost my job today." "Oh no, what happened?" "They closed the shop." --why
      empathia reply "I lost my job today." --intent questioning
      empathia reply "I lost my job today." --know --why
      echo "My son graduated!" | empathia reply --json
    """
    from ..core.types import Context, Reply, Wish
    from ..guard import Guard
    from .progress import announce
    from .responders import responder_of
    from .why import print_guard, print_why

    texts = messages or (sys.stdin.buffer.read().decode("utf-8", errors="replace"),)
    if not texts[-1].strip():
        raise BadInput("the message is empty", 'say something: empathia reply "I lost my job today."')
    context = Context.of(*texts)
    verdict = Guard(country).check(context)
    if verdict.answer:  # fixed text; no model is loaded or asked
        found = Reply(verdict.answer)
    else:
        wish = Wish(intent=intent, emotion=emotion, stochastic=stochastic, seed=seed, candidates=candidates)
        found = responder_of(name, decoder, announce, know).reply(context, wish)
    if as_json:
        click.echo(json.dumps(found.as_dict() | {"guard": verdict.as_dict()}, ensure_ascii=False, indent=2))
        return
    click.echo(found.text)
    if verdict.reminder:
        click.echo(verdict.reminder)
    if why:
        print_why(found)
        print_guard(verdict)
