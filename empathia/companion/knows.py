"""What the language model is told of common sense: a few inferences about what caused the feeling."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.types import Context, Evidence, Inference
from ..knowledge import Inferrer, evidence
from ..knowledge.relations import SAID

#: inferences that are told at most
MOST = 3


def inferences(
    inferrer: Inferrer, contexts: Sequence[Context], seen: Sequence[Evidence]
) -> list[tuple[Inference, ...]]:
    return [known.inferences or () for known in evidence(inferrer, contexts, seen, MOST)]


def said(inference: Inference) -> str:
    return f"{SAID[inference.relation]} {inference.text}"
