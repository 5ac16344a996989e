"""Does «70 % sure» come true seven times in ten? Expected calibration error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import BadInput
from ..core.types import Score
from .signature import sign


def calibration_error(probabilities: ArrayLike, gold: Sequence[int], bins: int = 15, conditions: str = "") -> Score:
    """`ece`: the gap between the likeliest class's probability and how often it is right, averaged over equally wide
    bins of that probability, each weighted by its items (Guo et al. 2017)."""
    rows, labels = np.asarray(probabilities, dtype=np.float64), np.asarray(gold)
    if rows.ndim != 2 or len(rows) != len(labels) or not len(rows):
        raise BadInput(f"calibration needs one row of probabilities per gold label: {rows.shape} for {len(labels)}")
    sure, right = rows.max(1), rows.argmax(1) == labels
    place = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = [abs(sure[place == i].sum() - right[place == i].sum()) for i in range(bins)]
    return Score("ece", float(sum(gaps) / len(rows)), sign(conditions, n=len(rows), bins=bins))
