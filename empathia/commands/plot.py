"""`empathia plot`: pictures of what a run has learned."""

from __future__ import annotations

from pathlib import Path

import click

from ..core.errors import BadFile, BadInput


@click.group()
def plot() -> None:
    """Draw what a trained run has learned.

    \b
    Example:
      empathia plot emotions mime --out emotions.png
    """


@plot.command()
@click.argument("run")
@click.option("--out", type=click.Path(path_type=Path), help="PNG to write (default: in the run's folder).")
def emotions(run: str, out: Path | None) -> None:
    """The run's emotion vectors on their two principal components, by polarity (MIME's Figure 3).

    \b
    Example:
      empathia plot emotions mime-no-mimicry
    """
    from ..core.taxonomy import EMOTIONS
    from ..evaluation.plots import emotion_scatter
    from ..training.loop import WEIGHTS
    from ..training.run import open_run

    opened = open_run(run)
    vectors = getattr(opened.model, "emotions_ED", None)
    if vectors is None:
        raise BadInput(
            f"'{opened.name}' ({opened.recipe.system}) has no emotion vectors", "MIME has: empathia plot emotions mime"
        )
    if not vectors.isfinite().all():
        raise BadFile(opened.folder / WEIGHTS, "damaged: not all emotion vectors are numbers")
    path = out or opened.folder / "emotions.png"
    click.echo(emotion_scatter(vectors.detach().numpy(), EMOTIONS, path, opened.name))
