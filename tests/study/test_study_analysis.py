"""Figures against hand-worked examples, scipy and krippendorff."""

from __future__ import annotations

import math
import random
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats

from empathia.study.agreement import alpha, alpha_interval, fleiss_kappa
from empathia.study.analysis import ALL, Findings, Mean, analyse
from empathia.study.quality import HASTY, SAME, annotator_quality, kept
from empathia.study.records import Record, judgements
from empathia.study.settings import Settings
from empathia.study.tables import Table, all_tables, html_table, latex, markdown


def record(item: int, annotator: str, value: dict[str, Any], **given: Any) -> Record:
    fields: dict[str, Any] = {
        "item": item, "task": item, "context_id": f"c{item}", "emotion": None, "candidates": ("A", "B"), "gold": None,
        "annotator": annotator, "position": 0, "layout": (0, 1), "value": value, "seconds": 10.0, "answered": 0.0,
        "task_minutes": 1.0, "bonus": None, "counted": True, **given,
    }  # fmt: skip
    return Record(**fields)


def rating(item: int, system: str, annotator: str, empathy: int, **given: Any) -> Record:
    fields = {"candidates": (system,), "layout": (0,), **given}
    return record(item, annotator, {"empathy": empathy}, **fields)


def settings(design: str, **given: Any) -> Settings:
    return Settings("t", design, 3, **{"attributes": ("empathy",), **given})


def mean(found: Findings, system: str, question: str, group: str = ALL) -> Mean:
    return next(m for m in found.means if (m.system, m.question, m.group) == (system, question, group))


# ── agreement ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_fleiss_kappa_is_that_of_a_worked_example() -> None:
    # Ten subjects, fourteen raters, five categories: the example by which the statistic is usually taught; κ = 0.210.
    table = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    units = [[value for value, n in enumerate(row) for _ in range(n)] for row in table]
    assert fleiss_kappa(units) == pytest.approx(0.2099, abs=5e-5)
    # By hand: two items, both raters agree on one: P = (1 + 0) / 2, shares 3/4 and 1/4, chance 10/16.
    assert fleiss_kappa([[1, 1], [1, 2]]) == pytest.approx((0.5 - 0.625) / 0.375)
    assert math.isnan(fleiss_kappa([[1, 1], [1, 1]])) and math.isnan(fleiss_kappa([]))


def test_alpha_is_krippendorffs() -> None:
    # By hand, nominal: units aa, bb, ab. Do = 2/6; De = 2*3*3/(6*5) = 0.6; α = 1 - (1/3)/0.6.
    assert alpha([[1, 1], [2, 2], [1, 2]], "nominal") == pytest.approx(1 - (1 / 3) / 0.6)
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 40)
    data = np.clip(truth + rng.integers(-1, 2, (3, 40)), 1, 5).astype(float)
    data[0, ::4] = np.nan
    units = [[int(v) for v in column if v == v] for column in data.T]
    for level in ("nominal", "ordinal"):
        ours = alpha(units, level)  # type: ignore[arg-type]
        assert ours == pytest.approx(krippendorff.alpha(reliability_data=data, level_of_measurement=level))
    interval = alpha_interval(units, "ordinal", 200)
    assert interval.low < alpha(units, "ordinal") < interval.high
    assert math.isnan(alpha([[1, 1], [1, 1]], "nominal"))


# ── ratings ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_means_by_hand_and_by_polarity() -> None:
    rows = [
        rating(1, "A", "p", 4, emotion="joyful"), rating(1, "A", "q", 5, emotion="joyful"),
        rating(2, "A", "p", 2, emotion="sad"), rating(2, "A", "q", 1, emotion="sad"),
        rating(3, "B", "p", 3, emotion="sad", context_id="c2"),
        rating(4, "B", "p", 1, emotion="joyful", context_id="c1"),
    ]  # fmt: skip
    found = analyse(rows, settings("ratings"), resamples=200)
    assert mean(found, "A", "empathy").value == 3.0 and mean(found, "A", "empathy").contexts == 2
    assert mean(found, "A", "empathy", "positive").value == 4.5
    assert mean(found, "A", "empathy", "negative").value == 1.5
    assert mean(found, "A", "empathy", "sad").value == 1.5 and mean(found, "B", "empathy", "joyful").value == 1
    (test,) = found.tests
    assert (test.a, test.b, test.contexts, test.difference) == ("A", "B", 2, 1.0)
    assert mean(found, "A", "empathy").low == 1.5 and mean(found, "A", "empathy").high == 4.5


def test_p_values_are_scipys_after_holm() -> None:
    rng = np.random.default_rng(0)
    rows, values = [], {}
    for s, (system, shift) in enumerate({"A": 0.8, "B": 0.2, "C": 0.0}.items()):
        values[system] = np.clip(np.round(rng.normal(3 + shift, 1, 60)), 1, 5)
        rows += [rating(1000 * s + i, system, "p", int(v), context_id=f"c{i}") for i, v in enumerate(values[system])]
    found = analyse(rows, settings("ratings"), resamples=400)
    pairs = [("A", "B"), ("A", "C"), ("B", "C")]
    assert [(t.a, t.b) for t in found.tests] == pairs
    ranks = [stats.wilcoxon(values[a] - values[b]).pvalue for a, b in pairs]
    signs = []
    for a, b in pairs:
        wins, losses = int((values[a] > values[b]).sum()), int((values[a] < values[b]).sum())
        signs.append(stats.binomtest(wins, wins + losses).pvalue)
    for name, plain in (("wilcoxon_p", ranks), ("sign_p", signs)):
        assert [getattr(t, name) for t in found.tests] == pytest.approx(_holm_by_hand(plain))


def _holm_by_hand(plain: list[float]) -> list[float]:
    order = sorted(range(3), key=plain.__getitem__)
    corrected, highest = [0.0] * 3, 0.0
    for rank, i in enumerate(order):
        highest = max(highest, (3 - rank) * plain[i])
        corrected[i] = min(1.0, highest)
    return corrected


# ── A/B ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_verdicts_by_majority_through_the_layout() -> None:
    def vote(item: int, who: str, choice: str, layout: tuple[int, int]) -> Record:
        return record(item, who, {"choice": choice}, layout=layout, emotion="proud")

    rows = [
        # item 1: A wins 2:1 although "left" has two votes for different systems
        vote(1, "p", "left", (0, 1)), vote(1, "q", "right", (1, 0)), vote(1, "r", "left", (1, 0)),
        # item 2: a three-way split, decided by the fourth for B
        vote(2, "p", "left", (0, 1)), vote(2, "q", "tie", (0, 1)), vote(2, "r", "right", (0, 1)),
        vote(2, "s", "right", (0, 1)),
        # item 3: a tie by majority; item 4: no majority
        vote(3, "p", "tie", (0, 1)), vote(3, "q", "tie", (0, 1)), vote(3, "r", "left", (0, 1)),
        vote(4, "p", "left", (0, 1)), vote(4, "q", "left", (1, 0)),
    ]  # fmt: skip
    found = analyse(rows, settings("ab"), resamples=100)
    contest = next(c for c in found.contests if c.group == ALL)
    assert (contest.wins, contest.losses, contest.ties, contest.undecided) == (1, 1, 2, 1)
    assert {c.group for c in found.contests} == {ALL, "positive", "proud"}
    assert found.extra_annotators == 1
    assert found.tests[0].difference == 0 and found.tests[0].sign_p == 1
    share, _ = found.left_side or (0, None)
    assert share == pytest.approx(6 / 9)  # nine choices that are not ties, six of them left


# ── bins and the paper's filters ───────────────────────────────────────────────────────────────────────────────


def _task(annotator: str, bins: list[list[str]], bonus: int, minutes: float, first: int = 0) -> list[Record]:
    return [
        record(
            first + i, annotator, {"bins": {str(s): name for s, name in enumerate(names)}}, task=first // 10,
            candidates=("A", "B", "gold") if i < 3 else ("A", "B"), layout=tuple(range(len(names))),
            gold=2 if i < 3 else None, bonus=bonus, task_minutes=minutes,
        )
        for i, names in enumerate(bins)
    ]  # fmt: skip


def test_shares_and_the_papers_filters() -> None:
    mixed = [["good", "bad", "good"]] * 3 + [["good", "okay"]] * 3 + [["bad", "bad"]] * 4
    same = [["good", "good", "good"]] * 3 + [["good", "good"]] * 7
    rows = [
        *_task("careful", mixed, bonus=3, minutes=8), *_task("same", same, bonus=3, minutes=8),
        *_task("hasty", mixed, bonus=1, minutes=3), *_task("slow but unlucky", mixed, bonus=1, minutes=9),
        *_task("quick but right", mixed, bonus=2, minutes=3),
    ]  # fmt: skip
    s = settings("bins")
    flags = {q.annotator: q.flags for q in annotator_quality(rows, s)}
    assert flags == {
        "careful": (), "same": (SAME,), "hasty": (HASTY,), "slow but unlucky": (), "quick but right": (),
    }  # fmt: skip
    assert {r.annotator for r in kept(rows, s, drop_flagged=True)} == {"careful", "quick but right"}
    found = analyse(rows, s, resamples=100)
    assert (found.answers, found.left_out) == (20, 30)
    shares = [mean(found, "A", name).value for name in ("good", "okay", "bad")]
    assert shares == pytest.approx([0.6, 0.0, 0.4]) and sum(shares) == pytest.approx(1)
    assert mean(found, "gold", "good").value == 1 and mean(found, "gold", "good").contexts == 3
    assert found.tests[0].difference == pytest.approx((2 * 6 - (0 * 3 + 1 * 3)) / 10)  # good 2, okay 1, bad 0
    assert {t.a for t in found.tests} | {t.b for t in found.tests} == {"A", "B"}, "gold is no contestant"
    everything = analyse(rows, s, drop_flagged=False, resamples=50)
    assert everything.left_out == 0 and mean(everything, "A", "good").value == pytest.approx((0.6 * 4 + 1) / 5)


def test_quality_sees_agreement_across_layouts_and_side_habits() -> None:
    rows = [record(i, "p", {"choice": "left"}, layout=(0, 1)) for i in range(6)]
    rows += [record(i, "q", {"choice": "right"}, layout=(1, 0)) for i in range(6)]
    rows += [record(i, "r", {"choice": "right"}, layout=(0, 1), seconds=2.0) for i in range(6)]
    found = {q.annotator: q for q in annotator_quality(rows, settings("ab"))}
    assert found["p"].agreement == found["q"].agreement == 0.5 and found["r"].agreement == 0
    assert found["p"].left == 1.0 and found["q"].left == 0.0
    assert found["r"].median_seconds == 2.0
    assert all(SAME in q.flags for q in found.values())


def test_judgements_carry_side_and_score() -> None:
    (row,) = judgements([record(1, "p", {"choice": "left"}, layout=(1, 0), emotion="sad")], settings("ab"))
    assert (row.system, row.other, row.value, row.score, row.slot) == ("A", "B", "loss", -1, 1)
    assert (row.polarity, row.question) == ("negative", "preference")


# ── tables ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_tables_escape_what_systems_are_called() -> None:
    table = Table("x", "50 % & more", ("S", "v"), (("a_b|<i>", "1"), ("c", "2")), frozenset({(1, 1)}))
    assert "a_b\\|<i>" in markdown(table) and "**2**" in markdown(table)
    assert r"a\_b|<i>" in latex(table) and r"\textbf{2}" in latex(table) and r"50 \% \& more" in latex(table)
    assert "a_b|&lt;i&gt;" in html_table(table)


def test_mimes_table_four_marks_the_best_of_each_polarity() -> None:
    rng = random.Random(1)
    rows = []
    for i in range(20):
        emotion = "joyful" if i % 2 else "sad"
        rows.append(rating(i, "A", "p", rng.randint(3, 5) if i % 2 else 1, emotion=emotion, context_id=f"c{i}"))
        rows.append(rating(100 + i, "B", "p", 2, emotion=emotion, context_id=f"c{i}"))
    tables = {t.name: t for t in all_tables(analyse(rows, settings("ratings"), resamples=50))}
    polarity = tables["polarity"]
    assert polarity.header == ("", "A pos", "A neg", "B pos", "B neg")
    assert polarity.rows[0][0] == "Empathy" and polarity.best == {(0, 1), (0, 4)}
    assert [row[0] for row in tables["emotions"].rows] == ["joyful", "sad"]
