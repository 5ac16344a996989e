"""`empathia generate`: a run's replies to a split, as replies.jsonl."""

from __future__ import annotations

from pathlib import Path

import click

from .decoders import HELP, decoding_of


@click.command()
@click.argument("run")
@click.option("--split", default="test", show_default=True)
@click.option("--decoder", default="beam5", show_default=True, help=HELP)
@click.option("--out", type=click.Path(path_type=Path), help="File to write (default: in the run's folder).")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many contexts.")
@click.option("--stochastic", is_flag=True, help="Draw latent variables instead of taking their means.")
@click.option("--batch", default=64, show_default=True, type=click.IntRange(min=1))
def generate(
    run: str, split: str, decoder: str, out: Path | None, limit: int | None, stochastic: bool, batch: int
) -> None:
    """Write a trained run's replies to a split.

    \b
    Examples:
      empathia generate mime
      empathia generate mime --decoder greedy --split valid --limit 100 --out replies.jsonl
    """
    from ..core.replies import write_replies
    from ..training.measure import generate as answers
    from ..training.prepare import read_examples
    from ..training.run import open_run
    from .progress import counting

    decoding = decoding_of(decoder)
    opened = open_run(run)
    examples = read_examples(opened.recipe.data, split)[:limit]
    path = out or opened.folder / f"replies-{split}-{decoding}.jsonl"
    with counting(f"{opened.name} {decoding}", len(examples)) as advance:
        write_replies(path, answers(opened, examples, decoding, stochastic, batch, advance))
    click.echo(path)
