import pytest
from hypothesis import given
from hypothesis import strategies as st

from empathia.text.tokenize import detokenize, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I'm SO happy!!", "i am so happy ! !"),
        ("I don’t know... maybe", "i do not know ... maybe"),
        ("She wouldn't go, she's ill.", "she would n't go , she 's ill ."),
        ("It cost $200,000 at 10:30", "it cost $ 200,000 at 10:30"),
        ("my mother-in-law's o'clock PS4", "my mother-in-law 's o'clock ps4"),
        ("", ""),
        ("  \n\t ", ""),
        ("😀 ok", "😀 ok"),
        ("naïve café", "naïve café"),
    ],
)
def test_words_and_punctuation(text, tokens):
    assert " ".join(tokenize(text)) == tokens


def test_contractions_fire_at_word_boundaries_only():
    assert tokenize("his'i'm") == ["his'i", "'m"]
    assert tokenize("i'm") == ["i", "am"]


def test_a_person_could_have_written_it():
    assert (
        detokenize(tokenize("i am sorry . do n't worry , i can't ( yet ) !"))
        == "I am sorry. Don't worry, I cannot (yet)!"
    )


@given(st.text(max_size=80))
def test_any_text_is_fine_and_nothing_but_space_and_case_is_lost(text):
    tokens = tokenize(text)
    assert all(token and not token.isspace() for token in tokens)


@given(st.lists(st.sampled_from((*"i,.!?()", "am", "so", "happy", "great", "would", "3.5", "ok")), max_size=12))
def test_scoring_a_written_reply_sees_the_same_words(words):
    """A model's tokens, written out for people and tokenised again by the scorer, are the same."""
    written = detokenize(words)
    assert "".join(tokenize(written)) == "".join(tokenize(" ".join(words)))
