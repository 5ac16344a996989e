"""Automatic empathy evaluation (LEMPEx, section 4.3.2): does a reply do what the gold reply does?

Classifiers label both; the labels of the gold replies count as true. For each mechanism, macro-F1 over its classes;
for sentiment, the mean absolute error. The classifiers come in as functions, `perception` in practice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.errors import BadInput
from ..core.taxonomy import LEVELS, MECHANISMS
from ..core.types import Context, Score
from .signature import sign
from .significance import Array, Statistic, bootstrap, bounded, ratio


@dataclass(frozen=True)
class Reading:
    """How replies are read: the level of each mechanism in replies to their contexts, and a text's sentiment."""

    mechanisms: Callable[[Sequence[Context], Sequence[str]], Sequence[Mapping[str, int]]]
    sentiment: Callable[[str], float]
    signature: str

    def remembered(self) -> Reading:
        """The same, reading each reply to a context once: gold replies come back with every system."""
        known: dict[tuple[Context, str], Mapping[str, int]] = {}

        def mechanisms(contexts: Sequence[Context], replies: Sequence[str]) -> list[Mapping[str, int]]:
            asked = list(zip(contexts, replies, strict=True))
            new = [pair for pair in dict.fromkeys(asked) if pair not in known]
            if new:
                known.update(zip(new, self.mechanisms([c for c, _ in new], [r for _, r in new]), strict=True))
            return [known[pair] for pair in asked]

        return replace(self, mechanisms=mechanisms)


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
    found = []
    for ending, classes in (("f1", 2), ("f1_levels", len(LEVELS))):
        signature = sign(
            conditions, n=len(replies), classes=classes, averaging="macro", reader=reading.signature, unit="%"
        )
        for name, (rows, statistic) in mechanism_tables(contexts, replies, gold, reading, classes).items():
            found.append(_scored(f"{name}_{ending}", rows, statistic, signature, resamples))
    signature = sign(conditions, n=len(replies), reader=reading.signature)
    return [*found, _scored("sentiment_mae", *sentiment_table(replies, gold, reading), signature, resamples)]


def mechanism_tables(
    contexts: Sequence[Context], replies: Sequence[str], gold: Sequence[str], reading: Reading, classes: int = 2
) -> dict[str, tuple[Array, Statistic]]:
    """For each mechanism, and for `mechanisms`, the mean of them: a row per reply, and macro-F1 as their statistic."""
    if not len(contexts) == len(replies) == len(gold) or not replies:
        raise BadInput(f"empathy needs a context and a gold reply per reply: {len(contexts)}, {len(gold)}")
    labels = reading.mechanisms([*contexts, *contexts], [*replies, *gold])
    tables: dict[str, tuple[Array, Statistic]] = {}
    for name in MECHANISMS:
        levels = np.minimum([label[name] for label in labels], classes - 1)
        tables[name] = _pairs(levels[len(replies) :], levels[: len(replies)], classes), macro_f1(classes)
    whole = np.concatenate([rows for rows, _ in tables.values()], axis=1)
    return tables | {"mechanisms": (whole, _mean_f1(classes))}


def sentiment_table(replies: Sequence[str], gold: Sequence[str], reading: Reading) -> tuple[Array, Statistic]:
    """A row per reply, and the mean absolute error of its sentiment as their statistic."""
    errors = np.abs([reading.sentiment(r) - reading.sentiment(g) for r, g in zip(replies, gold, strict=True)])
    return np.stack([errors, np.ones_like(errors)], axis=1), ratio


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
