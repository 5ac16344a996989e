"""Published corpora as dialogues, labelled utterances and tuples.

    from empathia import corpora

    corpora.load("empathetic-dialogues", "train")             # list[Dialogue]
    corpora.load("empathetic-intents", "test", lenient=True)  # bad rows left out

One file per corpus, each with a `CORPUS` card; `registry` knows them all, `download` fetches them.
"""

from __future__ import annotations

from typing import Any

from ..core.errors import BadFile
from .base import Corpus
from .registry import CORPORA, corpus

__all__ = ["CORPORA", "Corpus", "corpus", "load"]


def load(name: str, split: str, lenient: bool = False, skipped: list[BadFile] | None = None) -> list[Any]:
    """One split of a corpus. A bad row raises `BadFile` with file, line and column; `lenient` leaves such rows
    out and appends what was wrong with each to `skipped`."""
    return corpus(name).load(split, lenient, skipped)
