"""`empathia data`: list, fetch, count and show corpora."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from ..core.errors import BadFile, BadInput, nearest
from ..core.types import Dialogue
from ..corpora import CORPORA, Corpus, corpus
from ..corpora.base import writable_root
from ..corpora.download import Watch
from ..corpora.fetching import get as get_corpus
from ..corpora.types import Cause
from ..corpora.word_vectors import WORD_VECTORS

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
lenient_option = click.option("--lenient", is_flag=True, help="Leave bad rows out and count them, instead of stopping.")


@click.group()
def data() -> None:
    """List, fetch, count and show corpora.

    Corpora are looked for below EMPATHIA_DATA, one folder each in its published layout, and then below
    EMPATHIA_HOME/data.

    \b
    Examples:
      empathia data list
      empathia data get empathetic-dialogues
      empathia data stats empathetic-dialogues
      empathia data show reccon --split test --limit 2
    """


@data.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List the corpora, what they are, and which are here.

    \b
    Examples:
      empathia data list
      empathia data list --json
    """
    rows: list[dict[str, Any]] = [
        {
            "name": card.name,
            "title": card.title,
            "licence": card.licence,
            "splits": list(card.splits),
            "citation": card.citation,
            "here": str(card.here() or "") or None,
        }
        for card in CORPORA.values()
    ]
    for vectors in WORD_VECTORS.values():
        found = vectors.find()
        rows.append(
            {
                "name": vectors.name,
                "title": vectors.title,
                "licence": vectors.licence,
                "splits": [],
                "citation": "Pennington et al. (2014), GloVe: Global Vectors for Word Representation, EMNLP",
                "here": str(found) if found else None,
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table()
    table.add_column("name", no_wrap=True)
    for column in ("what", "splits", "licence", "here"):
        table.add_column(column)
    for row in rows:
        table.add_row(row["name"], row["title"], " ".join(row["splits"]), row["licence"], "yes" if row["here"] else "–")
    Console().print(table)


@data.command()
@click.argument("name")
def get(name: str) -> None:
    """Fetch NAME from its authors' public address, and print where it is.

    A download that was cut goes on where it stopped. Files go below EMPATHIA_DATA, or below EMPATHIA_HOME/data
    if that folder is read-only. The licences are the authors': see `empathia data list`.

    \b
    Examples:
      empathia data get empathetic-dialogues
      empathia data get glove-100d
    """
    if name not in CORPORA and name not in WORD_VECTORS:
        raise BadInput(f"no corpus '{name}'", nearest(name, [*CORPORA, *WORD_VECTORS]))
    with _progress() as progress:
        if name in WORD_VECTORS:
            path = WORD_VECTORS[name].get(_watch(progress, name))
        else:
            path = get_corpus(CORPORA[name], lambda file: _watch(progress, file))
    click.echo(path)
    if name in CORPORA and path.parent == writable_root() and CORPORA[name].by_hand:
        click.echo(f"see also {CORPORA[name].by_hand}", err=True)


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    return Progress(
        TextColumn("{task.description}"), *columns, console=console, transient=True, disable=not console.is_terminal
    )


def _watch(progress: Progress, name: str) -> Watch:
    task = progress.add_task(name, total=None)

    def watch(at_hand: int, total: int | None) -> None:
        progress.update(task, completed=at_hand, total=total)

    return watch


@data.command()
@click.argument("name")
@lenient_option
@as_json
def stats(name: str, lenient: bool, as_json: bool) -> None:
    """Count what the splits of NAME hold, and its labels.

    \b
    Examples:
      empathia data stats empathetic-dialogues
      empathia data stats empathy-mental-health --json
    """
    card = corpus(name)
    skipped: list[BadFile] = []
    measures: dict[str, dict[str, float]] = {}
    labels: dict[str, Counter[str]] = {}
    bad: dict[str, int] = {}
    for split in card.splits:
        before = len(skipped)
        rows = card.load(split, lenient, skipped)
        measures[split] = dict(card.measures(rows))
        labels[split] = Counter(label for row in rows for label in card.labels(row))
        bad[split] = len(skipped) - before
    if as_json:
        report = {
            "name": card.name,
            "licence": card.licence,
            "citation": card.citation,
            "splits": {
                split: {**measures[split], "bad rows": bad[split], card.label_kind: dict(labels[split].most_common())}
                for split in card.splits
            },
        }
        click.echo(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        console = Console()
        console.print(_measures_table(card, measures))
        console.print(_labels_table(card, labels))
    _tell(skipped)


def _measures_table(card: Corpus, measures: dict[str, dict[str, float]]) -> Table:
    below = f"{card.citation}. {card.licence}"
    table = Table(title=card.title, title_justify="left", caption=below, caption_justify="left")
    table.add_column("")
    for split in card.splits:
        table.add_column(split, justify="right")
    for measure in measures[card.splits[0]]:
        table.add_row(measure, *(_number(measures[split][measure]) for split in card.splits))
    return table


def _labels_table(card: Corpus, labels: dict[str, Counter[str]]) -> Table:
    together = sum(labels.values(), Counter())
    table = Table(card.label_kind, title=f"{len(together)} labels", title_justify="left")
    for split in card.splits:
        table.add_column(split, justify="right")
    for label, _ in together.most_common():
        table.add_row(escape(label), *(_number(labels[split][label]) for split in card.splits))
    return table


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


@data.command()
@click.argument("name")
@click.option("--split", help="Which split; the first one if not given.")
@click.option("--limit", default=3, show_default=True, type=click.IntRange(min=1), help="How many rows.")
@lenient_option
@as_json
def show(name: str, split: str | None, limit: int, lenient: bool, as_json: bool) -> None:
    """Print the first rows of NAME; with --json one object a line.

    \b
    Examples:
      empathia data show empathetic-dialogues
      empathia data show atomic --split heldout --limit 10 --json
    """
    card = corpus(name)
    skipped: list[BadFile] = []
    rows = card.load(split or card.splits[0], lenient, skipped)[:limit]
    for i, row in enumerate(rows):
        if as_json:
            click.echo(json.dumps(dataclasses.asdict(row), ensure_ascii=False))
        else:
            click.echo(("\n" if i else "") + "\n".join(_lines(row)))
    _tell(skipped)


def _lines(row: Any) -> Iterator[str]:
    """A row for people: a dialogue turn by turn with what is known of each, everything else field by field."""
    dialogue = row if isinstance(row, Dialogue) else getattr(row, "dialogue", None)
    if dialogue is None:
        yield from (f"{field.name}: {_short(getattr(row, field.name))}" for field in dataclasses.fields(row))
        return
    beside = {
        f.name: getattr(row, f.name) for f in dataclasses.fields(row) if f.name != "dialogue" and row is not dialogue
    }
    by_turn = [value for value in beside.values() if isinstance(value, tuple)]
    yield dialogue.id + (f"  ({dialogue.emotion})" if dialogue.emotion else "")
    if dialogue.situation:
        yield f"  situation: {dialogue.situation}"
    yield from (f"  {name}: {value}" for name, value in beside.items() if not isinstance(value, tuple))
    for i, turn in enumerate(dialogue.turns):
        known = "; ".join(_short(values[i]) for values in by_turn if values[i])
        yield f"  {turn.speaker:>8}: {turn.text}" + (f"  [{known}]" if known else "")


def _short(value: Any, between: str = " | ") -> str:
    if isinstance(value, Cause):
        return "because of something unsaid" if value.turn is None else f"because of turn {value.turn}: «{value.span}»"
    if isinstance(value, tuple):
        return between.join(_short(part, " ") for part in value)
    return str(value)


def _tell(skipped: list[BadFile]) -> None:
    if skipped:
        click.echo(f"left out {len(skipped):,} bad rows; the first: {skipped[0]}", err=True)
