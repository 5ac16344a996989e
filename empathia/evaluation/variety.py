"""How long, how inquisitive and how repetitive a system is.

A constant reply comes close to published systems in BLEU; the share of the commonest replies shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..core.errors import BadInput
from ..core.types import Score
from .normalise import FORM, normalised
from .signature import sign
from .significance import bootstrap_mean, bounded


def variety(replies: Sequence[str], conditions: str = "", resamples: int = 1000) -> list[Score]:
    """`length` (tokens a reply), and in percent of replies: `question_share` (with a question mark),
    `commonest_share` (equal to the commonest reply), `ten_commonest_share` (among the ten commonest)."""
    if not replies:
        raise BadInput("variety needs at least one reply")
    texts = normalised(replies)
    lengths = [float(len(text.split())) for text in texts]
    questions = [100.0 * ("?" in text) for text in texts]
    length = Score("length", _mean(lengths), sign(conditions, n=len(texts), text=FORM, unit="tokens"))
    signature = sign(conditions, n=len(texts), text=FORM, unit="%")
    question = Score("question_share", _mean(questions), signature)
    if resamples:
        length = bounded(length, bootstrap_mean(lengths, resamples))
        question = bounded(question, bootstrap_mean(questions, resamples))
    commonest = [count for _, count in Counter(texts).most_common(10)]
    return [
        length,
        question,
        Score("commonest_share", 100.0 * commonest[0] / len(texts), signature),
        Score("ten_commonest_share", 100.0 * sum(commonest) / len(texts), signature),
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
