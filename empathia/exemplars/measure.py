"""Figures of an encoder: is the reply that was given found, and does the whole conversation count?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.types import Context
from .encoder import DialogueEncoder
from .reading import Array

#: nearest replies that are compared when two readings of a conversation are
NEAREST = 10


def ranks(answer_ND: Array, replies_ND: Array) -> np.ndarray:
    """For each context the rank, from 1, of its own reply among all replies; equal scores do not push it down."""
    own_N = np.einsum("nd,nd->n", answer_ND, replies_ND)
    better = [
        (answer_ND[i : i + 512] @ replies_ND.T > own_N[i : i + 512, None] + 1e-6).sum(1)
        for i in range(0, len(own_N), 512)
    ]
    return np.concatenate(better) + 1


def recall_at(ranks_N: np.ndarray, most: int) -> float:
    """Share of contexts whose own reply is among the best `most`, in percent."""
    return float(100 * (ranks_N <= most).mean())


@dataclass(frozen=True, slots=True)
class Collapse:
    """How far conversations are read as if only one of their turns had been said."""

    contexts: int
    cosine: float  # between the vectors of the conversation and of that turn alone, mean
    same_best: float  # conversations with the same nearest reply, in percent
    shared: float  # of the ten nearest replies, in percent


def collapse(encoder: DialogueEncoder, contexts: Sequence[Context], replies_ND: Array, turn: int = 0) -> Collapse:
    """Compare what is found for each context of three or more turns with what is found for its `turn` alone: 0 is the
    first, LEMPEx' named weakness; −1 the last."""
    long = [context for context in contexts if len(context.turns) >= 3]
    whole = encoder.contexts(long).answer_ND
    alone = encoder.contexts([Context((context.turns[turn],)) for context in long]).answer_ND
    near, near_alone = nearest_replies(whole, replies_ND), nearest_replies(alone, replies_ND)
    shared = [len(set(a) & set(b)) / len(a) for a, b in zip(near.tolist(), near_alone.tolist(), strict=True)]
    cosine = float(np.einsum("nd,nd->n", whole, alone).mean())
    return Collapse(
        len(long), cosine, float(100 * (near[:, 0] == near_alone[:, 0]).mean()), float(100 * np.mean(shared))
    )


def repeats(encoder: DialogueEncoder, contexts: Sequence[Context], given: Sequence[str]) -> float:
    """Conversations in which what the listener has said already fits better than what was said next, in percent."""
    long = [(context, reply) for context, reply in zip(contexts, given, strict=True) if len(context.turns) >= 3]
    answers = encoder.contexts([context for context, _ in long]).answer_ND
    said = [[turn.text for turn in context.turns if turn.speaker == "listener"] for context, _ in long]
    texts = list(dict.fromkeys([*(reply for _, reply in long), *(text for texts in said for text in texts)]))
    vectors = dict(zip(texts, encoder.replies(texts), strict=True))
    again = [
        any(vectors[text] @ answer > vectors[reply] @ answer for text in before)
        for (_, reply), before, answer in zip(long, said, answers, strict=True)
    ]
    return float(100 * np.mean(again))


def nearest_replies(answer_ND: Array, replies_ND: Array, most: int = NEAREST) -> np.ndarray:
    """Places of the nearest replies of each context, best first."""
    found = []
    for start in range(0, len(answer_ND), 512):
        scores = answer_ND[start : start + 512] @ replies_ND.T
        found.append(np.argsort(-scores, axis=1, kind="stable")[:, :most])
    return np.concatenate(found)
