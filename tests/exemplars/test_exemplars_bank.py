"""The project's own bank: every file and pair is right, and together they cover what they should."""

from __future__ import annotations

from collections import Counter

import pytest

from empathia.core.errors import BadFile, MissingFile
from empathia.core.taxonomy import EMOTIONS, INTENTS, NEUTRAL
from empathia.core.types import Dialogue, Turn
from empathia.exemplars.pairs import Bank, from_dialogues, own_bank, plain, read_dialogues

GOOD = """
[[pair]]
context = ["I lost my wallet on the tram."]
reply = "Oh no. Have you asked the tram company?"
intent = "questioning"

[[pair]]
context = ["I lost my wallet.", "Oh dear! Was there much in it?", "Only a photo, but a dear one."]
reply = "A photo like that cannot be bought again. I am sorry."
intent = "sympathizing"
emotion_shown = "sad"
"""


@pytest.fixture
def bank_of(tmp_path):
    def made(text: str, name: str = "sad.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return own_bank(tmp_path)

    return made


def test_a_file_is_read_as_it_stands(bank_of):
    short, long = bank_of(GOOD).pairs
    assert short.emotion == long.emotion == "sad" and short.intent == "questioning"
    assert [turn.speaker for turn in long.context.turns] == ["speaker", "listener", "speaker"]
    assert long.emotion_shown == "sad" and short.emotion_shown is None
    assert {short.dialogue, long.dialogue} == {"sad:1", "sad:2"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (GOOD.replace('"questioning"', '"questionning"'), "pair 1: 'intent' cannot be 'questionning'; did you mean"),
        (GOOD.replace('"I lost my wallet.",', ""), "pair 2: 'context' must be a list of one or three"),
        (GOOD.replace('reply = "A photo', 'answer = "A photo'), "pair 2: unknown key 'answer'"),
        (GOOD.replace('"Oh no. Have you asked the tram company?"', '" "'), "pair 1: 'reply' must be a text"),
        (GOOD.replace('emotion_shown = "sad"', 'emotion_shown = "blue"'), "pair 2: 'emotion_shown' cannot be"),
        ("x = 1\n" + GOOD, "must hold a list of"),
        (GOOD + "[[pair", "not TOML"),
    ],
)
def test_a_mistake_is_named_with_file_and_pair(bank_of, wrong, says):
    with pytest.raises(BadFile, match=r"sad\.toml") as caught:
        bank_of(wrong)
    assert says in str(caught.value)


def test_a_file_is_named_after_an_emotion(bank_of):
    with pytest.raises(BadFile, match="did you mean 'lonely'"):
        bank_of(GOOD, "lonly.toml")


def test_no_folder_no_bank(tmp_path):
    with pytest.raises(MissingFile):
        own_bank(tmp_path / "nowhere")


# The bank itself ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own() -> Bank:
    return own_bank()


def test_it_is_large_enough_and_covers_every_emotion_and_intent(own):
    assert len(own) >= 640
    emotions, intents = Counter(p.emotion for p in own.pairs), Counter(p.intent for p in own.pairs)
    assert set(emotions) == set(EMOTIONS) and min(emotions.values()) >= 15
    assert set(INTENTS) <= set(intents) <= {*INTENTS, NEUTRAL}
    assert min(intents[intent] for intent in INTENTS) >= 20


def test_each_emotion_knows_several_intents_and_some_longer_talk(own):
    for emotion in EMOTIONS:
        pairs = [p for p in own.pairs if p.emotion == emotion]
        assert len({p.intent for p in pairs}) >= 4, emotion
        assert any(len(p.context.turns) == 3 for p in pairs), emotion


def test_nothing_is_there_twice(own):
    for of in (lambda p: plain(p.reply), lambda p: plain(" ".join(t.text for t in p.context.turns))):
        assert [text for text, count in Counter(map(of, own.pairs)).items() if count > 1] == []


def test_lengths_are_those_of_talk(own):
    for p in own.pairs:
        assert 3 <= len(p.reply.split()) <= 40, p.reply
        assert all(1 <= len(t.text.split()) <= 60 for t in p.context.turns), p.dialogue
        assert "\n" not in p.reply


def test_openings_differ(own):
    openings = Counter(" ".join(plain(p.reply).split()[:3]) for p in own.pairs)
    opening, count = openings.most_common(1)[0]
    assert count <= 0.05 * len(own), opening


# Banks from dialogues ----------------------------------------------------------------------------------------


def dialogue(*turns: str) -> Dialogue:
    """«s: text» and «l: text»."""
    who = {"s": "speaker", "l": "listener"}
    return Dialogue("d", tuple(Turn(who[t[0]], t[3:]) for t in turns), "proud")


def test_each_answer_of_the_listener_is_a_pair():
    talk = dialogue("s: I ran a mile", "l: Well done, my friend!", "s: And then another", "l: How did that feel?")
    first, second = from_dialogues([talk], "toys")
    assert first.reply == "Well done, my friend!" and len(first.context.turns) == 1
    assert len(second.context.turns) == 3 and second.dialogue == "d" and second.emotion == "proud"


def test_messages_in_a_row_are_one_turn_and_short_or_unasked_replies_are_left_out():
    talk = dialogue(
        "l: Hello, how are you today?", "s: Hi.", "s: I ran a mile", "l: Oh", "s: Yes", "l: Good.", "l: I am glad."
    )
    pairs = list(from_dialogues([talk], "toys"))
    assert [p.reply for p in pairs] == ["Good. I am glad."]
    assert pairs[0].context.turns[1].text == "Hi. I ran a mile"


def test_after_a_crisis_nothing_more_is_taken():
    talk = dialogue(
        "s: I ran a mile",
        "l: Well done, my friend!",
        "s: CRISIS",
        "l: Here is some advice.",
        "s: ok",
        "l: And some more advice.",
    )
    kept = list(from_dialogues([talk], "toys", lambda text: "CRISIS" in text))
    assert [p.reply for p in kept] == ["Well done, my friend!"]
    reply = dialogue("s: I ran a mile", "l: CRISIS in the reply", "s: What?", "l: Nothing, go on then.")
    assert list(from_dialogues([reply], "toys", lambda text: "CRISIS" in text)) == []


def test_dialogues_of_a_file_and_what_is_wrong_with_them(tmp_path):
    path = tmp_path / "dialogues.jsonl"
    path.write_text(
        '{"turns": [{"speaker": "speaker", "text": "Hi"}, {"speaker": "listener", "text": "Hello there"}]}\n'
    )
    assert read_dialogues(path)[0].id == "dialogues:1"
    for line, says in [
        ('{"turns": []}', "list of turns"),
        ('{"turns": [{"speaker": "me", "text": "x"}]}', "'speaker'"),
        ('{"emotion": "sed", "turns": [{"speaker": "speaker", "text": "x"}]}', "did you mean 'sad'"),
    ]:
        path.write_text("\n" + line)
        with pytest.raises(BadFile, match="line 2") as caught:
            read_dialogues(path)
        assert says in str(caught.value)
