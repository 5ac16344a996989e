"""Do annotators agree? Krippendorff's α with a bootstrap interval, and Fleiss' κ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..evaluation.significance import Interval

Counts = NDArray[np.int64]
Level = Literal["nominal", "ordinal"]


def value_counts(units: Sequence[Sequence[int]]) -> tuple[Counts, list[int]]:
    """(units, values) table of how often each value was given, and the values; lone answers are left out."""
    units = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in units for value in unit})
    table = np.array([[Counter(unit)[value] for value in values] for unit in units], dtype=np.int64)
    return table.reshape(len(units), len(values)), values


def alpha(units: Sequence[Sequence[int]], level: Level) -> float:
    """Krippendorff's α; `level` is nominal or ordinal. NaN where everyone always said the same."""
    table, values = value_counts(units)
    return _alpha(table, values, level)


def _alpha(table: Counts, values: Sequence[int], level: Level) -> float:
    import krippendorff

    if (table.sum(0) > 0).sum() < 2:
        return math.nan
    return float(krippendorff.alpha(value_counts=table, value_domain=list(values), level_of_measurement=level))


def alpha_interval(units: Sequence[Sequence[int]], level: Level, resamples: int = 500, seed: int = 0) -> Interval:
    """Percentile interval of α over resampled items."""
    table, values = value_counts(units)
    if not len(table):
        return Interval(math.nan, math.nan)
    rng = np.random.default_rng(seed)
    drawn = (table[rng.integers(0, len(table), len(table))] for _ in range(resamples))
    found = np.array([_alpha(sample, values, level) for sample in drawn])
    found = found[~np.isnan(found)]
    if not len(found):
        return Interval(math.nan, math.nan)
    low, high = np.percentile(found, [2.5, 97.5])
    return Interval(float(low), float(high))


def fleiss_kappa(units: Sequence[Sequence[int]]) -> float:
    """Fleiss' κ over the items that have the usual number of answers (it needs the same number for all)."""
    sizes = Counter(len(unit) for unit in units if len(unit) > 1)
    if not sizes:
        return math.nan
    n = max(sizes, key=lambda size: (sizes[size], size))
    table, _ = value_counts([unit for unit in units if len(unit) == n])
    observed = float(((table**2).sum(1) - n).mean() / (n * (n - 1)))
    by_chance = float(((table.sum(0) / table.sum()) ** 2).sum())
    return math.nan if by_chance == 1 else (observed - by_chance) / (1 - by_chance)
