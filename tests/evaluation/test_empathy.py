"""Empathy against gold replies, and calibration, on numbers that one can check by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from empathia.core.errors import BadInput
from empathia.core.replies import SystemReply
from empathia.core.types import Context
from empathia.evaluation.calibration import calibration_error
from empathia.evaluation.comparison import compare_systems
from empathia.evaluation.empathy import Reading, empathy
from empathia.evaluation.scorer import score_replies


def level(text: str) -> dict[str, int]:
    """«er2 ex1» shows emotional reaction strongly and exploration weakly."""
    short = {"er": "emotional_reaction", "ip": "interpretation", "ex": "exploration"}
    return dict.fromkeys(short.values(), 0) | {short[word[:2]]: int(word[2]) for word in text.split() if word[2:]}


READING = Reading(lambda contexts, replies: [level(r) for r in replies], lambda text: len(text) / 10, "test")
CONTEXTS = [Context.of("hello")] * 4


def scores(replies: list[str], gold: list[str], resamples: int = 0) -> dict[str, float]:
    return {s.name: s.value for s in empathy(CONTEXTS, replies, gold, READING, "split:test", resamples)}


def test_by_hand() -> None:
    found = scores(["er1", "er2", "ex1", ""], ["er2", "", "ex1", ""])
    # emotional reaction, shown or not: gold yes no no no, told yes yes no no
    shown, unshown = 2 * 1 / (2 + 1), 2 * 2 / (2 + 3)
    assert found["emotional_reaction_f1"] == pytest.approx(100 * (shown + unshown) / 2)
    # three levels: gold 2 0 0 0, told 1 2 0 0; level 1 is never gold and level 2 never hit
    assert found["emotional_reaction_f1_levels"] == pytest.approx(100 * (unshown + 0 + 0) / 3)
    assert found["interpretation_f1"] == found["exploration_f1"] == 100
    mean = (found["emotional_reaction_f1"] + 200) / 3
    assert found["mechanisms_f1"] == pytest.approx(mean)
    assert found["sentiment_mae"] == pytest.approx((0 + 0.3 + 0 + 0) / 4)


def test_the_gold_itself_is_perfect_and_the_interval_holds_the_value() -> None:
    gold = ["er2", "ip1", "ex1 er1", ""]
    found = empathy(CONTEXTS, gold, gold, READING, "split:test", 200)
    assert all(s.value == (0 if s.name == "sentiment_mae" else 100) for s in found)
    near = empathy(CONTEXTS, ["er1", "", "", "ex2"], gold, READING, "split:test", 200)
    assert all(s.low <= s.value <= s.high for s in near)
    assert all("reader:test" in s.signature and "split:test" in s.signature for s in near)


def test_two_systems_are_compared_mechanism_by_mechanism() -> None:
    gold = ["er1", "ex1", "", "ip2"] * 10
    rows = {
        "good": [SystemReply(str(i), "good", Context.of("hi"), text, text) for i, text in enumerate(gold)],
        "poor": [SystemReply(str(i), "poor", Context.of("hi"), "er1", text) for i, text in enumerate(gold)],
    }
    found = {c.metric: c for c in compare_systems(rows, resamples=200, reading=READING)}
    assert "exploration_f1" not in {c.metric for c in compare_systems(rows, resamples=10)}
    scored = {
        name: {s.name: s.value for s in score_replies(own, bootstrap=0, reading=READING)} for name, own in rows.items()
    }
    for metric in ("emotional_reaction_f1", "exploration_f1", "mechanisms_f1", "sentiment_mae"):
        difference = scored["good"][metric] - scored["poor"][metric]
        assert found[metric].result.difference == pytest.approx(difference) and difference != 0
        assert found[metric].result.p < 0.05


def test_the_scorer_adds_it_where_there_is_gold() -> None:
    rows = [SystemReply(str(i), "s", Context.of("hi"), "er1 x", "er2 y") for i in range(3)]
    assert "mechanisms_f1" in {s.name for s in score_replies(rows, bootstrap=0, reading=READING)}
    bare = [SystemReply(str(i), "s", Context.of("hi"), "er1 x") for i in range(3)]
    assert "mechanisms_f1" not in {s.name for s in score_replies(bare, bootstrap=0, reading=READING)}


def test_each_reply_to_a_context_is_read_once() -> None:
    read: list[tuple[str, str]] = []

    def mechanisms(contexts: Sequence[Context], replies: Sequence[str]) -> list[dict[str, int]]:
        read.extend((context.last, reply) for context, reply in zip(contexts, replies, strict=True))
        return [level(reply) for reply in replies]

    reading = Reading(mechanisms, len, "test").remembered()
    asked = [Context.of("hello"), Context.of("hello"), Context.of("bye")]
    assert reading.mechanisms(asked, ["er1", "er1", "er1"]) == [level("er1")] * 3
    assert reading.mechanisms(asked[1:], ["er1", "ex2"]) == [level("er1"), level("ex2")]
    assert read == [("hello", "er1"), ("bye", "er1"), ("bye", "ex2")]


def test_lengths_must_agree() -> None:
    with pytest.raises(BadInput):
        empathy(CONTEXTS, ["a"], ["a"], READING)


def test_calibration_error_by_hand() -> None:
    chances = [[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.35, 0.65]]
    # top probabilities .9, .9 (right, wrong), .6 (right), .65 (wrong): bins 13, 13, 9, 9 of 15
    score = calibration_error(chances, [0, 1, 1, 0])
    assert score.value == pytest.approx((abs(1.8 - 1) + abs(1.25 - 1)) / 4)
    assert "bins:15" in score.signature and calibration_error([[1.0, 0.0]], [0]).value == 0
