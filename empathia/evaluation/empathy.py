"""Automatic empathy evaluation (LEMPEx, section 4.3.2): does a reply do what the gold reply does?

Classifiers label both; the labels of the gold replies count as true. For each mechanism, macro-F1 over its classes;
for sentiment, the mean absolute error. The classifiers come in as functions, `perception` in practice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import BadInput
from ..core.taxonomy import LEVELS, MECHANISMS
from ..core.types import Context, Score
from .signature import sign
from .significance import Array, Statistic, bootstrap, bootstrap_mean, bounded


@dataclass(frozen=True)
class Reading:
    """How replies are read: the level of each mechanism in replies to their contexts, and a text's sentiment."""

    mechanisms: Callable[[Sequence[Context], Sequence[str]], Sequence[Mapping[str, int]]]
    sentiment: Callable[[str], float]
    signature: str


def empathy(
    contexts: Sequence[Context],
    replies: Sequence[str],
    gold: Sequence[str],
    reading: Reading,
    conditions: str = "",
    resamples: int = 1000,
) -> list[Score]:
    """`…_f1` of each mechanism, shown or not; `…_f1_levels` over its three levels; `mechanisms_f1` and
    `mechanisms_f1_levels`, the means of the three; `sentiment_mae`. F1 in percent."""
    if not len(contexts) == len(replies) == len(gold) or not replies:
        raise BadInput(f"empathy needs a context and a gold reply per reply: {len(contexts)}, {len(gold)}")
    labels = reading.mechanisms([*contexts, *contexts], [*replies, *gold])
    found = []
    for ending, classes in (("f1", 2), ("f1_levels", len(LEVELS))):
        signature = sign(
            conditions, n=len(replies), classes=classes, averaging="macro", reader=reading.signature, unit="%"
        )
        tables = []
        for name in MECHANISMS:
            levels = np.minimum([label[name] for label in labels], classes - 1)
            tables.append(_pairs(levels[len(replies) :], levels[: len(replies)], classes))
            found.append(_scored(f"{name}_{ending}", tables[-1], macro_f1(classes), signature, resamples))
        whole = np.concatenate(tables, axis=1)
        found.append(_scored(f"mechanisms_{ending}", whole, _mean_f1(classes), signature, resamples))
    errors = np.abs([reading.sentiment(r) - reading.sentiment(g) for r, g in zip(replies, gold, strict=True)])
    score = Score("sentiment_mae", float(errors.mean()), sign(conditions, n=len(replies), reader=reading.signature))
    return [*found, bounded(score, bootstrap_mean(errors, resamples)) if resamples else score]


def macro_f1(classes: int) -> Statistic:
    """Percent, from the sums of gold × predicted counts, flattened; a class that never occurs does not count."""

    def statistic(sums: Array) -> Array:
        counts = sums.reshape(len(sums), classes, classes)
        hits, both = np.einsum("bcc->bc", counts), counts.sum(1) + counts.sum(2)
        f1 = np.divide(2 * hits, both, out=np.zeros_like(hits), where=both > 0)
        made: Array = 100 * f1.sum(1) / np.maximum(1, (both > 0).sum(1))
        return made

    return statistic


def _mean_f1(classes: int) -> Statistic:
    """The mean over tables that stand side by side."""
    one = macro_f1(classes)

    def statistic(sums: Array) -> Array:
        parts = np.split(sums, sums.shape[1] // classes**2, axis=1)
        made: Array = np.mean([one(part) for part in parts], axis=0)
        return made

    return statistic


def _pairs(gold: NDArray[np.int64], predicted: NDArray[np.int64], classes: int) -> Array:
    """One row per item: a one in the cell of its gold and predicted class."""
    table = np.zeros((len(gold), classes * classes))
    table[np.arange(len(gold)), gold * classes + predicted] = 1
    return table


def _scored(name: str, rows: Array, statistic: Statistic, signature: str, resamples: int) -> Score:
    score = Score(name, float(statistic(rows.sum(0, keepdims=True))[0]), signature)
    return bounded(score, bootstrap(rows, statistic, resamples)) if resamples else score
