"""`empathia know`: what commonly goes with an event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .conversations import Asked, given

if TYPE_CHECKING:
    from rich.console import Console

    from ..core.types import Inference
    from ..knowledge import Inferrer

#: inferrer's name → what it says
Found = Mapping[str, tuple["Inference", ...]]


@click.command()
@click.argument("messages", nargs=-1)
@click.option("-f", "--file", "files", multiple=True, type=click.Path(path_type=Path), help="Read from a file instead.")
@click.option("--jsonl", is_flag=True, help="Standard input is JSONL; files that end in .jsonl are taken so anyway.")
@click.option("--relation", "relations", multiple=True, help="Only this relation, such as xReact (several: repeat it).")
@click.option("--most", type=click.IntRange(1, 50), default=5, show_default=True, help="Tails of a relation at most.")
@click.option("--comet", type=click.Path(path_type=Path), help="Folder of a COMET: our adapter, or COMET-BART.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs; of JSONL, one line each.")
def know(
    messages: tuple[str, ...],
    files: tuple[Path, ...],
    jsonl: bool,
    relations: tuple[str, ...],
    most: int,
    comet: Path | None,
    as_json: bool,
) -> None:
    """Say what people commonly feel, want, need and do around what a message tells: from the tuples of ATOMIC and
    ConceptNet, and from COMET where there is one. Of several messages the last counts; without any, one is read from
    standard input. Files are read as `empathia perceive` reads them.

    The tuples are indexed once, which takes some minutes; a build that was stopped goes on where it was.

    \b
    Examples:
      empathia know "I lost my job"
      empathia know "My sister had a baby!" --relation xReact --relation xWant --most 3
      empathia know "I passed my exam" --json
      empathia know "I passed my exam" --comet my/comet-bart
      cat talks.jsonl | empathia know --jsonl --json
    """
    from ..knowledge import RELATIONS, infer
    from ..knowledge.relations import checked

    wanted = checked(relations or RELATIONS)
    asked = given(messages, files, jsonl)
    indent = None if jsonl or any(path.suffix == ".jsonl" for path in files) else 2
    inferrers: list[Inferrer] = []
    for number, one in enumerate(asked):
        inferrers = inferrers or _open(comet)  # a mistake in the first message shows before anything is loaded
        found = {inferrer.name: infer(inferrer, one.context.last, wanted, most) for inferrer in inferrers}
        if as_json:
            click.echo(json.dumps(_plain(one, found), ensure_ascii=False, indent=indent))
            continue
        if number:
            click.echo()
        _show(one, found)


def _open(comet: Path | None) -> list[Inferrer]:
    from ..knowledge import store
    from .inferrers import open_comet, own_comet
    from .progress import announce, growing

    with growing("encoding heads") as progress:
        opened: list[Inferrer] = [store(announce, progress)]
    folder = comet or own_comet()
    return [*opened, open_comet(folder, announce)] if folder else opened


def _plain(asked: Asked, found: Found) -> dict[str, Any]:
    from ..core.taxonomy import RELATION_GROUPS
    from ..knowledge.events import events

    row: dict[str, Any] = {} if asked.id is None else {"id": asked.id}
    row |= {"text": asked.context.last, "events": events(asked.context.last)}
    for name, tails in found.items():
        row[name] = {
            group: {
                relation: [{"text": t.text, "score": round(t.score, 4)} for t in tails if t.relation == relation]
                for relation in relations
                if any(t.relation == relation for t in tails)
            }
            for group, relations in RELATION_GROUPS.items()
        }
    return row


def _show(asked: Asked, found: Found, console: Console | None = None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..core.taxonomy import RELATION_GROUPS
    from ..knowledge.events import events
    from ..knowledge.relations import SAID

    console = console or Console()
    told = events(asked.context.last)
    if not told:
        console.print("No event in this: nothing is known about it.", style="dim")
        return
    for event in told:
        console.print(Text(f"  {event}", style="bold"))
    for name, tails in found.items():
        table = Table(box=None, show_header=False, padding=(0, 1), title=name, title_justify="left", title_style="dim")
        for group, relations in RELATION_GROUPS.items():
            title = group
            for relation in relations:
                own = [tail for tail in tails if tail.relation == relation]
                if own:
                    table.add_row(Text(title, style="cyan"), Text(SAID[relation], style="yellow"), _line(own))
                    title = ""
        if table.row_count:
            console.print(table)
        else:
            console.print(f"{name}: nothing near enough is known.", style="dim")


def _line(tails: list[Inference]) -> Any:
    """Tails side by side, weak ones dimmer."""
    from rich.text import Text

    strongest = max(tail.score for tail in tails)
    made = Text()
    for i, tail in enumerate(tails):
        made.append(" · " if i else "", style="dim")
        made.append(tail.text, style="" if tail.score >= strongest / 3 else "dim")
    return made
