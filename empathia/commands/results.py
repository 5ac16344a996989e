"""`empathia results`: the board."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..evaluation.board import Figure, Published, published_for, read_board, read_published
from ..evaluation.report import interval, number

#: Columns of a board that goes into a file or a pipe, where there is no terminal to fit.
_WIDE = 200


@click.command()
@click.argument("topic", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def results(topic: str | None, as_json: bool) -> None:
    """Print every recorded figure beside the published one.

    \b
    Examples:
      empathia results
      empathia results speed
      empathia results --json
    """
    board, published = read_board(topic), read_published()
    if as_json:
        rows = {
            name: [
                figure.as_dict() | {"published": [asdict(p) for p in published_for(figure.name, published)]}
                for figure in own
            ]
            for name, own in board.items()
        }
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)
    if not board:
        console.print("The board is empty. A measuring command with --record TOPIC puts figures on it.")
    for name, figures in board.items():
        console.print(_table(name, figures, published))


def _table(topic: str, figures: Sequence[Figure], published: Mapping[str, Sequence[Published]]) -> Table:
    table = Table(title=Text(topic), title_justify="left", show_lines=False)
    table.add_column("figure", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("published", overflow="fold")
    table.add_column("conditions", overflow="fold", style="dim")
    table.add_column("commit", no_wrap=True, style="dim")
    for figure in figures:
        value = f"{number(figure.value)} {figure.unit}".rstrip()
        bounds = interval(figure)
        said = "\n".join(_published(p) for p in published_for(figure.name, published))
        commit = figure.commit[:7] + "+" * figure.commit.endswith("+")
        table.add_row(
            Text(figure.name), Text(f"{value}\n{bounds}".rstrip()), Text(said), Text(figure.signature), Text(commit)
        )
    return table


def _published(figure: Published) -> str:
    return f"{number(figure.value)} ({figure.source}{'; ' + figure.note if figure.note else ''})"
