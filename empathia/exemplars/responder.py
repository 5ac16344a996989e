"""Retrieval alone as a responder: what someone once answered in the nearest place. The baseline to beat."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ..core.types import Candidate, Context, Evidence, Reply, Wish
from .recall import Recall

#: said where the bank holds nothing near
NOTHING_NEAR = "I'm listening. Tell me more about it."
_CANDIDATES = 4


class RetrievalResponder:
    """Answers with the best exemplar. `perceive` may tell what the speaker seems to feel."""

    name = "retrieval"

    def __init__(self, recall: Recall, perceive: Callable[[Context], Mapping[str, float]] | None = None) -> None:
        self._recall, self._perceive = recall, perceive

    def reply(self, context: Context, wish: Wish | None = None) -> Reply:
        began = time.perf_counter()
        emotion = self._perceive(context) if self._perceive else None
        perceived = time.perf_counter()
        k = (wish.candidates if wish else None) or _CANDIDATES
        found = self._recall.exemplars(context, emotion, k)
        timings = {"perceive": perceived - began, "recall": time.perf_counter() - perceived}
        candidates = tuple(Candidate(exemplar.reply, {"relevance": exemplar.score}) for exemplar in found)
        text = found[0].reply if found else NOTHING_NEAR
        return Reply(text, Evidence(emotion=emotion, exemplars=found), candidates, timings)
