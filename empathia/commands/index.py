"""`empathia index`: a bank of exemplars from any corpus of dialogues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..core.errors import BadInput

if TYPE_CHECKING:
    from ..core.types import Dialogue
    from ..exemplars.pairs import Pair


@click.command()
@click.argument("corpus")
@click.option("--split", default="train", show_default=True, help="Which split of the corpus.")
@click.option("--out", help="Name of the bank, or a folder (default: the corpus' name).")
@click.option("--limit", type=click.IntRange(min=1), help="Take only the first so many dialogues.")
@click.option("--lenient", is_flag=True, help="Leave bad rows of the corpus out, instead of stopping.")
def index(corpus: str, split: str, out: str | None, limit: int | None, lenient: bool) -> None:
    """Build a bank of exemplars from CORPUS: its contexts, the replies they got, and an index to find them by.

    CORPUS is a corpus with dialogues (empathetic-dialogues, esconv, dailydialog) or a dialogues.jsonl. Dialogues that
    speak of a crisis are left out from there on. The bank appears whole, or not at all; building it again replaces it.

    \b
    Examples:
      empathia index empathetic-dialogues
      empathia index esconv --split train --out support
      empathia index my/dialogues.jsonl --out mine
    """
    from ..exemplars.encoder import load
    from ..exemplars.index import Index, folder_of
    from ..exemplars.pairs import Bank, from_dialogues
    from .progress import counting

    dialogues = _dialogues(corpus, split, lenient)[:limit]
    source = Path(corpus).stem
    name, crisis = out or source, _crisis()
    with counting("reading", len(dialogues)) as advance:
        pairs: list[Pair] = []
        for dialogue in dialogues:
            pairs += from_dialogues([dialogue], source, crisis)
            advance(1)
    if not pairs:
        raise BadInput(f"{corpus} holds no reply to index", "it needs dialogues in which a listener answers a speaker")
    encoder = load(lambda line: click.echo(line, err=True))
    bank = Bank(Path(name).name, tuple(pairs))
    with counting("encoding", len(bank)) as advance:
        built = Index.build(bank, encoder, advance)
    folder = folder_of(name)
    built.save(folder)
    click.echo(f"{len(bank):,} pairs of {len(dialogues):,} dialogues, encoder {encoder.signature}", err=True)
    click.echo(folder)


def _dialogues(name: str, split: str, lenient: bool) -> list[Dialogue]:
    """The dialogues of a file or of a corpus' split."""
    from ..core.types import Dialogue
    from ..corpora import corpus
    from ..exemplars.pairs import read_dialogues

    if name.endswith(".jsonl"):
        return read_dialogues(Path(name))
    rows = corpus(name).load(split, lenient)
    found = [row if isinstance(row, Dialogue) else getattr(row, "dialogue", None) for row in rows]
    if not rows or any(dialogue is None for dialogue in found):
        raise BadInput(
            f"{name} holds no dialogues", "take empathetic-dialogues, esconv, dailydialog or a dialogues.jsonl"
        )
    return [dialogue for dialogue in found if dialogue is not None]


def _crisis() -> Callable[[str], bool]:
    """Whether a turn speaks of danger, by itself."""
    from ..guard import Guard, no_reader

    guard = Guard(reader=no_reader)  # whole corpora pass here: rules and classifier are quick
    return lambda text: guard.read(text) is not None
