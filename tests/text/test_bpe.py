from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from empathia.core.errors import BadConfig, BadFile
from empathia.text.bpe import LEAST, Bpe
from empathia.text.vocabulary import SPECIALS, Codec, Vocabulary

TEXTS = [
    "I lost my dog yesterday, and I miss her so much.",
    "Oh no, I am so sorry. How old was your dog?",
    "She was twelve. I miss her every day.",
    "I am sorry, I hope you feel better soon!",
] * 5
BPE: Codec = Bpe.build(TEXTS, size=400)


def test_it_is_a_codec_with_the_marks_of_a_word_vocabulary() -> None:
    for mark in ("pad", "unk", "end", "start", "speaker", "listener", "context"):
        assert getattr(BPE, mark) == getattr(Vocabulary, mark)
    assert LEAST < BPE.size <= 400


def test_common_words_are_one_piece() -> None:
    assert len(BPE.encode(" sorry")) == 1
    assert len(BPE.encode(TEXTS[0])) < len(TEXTS[0]) / 2


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(), st.sampled_from(["", "  two  spaces ", "🙂 naïve\tcafé\n", "<end><pad>", "\x00", "ﷺ"])))
def test_decoding_gives_the_text_back(text: str) -> None:
    ids = BPE.encode(text)
    assert BPE.decode(ids) == text
    assert all(len(SPECIALS) <= i < BPE.size for i in ids)


def test_marks_in_a_text_are_only_characters_and_marks_in_ids_are_not_shown() -> None:
    assert BPE.end not in BPE.encode("I am <end> here")
    assert BPE.decode([BPE.start, *BPE.encode("sorry"), BPE.end, BPE.pad]) == "sorry"


def test_a_lone_surrogate_is_a_question_mark() -> None:
    assert BPE.decode(BPE.encode("a\ud800b")) == "a?b"


def test_batches_equal_single_texts() -> None:
    bpe = Bpe.build(TEXTS, size=300)
    assert bpe.encode_batch(TEXTS) == [bpe.encode(text) for text in TEXTS]
    assert bpe.decode_batch(bpe.encode_batch(TEXTS)) == TEXTS
    assert bpe.encode_batch([]) == [] and bpe.decode_batch([]) == []


def test_save_and_load(tmp_path: Path) -> None:
    BPE.save(tmp_path / "bpe.json")
    loaded = Bpe.load(tmp_path / "bpe.json")
    text = "My dog <end> is a ŵonder"
    assert loaded.size == BPE.size
    assert loaded.encode(text) == BPE.encode(text)
    assert loaded.decode(loaded.encode(text)) == text


def test_building_is_repeatable(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Bpe.build(iter(TEXTS), size=400).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_too_small() -> None:
    with pytest.raises(BadConfig, match="too small"):
        Bpe.build(TEXTS, size=100)


@pytest.mark.parametrize(
    "saved", [[], {"kind": "words", "words": []}, {"kind": "bpe"}, {"kind": "bpe", "tokenizer": {}}]
)
def test_a_wrong_file_is_named(tmp_path: Path, saved: object) -> None:
    file = tmp_path / "bpe.json"
    file.write_text(json.dumps(saved))
    with pytest.raises(BadFile, match="not a BPE"):
        Bpe.load(file)


def test_another_tokenizers_marks_are_refused(tmp_path: Path) -> None:
    BPE.save(tmp_path / "bpe.json")
    text = (tmp_path / "bpe.json").read_text().replace("<context>", "<mask>")
    (tmp_path / "bpe.json").write_text(text)
    with pytest.raises(BadFile, match="special marks"):
        Bpe.load(tmp_path / "bpe.json")
