"""Every corpus by its name."""

from __future__ import annotations

from ..core.errors import BadInput, nearest
from . import empathetic_dialogues
from .base import Corpus

CORPORA: dict[str, Corpus] = {module.CORPUS.name: module.CORPUS for module in (empathetic_dialogues,)}


def corpus(name: str) -> Corpus:
    if name not in CORPORA:
        raise BadInput(f"no corpus '{name}'", nearest(name, CORPORA))
    return CORPORA[name]
