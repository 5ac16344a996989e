import pytest

from empathia.core.errors import BadInput
from empathia.core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, NEGATIVE, POSITIVE, checked, polarity
from empathia.core.types import Context, Dialogue, Evidence, Turn


def test_the_taxonomy_has_the_papers_numbers():
    assert (len(EMOTIONS), len(POSITIVE), len(NEGATIVE), len(EMOTIONS_AND_INTENTS)) == (32, 13, 19, 41)
    assert list(EMOTIONS) == sorted(EMOTIONS)
    assert EMOTIONS_AND_INTENTS.index("neutral") == 40
    assert EMOTIONS_AND_INTENTS.index("questioning") == 38
    assert polarity("surprised") == "positive"
    assert polarity("anticipating") == "negative"
    with pytest.raises(BadInput, match="did you mean 'joyful'"):
        checked("joyfull", EMOTIONS, "emotion")


def test_examples_are_the_listener_turns_with_all_that_went_before():
    turns = (
        Turn("speaker", "a"),
        Turn("listener", "b"),
        Turn("speaker", "c"),
        Turn("listener", "d"),
        Turn("speaker", "e"),
    )
    examples = list(Dialogue("x", turns, "sad").examples())
    assert [(len(e.context.turns), e.gold.reply, e.gold.emotion) for e in examples] == [
        (1, "b", "sad"),
        (3, "d", "sad"),
    ]


def test_context_of_texts_ends_with_the_speaker():
    context = Context.of("hello", "hi", "I lost it")
    assert [t.speaker for t in context.turns] == ["speaker", "listener", "speaker"]
    assert context.last == "I lost it"
    assert Context(()).last == ""


def test_evidence_tells_only_what_it_knows():
    evidence = Evidence().with_(emotion={"sad": 0.7, "angry": 0.3})
    assert evidence.top_emotion == "sad"
    assert evidence.as_dict() == {"emotion": {"sad": 0.7, "angry": 0.3}}
