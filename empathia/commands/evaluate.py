"""`empathia evaluate`: everything that is measured of a trained run, written beside its weights."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from .decoders import HELP, decoding_of

if TYPE_CHECKING:
    from ..core.types import Score
    from ..decoding.contract import Decoding
    from ..evaluation.empathy import Reading
    from ..evaluation.similarity import Embed
    from ..training.measure import Predictions
    from ..training.prepare import Split
    from ..training.run import Run


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--split", default="test", show_default=True)
@click.option("--decoder", "decoders", multiple=True, default=("greedy", "beam5"), show_default=True, help=HELP)
@click.option("--corpus", help="Another corpus than the one the runs learned from.")
@click.option("--evidence", "evidence", multiple=True, help="What is known of that corpus besides its words.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many contexts.")
@click.option("--no-embeddings", is_flag=True, help="Leave SES and REL out: faster, needs no weights.")
@click.option("--empathy", is_flag=True, help="Also compare mechanisms and sentiment with the gold replies'.")
@click.option(
    "--bootstrap",
    default=1000,
    show_default=True,
    type=click.IntRange(min=0),
    help="Resamples behind each interval; 0: none.",
)
@click.option("--record", "topic", metavar="TOPIC", help="Put the scores on the board under this topic.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def evaluate(
    runs: tuple[str, ...],
    split: str,
    decoders: tuple[str, ...],
    corpus: str | None,
    evidence: tuple[str, ...],
    limit: int | None,
    no_embeddings: bool,
    empathy: bool,
    bootstrap: int,
    topic: str | None,
    as_json: bool,
) -> None:
    """Measure trained runs: perplexity, emotion accuracy, and replies by each decoder.

    Writes scores.json, scores.md, scores.tex, scores.png, confusion.png and the replies into the run's folder.

    \b
    Examples:
      empathia evaluate mime
      empathia evaluate mime moel --decoder greedy --limit 200 --no-embeddings
      empathia evaluate mime --record empathetic-dialogues
      empathia evaluate lempex t5-glove --decoder top-k20:temperature=0.9,max_length=20 --empathy
      empathia evaluate meed2 --corpus dailydialog --evidence enriched
    """
    from ..evaluation import board
    from ..evaluation.report import as_json as report_json
    from ..evaluation.report import write_report
    from ..training.run import open_run
    from .score import encoder, print_scores, reader

    searches = [decoding_of(name) for name in decoders]
    opened = [_on(open_run(name), corpus, evidence) for name in runs]
    embed = None if no_embeddings else encoder()
    reading = reader() if empathy else None
    for run in opened:
        systems = _measure(run, split, limit, searches, embed, bootstrap, reading)
        write_report(run.folder, systems)
        if topic is not None:
            for system, scores in systems.items():
                board.record_scores(topic, system, scores)
        if as_json:
            click.echo(json.dumps(report_json(systems), ensure_ascii=False, indent=2))
        else:
            print_scores(systems, [])


def _on(run: Run, corpus: str | None, evidence: tuple[str, ...]) -> Run:
    """The run, measured on another corpus than its own; its reports go into a folder of that name."""
    from dataclasses import replace

    if corpus is None or corpus == run.recipe.data.corpus:
        return run
    own = run.recipe.data
    data = replace(own, corpus=corpus, evidence=evidence, words_of=(own.corpus, *own.words_of))
    folder = run.folder / corpus
    folder.mkdir(exist_ok=True)
    return replace(run, name=f"{run.name}-on-{corpus}", folder=folder, recipe=replace(run.recipe, data=data))


def _measure(
    run: Run,
    split: str,
    limit: int | None,
    searches: list[Decoding],
    embed: Embed | None,
    bootstrap: int,
    reading: Reading | None,
) -> dict[str, list[Score]]:
    """The run's own scores, and one set for each decoder."""
    from ..core.replies import write_replies
    from ..evaluation.scorer import score_replies
    from ..training.measure import generate, predictions, teacher_forced_scores
    from ..training.prepare import read_split
    from .progress import counting

    data = read_split(run.recipe, split, run.vocabulary).first(limit)
    where = f"split:{split}" + (f"|first:{limit}" if limit else "")
    forced = predictions(run, data.encoded)
    systems = {run.name: teacher_forced_scores(run, data, forced, where, bootstrap)}
    _draw_confusion(run, data, forced)
    for decoding in searches:
        with counting(f"{run.name} {decoding}", len(data)) as advance:
            replies = list(generate(run, data.examples, decoding, advance=advance))
        write_replies(run.folder / f"replies-{split}-{decoding}.jsonl", replies)
        conditions = f"{run.conditions}|{where}|decoder:{decoding}"
        short = f"{run.name}-{str(decoding).split('-')[0]}"
        name = f"{run.name}-{decoding}" if short in systems else short
        systems[name] = score_replies(replies, embed, bootstrap, conditions, reading)
    return systems


def _draw_confusion(run: Run, data: Split, forced: Predictions) -> None:
    from ..core.taxonomy import EMOTIONS
    from ..evaluation.classification import confusion
    from ..evaluation.plots import confusion_matrix

    if forced.emotions is None:
        return
    known = [i for i, e in enumerate(data.encoded) if e.emotion >= 0]
    gold = [EMOTIONS[data.encoded[i].emotion] for i in known]
    counts = confusion(gold, [EMOTIONS[i] for i in forced.emotions[known].argmax(1)], EMOTIONS)
    confusion_matrix(counts, EMOTIONS, run.folder / "confusion.png", f"{run.name}: emotion told, by annotated emotion")
