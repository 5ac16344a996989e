"""Is it real? Bootstrap intervals, paired tests, and Holm's correction for asking many times.

A corpus statistic (a mean, a perplexity, BLEU) is taken as a function of the *column sums* of a table
with one row per item: resampling items then means re-weighting rows, so a whole bootstrap is one matrix
product. A mean is the statistic of rows `(value, 1)`, BLEU that of rows of n-gram counts. Everything
random is seeded and gives the same answer each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import BadInput
from ..core.types import Score

Array = NDArray[np.float64]
#: (B, K) column sums of B resamples → B values.
Statistic = Callable[[Array], Array]

#: Items × resamples held in memory at once.
_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A against B: how much larger A is, and how often chance alone would make such a difference."""

    test: str
    difference: float
    p: float
    low: float | None = None  # bounds of a 95 % interval of the difference
    high: float | None = None


def bounded(score: Score, interval: Interval) -> Score:
    """The same score with the bounds of its interval."""
    return replace(score, low=interval.low, high=interval.high)


def ratio(sums: Array) -> Array:
    """First column over second: the mean of rows `(value, 1)`, or a weighted mean of `(total, count)`."""
    quotient: Array = sums[:, 0] / sums[:, 1]
    return quotient


def bootstrap_mean(values: ArrayLike, resamples: int = 1000, seed: int = 0, level: float = 0.95) -> Interval:
    """Percentile interval of the mean of `values`."""
    return bootstrap(_with_ones(values), ratio, resamples, seed, level)


def bootstrap(
    rows: ArrayLike, statistic: Statistic, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Percentile interval of a corpus statistic; `rows` is (items, K), one row of sums per item."""
    table = _table(rows)
    values = np.concatenate([statistic(w @ table) for w in _weights(len(table), resamples, seed)])
    return _percentiles(values, level)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    statistic: Statistic = ratio,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Comparison:
    """Two systems on the same items: both are resampled together.

    `p` is two-sided: twice the share of resamples in which the difference falls on the other side of
    zero (or on it), each count plus one so that it is never 0.
    """
    left, right = _table(a), _table(b)
    _same_items(left, right)
    differences = np.concatenate(
        [statistic(w @ left) - statistic(w @ right) for w in _weights(len(left), resamples, seed)]
    )
    observed = float((statistic(left.sum(0, keepdims=True)) - statistic(right.sum(0, keepdims=True)))[0])
    other_side = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    interval = _percentiles(differences, level)
    p = min(1.0, 2 * (other_side + 1) / (resamples + 1))
    return Comparison("paired bootstrap", observed, p, interval.low, interval.high)


def paired_bootstrap_mean(a: ArrayLike, b: ArrayLike, resamples: int = 1000, seed: int = 0) -> Comparison:
    """The paired bootstrap of two means."""
    return paired_bootstrap(_with_ones(a), _with_ones(b), ratio, resamples, seed)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> Comparison:
    """Wilcoxon's signed-rank test, two-sided; items with no difference are dropped (Wilcoxon's own way)."""
    from scipy.stats import wilcoxon as scipy_wilcoxon

    difference = _differences(a, b)
    p = 1.0
    if difference.any():
        p = float(scipy_wilcoxon(difference, zero_method="wilcox").pvalue)
    return Comparison("wilcoxon", float(difference.mean()), p)


def sign_test(a: ArrayLike, b: ArrayLike) -> Comparison:
    """Exact two-sided sign test: of the items where A and B differ, is the number A wins a fair coin's?

    `difference` is (wins - losses) / items.
    """
    from scipy.stats import binomtest

    difference = _differences(a, b)
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return Comparison("sign", (wins - losses) / len(difference), p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: p-values that may be read together at one level."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return [float(value) for value in corrected]


def _weights(items: int, resamples: int, seed: int) -> Iterator[Array]:
    """How often each item is drawn, a block of resamples at a time: (block, items)."""
    if resamples < 1:
        raise BadInput(f"a bootstrap needs at least one resample, not {resamples}")
    rng = np.random.default_rng(seed)
    block = max(1, _CHUNK // items)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn = rng.integers(0, items, (size, items))
        drawn += np.arange(size)[:, None] * items
        yield np.bincount(drawn.ravel(), minlength=size * items).reshape(size, items).astype(np.float64)


def _percentiles(values: Array, level: float) -> Interval:
    low, high = np.percentile(values, [50 * (1 - level), 50 * (1 + level)])
    return Interval(float(low), float(high))


def _table(rows: ArrayLike) -> Array:
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2 or not len(table):
        raise BadInput("nothing to compare: no items")
    return table


def _with_ones(values: ArrayLike) -> Array:
    column = np.asarray(values, dtype=np.float64).reshape(-1)
    return np.stack([column, np.ones_like(column)], axis=1)


def _differences(a: ArrayLike, b: ArrayLike) -> Array:
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    _same_items(left, right)
    if not len(left):
        raise BadInput("nothing to compare: no items")
    difference: Array = left - right
    return difference


def _same_items(left: Array, right: Array) -> None:
    if left.shape != right.shape:
        raise BadInput(f"a paired test needs the same items twice, not {len(left)} and {len(right)}")
