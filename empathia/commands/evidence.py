"""`empathia evidence`: what is known of a corpus' examples, as a file that recipes name in `data.evidence`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..core.types import Example
    from ..training.evidence import Finding

KINDS = ("causes", "turn_labels", "inferences", "exemplars")


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--corpus", default="empathetic-dialogues", show_default=True)
@click.option("--split", default="train", show_default=True)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File to write (default: where recipes look).")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many examples.")
@click.option("--bank", default="empathetic-dialogues", show_default=True, help="Where exemplars are looked for.")
@click.option(
    "--emotion",
    type=click.Choice(("predicted", "gold")),
    default="predicted",
    show_default=True,
    help="By which emotion exemplars are found; gold is LEMPEx' own way and goes into a file of its own.",
)
def evidence(kind: str, corpus: str, split: str, out: Path | None, limit: int | None, bank: str, emotion: str) -> None:
    """Find evidence for every example of a split. A stopped run goes on with the same command.

    Causes are taken from `empathia enrich`, where it has been run; else they are found here.

    \b
    Examples:
      empathia evidence inferences --split valid
      empathia evidence causes --split test --limit 100 --out causes.jsonl
      empathia index empathetic-dialogues && empathia evidence exemplars --split train
    """
    from ..core import places
    from ..training.evidence import file_of, write_evidence
    from ..training.prepare import read_examples
    from ..training.recipe import Data
    from .finders import Finder
    from .progress import announce, counting

    enriched = (places.home() / "enriched" / f"{corpus}-{split}.jsonl").exists()
    known = ("enriched",) if enriched and kind in ("inferences", "exemplars") else ()
    examples = read_examples(Data(corpus=corpus, evidence=known), split)[:limit]
    gold = kind == "exemplars" and emotion == "gold"
    path = out or file_of(f"{kind}-gold" if gold else kind, corpus, split)
    find = _exemplars(examples, bank, gold) if kind == "exemplars" else Finder({kind}, announce, strict=True)
    with counting(path.name, len(examples)) as advance:
        done = write_evidence(examples, kind, path, find, advance)
    if done:
        click.echo(f"{done:,} of {len(examples):,} examples were already done", err=True)
    click.echo(path)


def _exemplars(examples: Sequence[Example], bank: str, gold: bool) -> Finding:
    """Exemplars of other dialogues, by the emotion that perception sees unless the gold one is asked for."""
    from ..exemplars import recall
    from ..exemplars.lookup import Lookup
    from .finders import Finder
    from .progress import announce

    lookup = Lookup(recall(bank, announce), examples, gold_emotion=gold)
    if gold:
        return lookup
    felt = Finder({"emotion"}, announce, strict=True)
    return lambda contexts, known: lookup(contexts, felt(contexts, known))
