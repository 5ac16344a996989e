"""What to show a responder for a context: the best few replies of a bank, and how much each is worth.

LEMPEx takes the ten best and averages them, so noise counts as much as help. Here each exemplar carries its share of
a softmax over the scores, in which «none of these» takes part with the score `Weights.floor`; what does not even reach
the floor is left out, so the shares add up to less than one, and to nothing where the bank knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from ..core.types import Context, Exemplar
from .encoder import DialogueEncoder, Weights, load
from .index import Emotions, Index, open_index, own_index, query_vectors
from .pairs import Pair, plain

#: exemplars that are shown if nobody says how many
FEW = 3


def recall(bank: str | None = None, announce: Callable[[str], None] | None = None) -> Recall:
    """The project's own bank, or one that `empathia index` made, with the best encoder at hand."""
    encoder = load(announce)
    return Recall(open_index(bank, encoder) if bank else own_index(encoder, announce=announce), encoder)


class Recall:
    def __init__(self, index: Index, encoder: DialogueEncoder, weights: Weights | None = None) -> None:
        self.index, self.encoder, self.weights = index, encoder, weights or encoder.weights

    def exemplars(
        self, context: Context, emotion: Emotions = None, k: int = FEW, exclude: Collection[str] = ()
    ) -> tuple[Exemplar, ...]:
        """At most `k` exemplars, best first. `emotion` is what the speaker is *thought* to feel, never a gold label;
        dialogues named in `exclude` are not looked at."""
        return self.exemplars_of([context], [emotion], k, [exclude])[0]

    def exemplars_of(
        self,
        contexts: Sequence[Context],
        emotions: Sequence[Emotions] | None = None,
        k: int = FEW,
        exclude: Sequence[Collection[str]] | None = None,
    ) -> list[tuple[Exemplar, ...]]:
        """The same for many contexts at once."""
        if not contexts:
            return []
        felt = emotions or [None] * len(contexts)
        queries = query_vectors(self.encoder.contexts(contexts), felt, self.weights)
        left_out = exclude or [()] * len(contexts)
        return [self._best(queries[i : i + 1], k, left_out[i]) for i in range(len(contexts))]

    def _best(self, query: np.ndarray, k: int, exclude: Collection[str]) -> tuple[Exemplar, ...]:
        """Look at more and more pairs until `k` may be shown, the bank ends, or the floor is reached."""
        looked_at = 4 * k
        while True:
            scores, found = self.index.search(query, looked_at)
            best = self._allowed(scores[0], found[0], exclude)[:k]
            if len(best) == k or looked_at >= len(self.index.bank) or scores[0][-1] < self.weights.floor:
                return self._weighed(best)
            looked_at *= 4

    def _allowed(self, scores: np.ndarray, found: np.ndarray, exclude: Collection[str]) -> list[tuple[Pair, float]]:
        """Pairs above the floor, none of an excluded dialogue, no reply twice."""
        kept: dict[str, tuple[Pair, float]] = {}
        for place, score in zip(found, scores, strict=True):
            pair = self.index.bank.pairs[place]
            if score >= self.weights.floor and pair.dialogue not in exclude:
                kept.setdefault(plain(pair.reply), (pair, float(score)))
        return list(kept.values())

    def _weighed(self, best: Sequence[tuple[Pair, float]]) -> tuple[Exemplar, ...]:
        scores = np.array([score for _, score in best] + [self.weights.floor])
        shares = np.exp((scores - scores.max()) / self.weights.temperature)
        shares /= shares.sum()
        return tuple(
            Exemplar(
                p.reply, "\n".join(t.text for t in p.context.turns), p.emotion, float(share), f"{p.source}:{p.dialogue}"
            )
            for (p, _), share in zip(best, shares, strict=False)
        )
