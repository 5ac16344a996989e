from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from empathia.core.errors import BadInput
from empathia.evaluation import significance as s

floats = st.floats(-100, 100)


def test_bootstrap_mean_agrees_with_the_normal_interval() -> None:
    values = np.random.default_rng(1).normal(5, 2, 2000)
    interval = s.bootstrap_mean(values, resamples=4000)
    error = 1.96 * values.std() / np.sqrt(len(values))
    assert interval.low == pytest.approx(values.mean() - error, abs=0.02)
    assert interval.high == pytest.approx(values.mean() + error, abs=0.02)


def test_seed_decides_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(50.0)
    assert s.bootstrap_mean(values, seed=3) == s.bootstrap_mean(values, seed=3)
    assert s.bootstrap_mean(values, seed=3) != s.bootstrap_mean(values, seed=4)
    whole = s.bootstrap_mean(values)
    monkeypatch.setattr(s, "_CHUNK", 120)  # two resamples at a time
    assert s.bootstrap_mean(values) == whole


@given(st.lists(floats, min_size=1, max_size=40))
@settings(max_examples=30, deadline=None)
def test_interval_of_a_mean_stays_within_the_values(values: list[float]) -> None:
    interval = s.bootstrap_mean(values, resamples=50)
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9


def test_corpus_statistic_is_taken_of_column_sums() -> None:
    rows = [[3.0, 1.0], [3.0, 1.0]]  # every resample sums to 6 and 2
    interval = s.bootstrap(rows, lambda sums: sums[:, 0] ** 2 / sums[:, 1], resamples=10)
    assert (interval.low, interval.high) == (18.0, 18.0)


def test_paired_bootstrap_sees_a_small_difference_on_shared_items() -> None:
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 10, 400)  # items differ far more than the systems do
    a, b = hard + 0.5 + rng.normal(0, 0.5, 400), hard
    found = s.paired_bootstrap_mean(a, b)
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert found.low is not None and 0.4 < found.low < 0.5
    assert found.p < 0.01
    back = s.paired_bootstrap_mean(b, a)
    assert back.difference == -found.difference and back.p == found.p


def test_paired_bootstrap_of_equal_systems_is_no_evidence() -> None:
    assert s.paired_bootstrap_mean([1, 2, 3], [1, 2, 3]).p == 1.0


def test_wilcoxon_is_scipys() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.3, 1, 60), rng.normal(0, 1, 60)
    assert s.wilcoxon(a, b).p == pytest.approx(stats.wilcoxon(a, b).pvalue)
    assert s.wilcoxon([1, 2], [1, 2]).p == 1.0


def test_sign_test_by_hand() -> None:
    a, b = [1] * 9 + [0, 5], [0] * 9 + [1, 5]  # nine wins, one loss, one tie
    found = s.sign_test(a, b)
    assert found.p == pytest.approx(2 * (1 + 10) / 2**10)
    assert found.difference == pytest.approx(8 / 11)
    assert s.sign_test([1.0], [1.0]).p == 1.0


def test_holm_by_hand() -> None:
    assert s.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert s.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_and_keeps_the_order(p: list[float]) -> None:
    corrected = s.holm(p)
    assert all(q <= c <= 1 for q, c in zip(p, corrected, strict=True))
    order = sorted(range(len(p)), key=p.__getitem__)
    assert all(corrected[i] <= corrected[j] for i, j in pairwise(order))


def test_mistakes_are_named() -> None:
    with pytest.raises(BadInput, match="same items twice, not 2 and 1"):
        s.wilcoxon([1, 2], [1])
    with pytest.raises(BadInput, match="no items"):
        s.bootstrap_mean([])
    with pytest.raises(BadInput, match="no items"):
        s.sign_test([], [])
    with pytest.raises(BadInput, match="at least one resample"):
        s.bootstrap_mean([1.0], resamples=0)
