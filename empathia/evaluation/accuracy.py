"""Top-k accuracy of a classifier's scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import BadInput
from ..core.types import Score
from .signature import sign
from .significance import bootstrap_mean, bounded


def accuracy(
    scores: ArrayLike,
    gold: Sequence[int],
    tops: Sequence[int] = (1, 2, 5),
    conditions: str = "",
    resamples: int = 1000,
) -> list[Score]:
    """`accuracy_top_k`: percent of items whose gold class is among the k highest of its row of `scores`.

    `scores` is (items, classes), probabilities or logits. Between equal scores the lower class wins, as
    with argmax, so a constant classifier is not right for every item.
    """
    rows, labels = np.asarray(scores, dtype=np.float64), np.asarray(gold)
    if rows.ndim != 2 or len(rows) != len(labels) or not len(rows):
        raise BadInput(f"accuracy needs one row of scores per gold label: {rows.shape} for {len(labels)}")
    items, classes = rows.shape
    if labels.min() < 0 or labels.max() >= classes:
        raise BadInput(f"a gold label lies outside the {classes} classes")
    if np.isnan(rows).any():
        raise BadInput("a classifier's score is not a number")
    own = rows[np.arange(items), labels][:, None]
    before = (rows > own) | ((rows == own) & (np.arange(classes) < labels[:, None]))
    rank = before.sum(1)
    signature = sign(conditions, n=items, classes=classes, unit="%")
    found = []
    for k in tops:
        hit = 100.0 * (rank < k)
        score = Score(f"accuracy_top_{k}", float(hit.mean()), signature)
        found.append(bounded(score, bootstrap_mean(hit, resamples)) if resamples else score)
    return found
