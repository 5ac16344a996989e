"""`empathia score`: score any system's replies, and test systems against each other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..core.errors import BadFile, BadInput
from ..core.files import read_jsonl, write_json
from ..core.replies import SystemReply, read_replies
from ..core.types import Score
from ..evaluation import board
from ..evaluation.report import as_json as report_json
from ..evaluation.report import by_metric, cell, interval, number, write_report

if TYPE_CHECKING:
    from ..evaluation.comparison import SystemComparison
    from ..evaluation.empathy import Reading
    from ..evaluation.similarity import Embed


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the scores to this JSON file.")
@click.option("--out-dir", type=click.Path(path_type=Path), help="Write scores.json, .md, .tex and .png there.")
@click.option("--no-embeddings", is_flag=True, help="Leave SES and REL out: faster, needs no weights.")
@click.option("--empathy", is_flag=True, help="Also compare mechanisms and sentiment with the gold replies'.")
@click.option("--bootstrap", default=1000, show_default=True, help="Resamples behind intervals and tests; 0: none.")
@click.option("--record", "topic", metavar="TOPIC", help="Put the scores on the board under this topic.")
@click.option("--name", help="The system's name on the board and in tables (one file only).")
@click.option("--conditions", default="", help="What signatures should also say, e.g. 'split:test|decoder:beam5'.")
def score(
    files: tuple[Path, ...],
    as_json: bool,
    out: Path | None,
    out_dir: Path | None,
    no_embeddings: bool,
    empathy: bool,
    bootstrap: int,
    topic: str | None,
    name: str | None,
    conditions: str,
) -> None:
    """Score replies.jsonl files: BLEU, Distinct, variety, SES and REL, each with its conditions.

    With several files, systems are also tested against each other on the same contexts.

    \b
    Examples:
      empathia score replies.jsonl
      empathia score mime.jsonl moel.jsonl --out-dir report
      empathia score mime.jsonl --record empathetic-dialogues --conditions 'split:test|decoder:beam5'
      empathia score replies.jsonl --no-embeddings --json
      empathia score replies.jsonl --empathy
    """
    from ..evaluation.comparison import NotAligned, compare_systems
    from ..evaluation.scorer import score_replies

    if name is not None and len(files) > 1:
        raise BadInput("--name needs exactly one file")
    if bootstrap < 0:
        raise BadInput("--bootstrap cannot be negative")
    systems, sources = _read(files, name)
    embed = None if no_embeddings else encoder()
    reading = reader() if empathy else None
    scores = {
        system: score_replies(replies, embed, bootstrap, conditions, reading) for system, replies in systems.items()
    }
    comparisons: list[SystemComparison] = []
    if len(systems) > 1 and bootstrap:
        try:
            comparisons = compare_systems(systems, embed, bootstrap, reading)
        except NotAligned as error:
            path = sources[error.system]
            raise BadFile(path, error.problem, line=_line(path, error.id), hint=error.hint) from error
    if out is not None:
        write_json(out, report_json(scores, comparisons))
    if out_dir is not None:
        write_report(out_dir, scores, comparisons)
    if topic is not None:
        for system, found in scores.items():
            board.record_scores(topic, system, found)
    if as_json:
        click.echo(json.dumps(report_json(scores, comparisons), ensure_ascii=False, indent=2))
    else:
        print_scores(scores, comparisons)


def _read(files: Sequence[Path], name: str | None) -> tuple[dict[str, list[SystemReply]], dict[str, Path]]:
    """System → replies and system → file; files whose system has the same name go by their own names."""
    systems: dict[str, list[SystemReply]] = {}
    sources: dict[str, Path] = {}
    for path in files:
        replies = read_replies(path)
        for reply in replies:
            if reply.system != replies[0].system:
                problem = f"system '{reply.system}' in a file of '{replies[0].system}'"
                raise BadFile(path, problem, line=_line(path, reply.id), hint="one system to a file")
        system = name or replies[0].system
        if system in systems:
            system = f"{system} ({path.stem})"
        if system in systems:
            raise BadInput(f"{path} is given twice")
        systems[system], sources[system] = replies, path
    return systems, sources


def _line(path: Path, id: str) -> int | None:
    return next((line for line, row in read_jsonl(path) if row.get("id") == id), None)


def encoder() -> Embed:
    from ..evaluation.similarity import Remembered
    from ..text.sentence_encoder import load

    return Remembered(load(lambda line: click.echo(line, err=True)))


def reader() -> Reading:
    """Perception, as the empathy metrics ask for it."""
    from ..evaluation.empathy import Reading
    from ..perception import Perception
    from ..perception.enrich import version_of
    from ..perception.perception import levels
    from ..perception.sentiment import sentiment

    perception = Perception()
    return Reading(
        lambda contexts, replies: [levels(one) for one in perception.mechanisms(contexts, replies)],
        sentiment,
        f"perception-{version_of(perception.folder)}+vader",
    ).remembered()


def print_scores(scores: Mapping[str, Sequence[Score]], comparisons: Sequence[SystemComparison]) -> None:
    console = Console()
    table = Table("metric")
    for system in scores:
        table.add_column(Text(system), justify="right")
    for metric, row in by_metric(scores):
        table.add_row(metric, *(Text(cell(found)) for found in row))
    console.print(table)
    if comparisons:
        tests = Table("paired bootstrap", "difference", "95 % interval", "p", "p (Holm)")
        for c in comparisons:
            what = Text(f"{c.metric}: {c.first} − {c.second}")
            bounds = Text(interval(c.result))
            tests.add_row(what, number(c.result.difference), bounds, f"{c.result.p:.3g}", f"{c.p_holm:.3g}")
        console.print(tests)
