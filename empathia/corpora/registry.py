"""Every corpus by its name."""

from __future__ import annotations

from ..core.errors import BadInput, nearest
from . import (
    atomic,
    conceptnet,
    dailydialog,
    ed_causes,
    ed_intents,
    empathetic_dialogues,
    empathetic_intents,
    empathy_mental_health,
    esconv,
    nrc,
    reccon,
)
from .base import Corpus

CORPORA: dict[str, Corpus] = {
    card.name: card
    for card in (
        empathetic_dialogues.CORPUS,
        empathetic_intents.CORPUS,
        ed_intents.CORPUS,
        ed_causes.CORPUS,
        empathy_mental_health.CORPUS,
        reccon.CORPUS,
        atomic.CORPUS,
        conceptnet.CORPUS,
        dailydialog.CORPUS,
        esconv.CORPUS,
        nrc.CORPUS,
    )
}


def corpus(name: str) -> Corpus:
    if name not in CORPORA:
        raise BadInput(f"no corpus '{name}'", nearest(name, CORPORA))
    return CORPORA[name]
