"""What counts as an answer, as whole, as a majority, as a bonus point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from empathia.core.errors import BadInput
from empathia.study.designs import (
    ATTRIBUTES,
    BINS,
    DESIGNS,
    binned_candidates,
    checked_answer,
    chosen_candidate,
    earned_bonus,
    is_whole,
    majority,
    practice_marks,
    split,
)  # fmt: skip
from empathia.study.texts import scales, texts_of


@pytest.mark.parametrize(
    ("design", "value"),
    [
        ("ratings", {"empathy": 6}), ("ratings", {"empathy": 0}), ("ratings", {"presence": 4}),
        ("ratings", {"empathy": True}), ("ratings", {"empathy": 3.0}), ("ratings", {"beauty": 3}),
        ("ratings", ["empathy"]), ("ab", {"choice": "System1"}), ("ab", {"choice": "left", "why": "x"}),
        ("bins", {}), ("bins", {"bins": {"0": "great"}}), ("bins", {"bins": {"7": "good"}}), ("bins", {"bins": []}),
    ],
)  # fmt: skip
def test_answers_that_do_not_fit_are_refused(design: str, value: object) -> None:
    with pytest.raises(BadInput):
        checked_answer(design, value, ATTRIBUTES, 4)


def test_whole_means_nothing_is_missing() -> None:
    assert not is_whole("ratings", {"empathy": 3}, ("empathy", "fluency"), 1)
    assert is_whole("ratings", {"empathy": 3, "fluency": 5}, ("empathy", "fluency"), 1)
    assert is_whole("ab", {"choice": "tie"}, (), 2) and not is_whole("ab", {}, (), 2)
    assert not is_whole("bins", {"bins": {"0": "good"}}, (), 2)


def test_an_answer_is_read_through_its_layout() -> None:
    assert chosen_candidate({"choice": "left"}, [1, 0]) == 1
    assert chosen_candidate({"choice": "tie"}, [1, 0]) is None
    assert binned_candidates({"bins": {"0": "good", "1": "bad"}}, [1, 0]) == {1: "good", 0: "bad"}
    assert earned_bonus({"bins": {"0": "okay", "1": "bad"}}, [1, 0], gold=1)
    assert not earned_bonus({"bins": {"0": "okay", "1": "bad"}}, [1, 0], gold=0)


@given(st.lists(st.sampled_from("abt"), min_size=3, max_size=3), st.sampled_from("abt"))
def test_three_votes_split_only_when_all_differ_and_a_fourth_always_settles(votes: list[str], fourth: str) -> None:
    assert split(votes) == (len(set(votes)) == 3)
    assert (majority(votes) is None) == split(votes)
    if split(votes):
        assert majority([*votes, fourth]) == fourth


def test_a_tie_may_be_written_as_none() -> None:
    assert not split([None, None, 0]) and not split([None]) and not split([])
    assert split([None, 0, 1])


def test_the_texts_hang_together() -> None:
    assert set(scales()) == set(ATTRIBUTES)
    assert [len(s.levels) for s in scales().values()] == [5, 5, 5, 3, 3, 3]
    for design in DESIGNS:
        texts = texts_of(design)
        assert all(0 <= q.correct < len(q.options) for q in texts.check) and texts.practice
        for item in texts.practice:
            if design == "ratings":
                value: dict[str, object] = {name: levels[0] for name, levels in item.expected.items()}
            elif design == "ab":
                value = {"choice": {0: "left", 1: "right", "tie": "tie"}[item.expected["choice"][0]]}
            else:
                value = {"bins": {str(i): names[0] for i, names in enumerate(item.expected["bins"])}}
                assert {name for names in item.expected["bins"] for name in names} <= set(BINS)
            checked = checked_answer(design, value, ATTRIBUTES, len(item.replies))
            assert is_whole(design, checked, ATTRIBUTES, len(item.replies))
            assert all(practice_marks(design, item, checked).values())
