"""`empathia enrich`: a corpus with everything perception says about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..core.errors import BadInput, nearest

if TYPE_CHECKING:
    from ..core.types import Dialogue


@click.command()
@click.argument("source")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File to write (default: beside the source).")
@click.option("--split", help="Which split, where the source is a corpus' name (default: train).")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many dialogues.")
@click.option("--labels-only", is_flag=True, help="Only labels and sentiment, all that MEED2 needs: much faster.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads (default: all cores).")
def enrich(
    source: str, out: Path | None, split: str | None, limit: int | None, labels_only: bool, threads: int | None
) -> None:
    """Add to every dialogue what perception sees: labels, sentiment, mechanisms, emotion, causes, and the reply that
    it expects. The source is a dialogues.jsonl or the name of a corpus. A stopped run goes on with the same command.

    \b
    Examples:
      empathia enrich dialogues.jsonl
      empathia enrich dialogues.jsonl --out enriched.jsonl --threads 1
      empathia enrich empathetic-dialogues --split valid
      empathia enrich dailydialog --labels-only
    """
    from ..perception import Perception
    from ..perception.enrich import write_enriched
    from .progress import counting

    dialogues, default = _read(source, split)
    dialogues = dialogues[:limit]
    path = out or default
    perception = Perception(threads=threads)
    with counting(path.name, len(dialogues)) as advance:
        done = write_enriched(dialogues, path, perception, advance, labels_only)
    if done:
        click.echo(f"{done:,} of {len(dialogues):,} dialogues were already done", err=True)
    click.echo(path)


def _read(source: str, split: str | None) -> tuple[list[Dialogue], Path]:
    """The dialogues, and where they go if nobody says."""
    from ..core.places import home
    from ..core.types import Dialogue
    from ..corpora import CORPORA, load
    from ..perception.enriched import read_dialogues

    if source in CORPORA:
        split = split or "train"
        rows = [row if isinstance(row, Dialogue) else getattr(row, "dialogue", None) for row in load(source, split)]
        dialogues = [row for row in rows if row is not None]
        if not dialogues:
            raise BadInput(f"{source} holds no dialogues", "take empathetic-dialogues, dailydialog or esconv")
        return dialogues, home() / "enriched" / f"{source}-{split}.jsonl"
    path = Path(source)
    if not path.exists():
        close = nearest(source, CORPORA) if "/" not in source and "." not in source else "check the path"
        raise BadInput(f"no file and no corpus '{source}'", close)
    if split is not None:
        raise BadInput("--split needs a corpus' name, not a file")
    return read_dialogues(path), path.with_name(f"{path.stem}.enriched.jsonl")
