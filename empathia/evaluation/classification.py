"""Precision, recall and F1 over classes, weighted by how often each class is gold, or all alike (macro)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.errors import BadInput
from ..core.types import Score
from .signature import sign


def confusion(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> NDArray[np.int64]:
    """Counts, gold in rows and predictions in columns, in the order of `labels`."""
    if len(gold) != len(predicted) or not gold:
        raise BadInput(f"classification needs one prediction per gold label: {len(gold)} and {len(predicted)}")
    place = {label: i for i, label in enumerate(labels)}
    unknown = {*gold, *predicted} - place.keys()
    if unknown:
        raise BadInput(f"unknown label '{min(unknown)}'", "known: " + ", ".join(labels))
    counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(counts, ([place[g] for g in gold], [place[p] for p in predicted]), 1)
    return counts


def classification(gold: Sequence[str], predicted: Sequence[str], conditions: str = "") -> list[Score]:
    """`precision_weighted`, `recall_weighted`, `f1_weighted` and the three `…_macro`, in percent.

    Classes are those that occur in gold or among the predictions; one that is never predicted has
    precision 0, one that is never gold has recall 0.
    """
    labels = sorted({*gold, *predicted})
    counts = confusion(gold, predicted, labels)
    hits, true, guessed = np.diag(counts).astype(float), counts.sum(1), counts.sum(0)
    precision = np.divide(hits, guessed, out=np.zeros_like(hits), where=guessed > 0)
    recall = np.divide(hits, true, out=np.zeros_like(hits), where=true > 0)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(hits), where=both > 0)
    found = []
    for averaging, weights in (("weighted", true / true.sum()), ("macro", np.full(len(labels), 1 / len(labels)))):
        signature = sign(conditions, n=len(gold), classes=len(labels), averaging=averaging, unit="%")
        for name, per_class in (("precision", precision), ("recall", recall), ("f1", f1)):
            found.append(Score(f"{name}_{averaging}", 100.0 * float(weights @ per_class), signature))
    return found
