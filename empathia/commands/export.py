"""`empathia export`: a small copy of a run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("run")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--words", default=8000, show_default=True, help="Keep so many of the commonest words.")
def export(run: str, folder: Path, words: int) -> None:
    """Write a small copy of a trained run, half precision and the commonest words only.

    \b
    Example:
      empathia export mime weights/mime --words 8000
    """
    from ..training.export import export as write
    from ..training.run import open_run

    click.echo(write(open_run(run), folder, words))
