"""The turns that may cause the last one's emotion, as the cause head counts them."""

from __future__ import annotations

from ..core.types import Context
from .tokens import Tokens

#: turns further back than this look alike
FAR = 7


def distances(tokens: Tokens, context: Context) -> tuple[list[int], list[int], list[int]]:
    """Per word piece the rank of its turn among those in `tokens` (−1 for marks); per such turn its distance to the
    last, from 0 to FAR, plus FAR + 1 if the listener said it; and the turns themselves."""
    kept = sorted({turn for turn in tokens.turns if turn >= 0})
    rank = {turn: i for i, turn in enumerate(kept)} | {-1: -1}
    last = len(context.turns) - 1
    who = [int(context.turns[turn].speaker == "listener") for turn in kept]
    distance = [min(last - turn, FAR) + (FAR + 1) * w for turn, w in zip(kept, who, strict=True)]
    return [rank[turn] for turn in tokens.turns], distance, kept
