"""Top-k accuracy, and precision, recall and F1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from empathia.core.errors import BadInput
from empathia.evaluation.accuracy import accuracy
from empathia.evaluation.classification import classification, confusion

ROWS = [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]


def test_top_k_by_hand() -> None:
    scores = accuracy(ROWS, [0, 1, 2, 2], tops=(1, 2, 3), conditions="split:test")
    assert [s.name for s in scores] == ["accuracy_top_1", "accuracy_top_2", "accuracy_top_3"]
    assert [s.value for s in scores] == [50.0, 75.0, 100.0]
    assert scores[0].signature == "split:test|n:4|classes:3|unit:%"


def test_a_constant_classifier_is_right_for_one_class_only() -> None:
    (top,) = accuracy(np.zeros((4, 4)), [0, 1, 2, 3], tops=(1,))
    assert top.value == 25.0


@given(st.integers(1, 20), st.integers(2, 6), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_accuracy_grows_with_k_and_top_1_is_argmax(items: int, classes: int, random) -> None:
    rows = np.array([[random.randint(0, 3) for _ in range(classes)] for _ in range(items)])  # many ties
    gold = [random.randrange(classes) for _ in range(items)]
    values = [s.value for s in accuracy(rows, gold, tops=range(1, classes + 1), resamples=0)]
    assert values == sorted(values) and values[-1] == 100.0
    assert values[0] == pytest.approx(100 * (rows.argmax(1) == gold).mean())


def test_accuracy_refuses_what_does_not_fit() -> None:
    with pytest.raises(BadInput, match="one row of scores per gold label"):
        accuracy(ROWS, [0])
    with pytest.raises(BadInput, match="outside the 3 classes"):
        accuracy(ROWS, [0, 1, 2, 3])
    with pytest.raises(BadInput, match="not a number"):
        accuracy([[np.nan, 0.0]], [0])


def test_precision_recall_f1_by_hand() -> None:
    gold = ["sad", "sad", "sad", "proud"]
    predicted = ["sad", "sad", "proud", "proud"]
    values = {s.name: s.value for s in classification(gold, predicted)}
    # sad: P 2/2, R 2/3, F1 4/5; proud: P 1/2, R 1/1, F1 2/3
    assert values["precision_macro"] == pytest.approx(75.0)
    assert values["recall_macro"] == pytest.approx(100 * 5 / 6)
    assert values["f1_macro"] == pytest.approx(100 * (4 / 5 + 2 / 3) / 2)
    assert values["precision_weighted"] == pytest.approx(87.5)
    assert values["recall_weighted"] == pytest.approx(75.0)  # always the accuracy
    assert values["f1_weighted"] == pytest.approx(100 * (3 * 4 / 5 + 2 / 3) / 4)


def test_a_class_never_predicted_counts_as_zero() -> None:
    values = {s.name: s.value for s in classification(["sad", "proud"], ["sad", "sad"])}
    assert values["precision_macro"] == pytest.approx(25.0)
    assert values["f1_macro"] == pytest.approx(100 * (2 / 3) / 2)


def test_confusion_has_gold_in_rows() -> None:
    counts = confusion(["sad", "sad", "proud"], ["proud", "sad", "proud"], ["proud", "sad"])
    assert counts.tolist() == [[1, 0], [1, 1]]
    with pytest.raises(BadInput, match="unknown label 'glad'"):
        confusion(["glad"], ["sad"], ["sad"])
    with pytest.raises(BadInput, match="one prediction per gold label"):
        classification(["sad"], [])
