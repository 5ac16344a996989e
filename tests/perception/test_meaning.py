"""The shipped weights mean something: plain cases that any listener would get right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from empathia.core.taxonomy import NEGATIVE, POSITIVE
from empathia.core.types import Context
from empathia.perception import Perception
from empathia.perception.perception import levels


@pytest.fixture(scope="module")
def perception(trained: Path) -> Perception:
    return Perception(trained, threads=1)


SAD = ("I lost my job today.", "My grandmother died last night.", "I failed the exam again and I feel terrible.")
GLAD = ("My son graduated with honours!", "We are going to Hawaii next week, I am so excited!", "I love my new puppy.")


def test_good_and_bad_feelings_are_told_apart(perception: Perception) -> None:
    sad = perception.contexts([Context.of(text) for text in SAD])
    glad = perception.contexts([Context.of(text) for text in GLAD])
    assert all(e.polarity < 0.5 and e.top_emotion in NEGATIVE for e in sad)
    assert all(e.polarity > 0.5 and e.top_emotion in POSITIVE | {"anticipating"} for e in glad)


def test_a_surprise_can_be_good_or_bad(perception: Perception) -> None:
    good, bad = perception.contexts(
        [
            Context.of("I came home and all my friends were there with a cake! I had no idea."),
            Context.of("I opened the door and the whole kitchen was under water. I did not see that coming."),
        ]
    )
    assert good.polarity > 0.5 > bad.polarity


def test_what_an_utterance_does(perception: Perception) -> None:
    asked, sorry = perception.utterances(["Why did they do that?", "I am so sorry to hear that."])
    assert max(asked, key=asked.__getitem__) == "questioning"
    assert max(sorry, key=sorry.__getitem__) == "sympathizing"


def test_a_question_explores_and_sympathy_reacts(perception: Perception) -> None:
    context = Context.of("I lost my job today and I do not know what to do.")
    replies = ["What happened? Do you have anybody to talk to?", "I am so sorry, I really feel for you.", "Buy a lamp."]
    asks, feels, cold = map(levels, perception.mechanisms([context] * 3, replies))
    assert asks["exploration"] > 0 and cold["exploration"] == 0
    assert feels["emotional_reaction"] > 0 and cold["emotional_reaction"] == 0


def test_the_cause_is_where_it_is_said(perception: Perception) -> None:
    context = Context.of("My dog ran away this morning.", "Oh no.", "I am so sad.")
    found = perception.causes([context])[0]
    assert 0 in found["causes"]


def test_company_changes_little(perception: Perception) -> None:
    """int8 scales are shared by a batch, so neighbours may move a probability, but not much."""
    contexts = [Context.of(text) for text in (*SAD, *GLAD, "so it goes " * 30)]
    together = perception.contexts(contexts, causes=False)
    alone = [perception.contexts([context], causes=False)[0] for context in contexts]
    for one, other in zip(together, alone, strict=True):
        apart = np.abs(np.array(list(one.emotion.values())) - np.array(list(other.emotion.values())))
        assert apart.max() < 0.1
