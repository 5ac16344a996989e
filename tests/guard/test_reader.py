"""The danger reader: a second layer that hears more, and that nothing depends on."""

import logging
import random
import subprocess
import sys
from itertools import pairwise

import pytest

from empathia.core.places import shipped
from empathia.core.types import Context, Turn
from empathia.guard import Guard, Verdict, no_reader
from empathia.guard.noise import amid, typed
from empathia.guard.normalise import plain
from empathia.guard.reader import WINDOW, Limits, Reader, Reading, shipped_reader, windows
from empathia.guard.types import Thresholds

HINT = "some evenings the garden and I have very little to say to one another"  # no rule and no word of it is alarming
STORY = "We drove to the coast and ate chips on the wall. " * 12


class Said:
    """A reader that finds everything as dangerous as it is told to, and counts."""

    def __init__(self, score):
        self.score, self.asked = score, []

    def __call__(self, text):
        self.asked.append(text)
        return Reading(self.score, "abuse", Limits(0.0, Thresholds(1.0, 0.5)))


def test_a_reader_is_heard():
    assert Guard("NZ", no_reader).check(Context.of(HINT)) == Verdict()
    verdict = Guard("NZ", lambda: Said(2.0)).check(Context.of(HINT))
    assert verdict.level == "crisis" and verdict.category == "abuse" and not verdict.explicit


def test_an_alert_guard_asks_for_less():
    guard = Guard("NZ", lambda: Said(0.7))
    assert guard.check(Context.of(HINT)) == Verdict()
    turns = (Turn("speaker", "I want to die"), Turn("listener", "…"), Turn("speaker", HINT))
    assert guard.check(Context(turns)).level == "crisis"


def test_what_the_rules_hear_needs_no_reader():
    reader = Said(-9.0)
    assert Guard("NZ", lambda: reader).check(Context.of("I want to kill myself")).level == "crisis"
    assert reader.asked == []


def test_each_message_of_a_conversation_is_read_once():
    reader = Said(-9.0)
    guard = Guard("NZ", lambda: reader)
    said = [Turn("speaker", f"today I walked {n} miles along the river") for n in range(5)]
    for n in range(1, 6):
        guard.check(Context(tuple(said[:n])))
    assert len(reader.asked) == 5


def broken_reader(text):
    raise RuntimeError("the model is dead")


def test_a_broken_reader_changes_nothing_but_one_warning(caplog):
    broken, alone = Guard("NZ", lambda: broken_reader), Guard("NZ", no_reader)
    with caplog.at_level(logging.WARNING):
        for message in (HINT, "I want to kill myself", "They'd all breathe easier without me around", "nice weather"):
            assert broken.check(Context.of(message)) == alone.check(Context.of(message))
    assert len(caplog.records) == 1 and "nice weather" not in caplog.text


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_files_that_are_missing_or_broken_are_one_warning(tmp_path, monkeypatch, caplog, damage):
    if damage == "cut":
        (tmp_path / "guard").mkdir()
        for path in (shipped() / "guard").iterdir():
            (tmp_path / "guard" / path.name).write_bytes(path.read_bytes()[:1000])
    monkeypatch.setattr("empathia.core.places.shipped", lambda: tmp_path)
    shipped_reader.cache_clear()
    try:
        with caplog.at_level(logging.WARNING):
            for message in ("I want to kill myself", "They'd all breathe easier without me around"):
                assert Guard("NZ").check(Context.of(message)).level == "crisis"
            assert Guard("NZ").check(Context.of("the weather is so nice today")) == Verdict()
        assert len(caplog.records) == 1 and "rules" in caplog.text
    finally:
        shipped_reader.cache_clear()


def test_a_short_message_is_one_window():
    text = plain("I came home late. The house was dark.")
    assert list(windows(text)) == [text]


def test_windows_hold_every_sentence_and_overlap():
    told = [f"on day {n} we walked from one village to the next one" for n in range(20)]
    found = list(windows(" . ".join(told)))
    assert all(len(window.replace(" . ", " ").split()) <= WINDOW for window in found)
    assert all(any(sentence in window for window in found) for sentence in told)
    assert all(any(f"{a} . {b}" in window for window in found) for a, b in pairwise(told))


def test_a_sentence_without_end_is_cut():
    found = list(windows(" ".join(f"w{n}" for n in range(200))))
    assert all(len(window.split()) <= WINDOW for window in found)
    assert {word for window in found for word in window.split()} == {f"w{n}" for n in range(200)}


def test_the_shipped_reader_is_small_and_reads():
    assert sum(path.stat().st_size for path in (shipped() / "guard").iterdir()) < 11_000_000
    reader = Reader(shipped() / "guard", shipped() / "perception")
    grave, light = (
        reader(plain("I have written the letters, they can find me in the morning")),
        reader(plain(STORY[:49])),
    )
    assert grave.score > light.score and grave.category == "suicide"
    assert reader("ok") is None


def test_one_sentence_in_a_long_story_is_heard():
    reader = Reader(shipped() / "guard", shipped() / "perception")
    hint = "I have written the letters, they can find me in the morning. "
    assert reader(plain(STORY + hint + STORY)).score > reader(plain(STORY)).score + 3


def test_a_text_does_not_depend_on_its_neighbours():
    reader = Reader(shipped() / "guard", shipped() / "perception")
    alone = reader.logits(["my husband took my phone again"])
    beside = reader.logits(["my husband took my phone again", "the train was late and so was I, as ever, on Mondays"])
    assert abs(alone[0] - beside[0]).max() < 0.5  # int8 activations share a scale within a batch


def test_no_torch_at_run_time():
    code = (
        "from empathia.guard import Guard; from empathia.core.types import Context; import sys;"
        "Guard('NZ').check(Context.of('they can all find me in the morning'));"
        "assert 'onnxruntime' in sys.modules and 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_noise_is_the_same_again_and_keeps_the_words():
    text = "i have given my records to a friend . nobody needs them now"
    first, again = (typed(text, random.Random(4)) for _ in range(2))
    assert first == again
    assert all(text in amid(text, ["we ate soup", "it rained"], random.Random(n)) for n in range(20))


def test_an_epoch_holds_every_sentence_and_its_part_of_the_talk():
    from empathia.guard.train_reader import Lesson, Settings, epoch_of

    own = [Lesson("i have given my records to a friend", 1), Lesson("we sold the old car today", 0)]
    talk = [Lesson(f"turn number {n}", 0) for n in range(6)]
    settings = Settings(epochs=3, amid=1.0, typed=0.0)
    made = [epoch_of(own, talk, epoch, settings) for epoch in range(3)]
    assert made == [epoch_of(own, talk, epoch, settings) for epoch in range(3)]
    assert all(own[0].text in rows[0].text and rows[0].kind == 1 for rows in made)
    assert sorted(row.text for rows in made for row in rows[2:]) == sorted(row.text for row in talk)
