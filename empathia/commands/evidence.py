"""`empathia evidence`: what is known of a corpus' examples, as a file that recipes name in `data.evidence`."""

from __future__ import annotations

from pathlib import Path

import click

#: exemplars are not among them: a bank made of the corpus would give an example its own reply
KINDS = ("causes", "turn_labels", "inferences")


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--corpus", default="empathetic-dialogues", show_default=True)
@click.option("--split", default="train", show_default=True)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File to write (default: where recipes look).")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many examples.")
def evidence(kind: str, corpus: str, split: str, out: Path | None, limit: int | None) -> None:
    """Find evidence for every example of a split. A stopped run goes on with the same command.

    Causes are taken from `empathia enrich`, where it has been run; else they are found here.

    \b
    Examples:
      empathia evidence inferences --split valid
      empathia evidence causes --split test --limit 100 --out causes.jsonl
    """
    from ..core import places
    from ..training.evidence import file_of, write_evidence
    from ..training.prepare import read_examples
    from ..training.recipe import Data
    from .finders import Finder
    from .progress import announce, counting

    enriched = (places.home() / "enriched" / f"{corpus}-{split}.jsonl").exists()
    known = ("enriched",) if enriched and kind == "inferences" else ()
    examples = read_examples(Data(corpus=corpus, evidence=known), split)[:limit]
    path = out or file_of(kind, corpus, split)
    with counting(path.name, len(examples)) as advance:
        done = write_evidence(examples, kind, path, Finder({kind}, announce, strict=True), advance)
    if done:
        click.echo(f"{done:,} of {len(examples):,} examples were already done", err=True)
    click.echo(path)
