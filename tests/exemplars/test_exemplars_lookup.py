"""Exemplars for a corpus' own examples: never from the same dialogue, by the predicted emotion or the gold one."""

from __future__ import annotations

import pytest
from exemplars_toys import BANK, WordEncoder

from empathia.core.types import Context, Evidence, Example, Gold
from empathia.exemplars import Recall
from empathia.exemplars.index import Index
from empathia.exemplars.lookup import Lookup

DOG = Context.of("my dog ran off")


@pytest.fixture(scope="module")
def recall() -> Recall:
    return Recall(Index.build(BANK, WordEncoder()), WordEncoder())


def example(dialogue="new", context=DOG, emotion="proud"):
    return Example(f"{dialogue}#1", context, Gold("an answer", emotion))


def test_an_example_never_gets_what_its_own_dialogue_says(recall):
    own = BANK.pairs[0].dialogue
    free, bound = Lookup(recall, [example()]), Lookup(recall, [example(own), example("another")])
    assert free([DOG], [Evidence()])[0].exemplars[0].reply == BANK.pairs[0].reply
    assert BANK.pairs[0].reply not in [e.reply for e in bound([DOG], [Evidence()])[0].exemplars]


def test_the_predicted_emotion_counts_and_the_gold_one_is_not_looked_at(recall):
    asked = Context.of("my dog")
    seen = Evidence(emotion={"joyful": 1.0}, causes=(0,))
    for gold in ("proud", "sad"):
        found = Lookup(recall, [example(context=asked, emotion=gold)], count=1)([asked], [seen])[0]
        assert found.exemplars[0].emotion == "joyful" and found.causes == (0,)
        assert not found.exemplars[0].context  # the file stays small


def test_by_name_only_the_gold_emotion_is_shown(recall):
    lookup = Lookup(recall, [example(emotion="proud")], gold_emotion=True)
    assert [e.emotion for e in lookup([DOG], [Evidence(emotion={"joyful": 1.0})])[0].exemplars] == ["proud"]
    assert Lookup(recall, [example(emotion="lonely")], gold_emotion=True)([DOG], [Evidence()])[0].exemplars == ()
