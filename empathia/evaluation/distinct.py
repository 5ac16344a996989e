"""Distinct-n: how many different n-grams a system uses, as a share of what it says, in percent.

Two denominators are in print, so the name says which: all n-grams (CEM, KEMP, IMAGINE, MEED2) or all
tokens (LEMPEx, EmpDG as LEMPEx lists it); for single words they are the same. Corpus-level: larger
corpora score lower, so `n` belongs to the number. No bootstrap interval is given: a resample repeats
replies, which lowers the statistic itself, so its percentiles would not hold the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..core.errors import BadInput
from ..core.types import Score
from .normalise import FORM, normalised
from .signature import sign


def distinct(replies: Sequence[str], conditions: str = "") -> list[Score]:
    """`distinct_1_per_ngram`, `distinct_2_per_ngram` and `distinct_2_per_token`."""
    if not replies:
        raise BadInput("Distinct needs at least one reply")
    words = [text.split() for text in normalised(replies)]
    pairs = [list(pairwise(tokens)) for tokens in words]
    token_count, pair_count = sum(map(len, words)), sum(map(len, pairs))
    different_words = len({word for tokens in words for word in tokens})
    different_pairs = len({pair for reply in pairs for pair in reply})
    signature = sign(conditions, n=len(replies), text=FORM, level="corpus", unit="%")
    return [
        Score("distinct_1_per_ngram", _percent(different_words, token_count), signature),
        Score("distinct_2_per_ngram", _percent(different_pairs, pair_count), signature),
        Score("distinct_2_per_token", _percent(different_pairs, token_count), signature),
    ]


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
