"""Sentence-embedding similarity of a reply to what a person answered (SES), and to what was said (REL).

The encoder comes in as a callable, `text.sentence_encoder` in practice, so this file needs no model.
Both texts are normalised first, so that a system's tokenised output and a person's typing meet alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.errors import BadInput
from ..core.types import Score
from .normalise import FORM, normalised
from .signature import sign
from .significance import bootstrap_mean, bounded

#: Texts → one row each, of any length.
Embed = Callable[[Sequence[str]], NDArray[np.floating]]


class Remembered:
    """An encoder that embeds each text once: gold replies and user turns come back with every system."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._vectors: dict[str, NDArray[np.floating]] = {}
        self.signature = signature_of(embed)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.floating]:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def signature_of(embed: Embed) -> str:
    """What a signature calls an encoder: its own `signature`, else its name."""
    return str(getattr(embed, "signature", getattr(embed, "__name__", type(embed).__name__)))


def similarity(
    name: str,
    replies: Sequence[str],
    targets: Sequence[str],
    embed: Embed,
    conditions: str = "",
    resamples: int = 1000,
) -> Score:
    """Mean cosine between each reply and its target: `ses` with gold replies, `rel` with last user turns."""
    cosine = cosines(replies, targets, embed)
    signature = sign(conditions, n=len(cosine), text=FORM, encoder=signature_of(embed))
    score = Score(name, float(cosine.mean()), signature)
    return bounded(score, bootstrap_mean(cosine, resamples)) if resamples else score


def cosines(replies: Sequence[str], targets: Sequence[str], embed: Embed) -> NDArray[np.float64]:
    """The cosine of each reply with its target; 0 where either has no direction."""
    if len(replies) != len(targets) or not replies:
        raise BadInput(f"similarity needs one target per reply: {len(replies)} and {len(targets)}")
    left, right = normalised(replies), normalised(targets)
    texts = sorted({*left, *right})
    vectors = np.asarray(embed(texts), dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    place = {text: i for i, text in enumerate(texts)}
    a, b = vectors[[place[t] for t in left]], vectors[[place[t] for t in right]]
    cosine: NDArray[np.float64] = np.einsum("nd,nd->n", a, b)
    return cosine
