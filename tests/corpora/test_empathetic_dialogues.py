"""EmpatheticDialogues: both dialects, the archive, and what is said about bad rows."""

from __future__ import annotations

import csv
import tarfile
import time
from pathlib import Path

import pytest

from empathia import corpora
from empathia.core.errors import BadFile, BadInput, MissingFile

NAME = "empathetic-dialogues"
SAMPLE = Path(__file__).parents[1] / "data"
HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a split's rows below a fresh data folder."""
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))

    def write(rows: str, split: str = "train", header: str = HEADER) -> Path:
        path = tmp_path / "data" / "empatheticdialogues" / f"{split}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((header + rows).encode("utf-8"))
        return path

    return write


def row(conv="hit:1_conv:2", turn=1, emotion="sad", speaker=4, text="It rained."):
    return f"{conv},{turn},{emotion},Rain all week,{speaker},{text},,\n"


def test_the_sample_in_the_official_dialect(monkeypatch):
    monkeypatch.setenv("EMPATHIA_DATA", str(SAMPLE))
    train, valid, test = (corpora.load(NAME, split) for split in ("train", "valid", "test"))
    assert [len(train), len(valid), len(test)] == [8, 2, 2]
    assert len({d.emotion for d in train + valid + test}) == 12
    first = train[0]
    assert first.id == "hit:0_conv:0" and first.emotion == "joyful"
    assert first.situation == "My sister visited me after three years abroad."
    assert first.turns[0].text == "My sister came home after three years abroad, and we talked all night!"
    assert [turn.speaker for turn in first.turns] == ["speaker", "listener"] * 2
    assert 'the "little blue boat"' in train[3].turns[2].text
    assert sum(len(list(d.examples())) for d in train) == 17


def test_a_field_that_begins_with_a_quote_does_not_swallow_the_next_rows(write):
    write(row(text='"Rain') + row(turn=2, speaker=5, text="Oh no.") + row(turn=3, text='He said "rain" again'))
    (dialogue,) = corpora.load(NAME, "train")
    assert [turn.text for turn in dialogue.turns] == ['"Rain', "Oh no.", 'He said "rain" again']


def test_a_stray_quote_at_the_start_of_a_field_is_a_character_too(write):
    write(row(text='"Rain') + row(turn=2, speaker=5, text="Oh no."))
    (dialogue,) = corpora.load(NAME, "train")
    assert [turn.text for turn in dialogue.turns] == ['"Rain', "Oh no."]


def test_a_quoted_copy_is_unquoted_even_with_commas_and_line_breaks(write):
    rows = row(text='"He said ""rain"", twice,\nand again"') + row(turn=2, speaker=5, text="Oh no.")
    write(rows)
    (dialogue,) = corpora.load(NAME, "train")
    assert dialogue.turns[0].text == 'He said "rain", twice,\nand again'


def test_both_dialects_give_the_same_dialogues(monkeypatch, write):
    monkeypatch.setenv("EMPATHIA_DATA", str(SAMPLE))
    official = corpora.load(NAME, "train")
    with (SAMPLE / "empatheticdialogues" / "train.csv").open(encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split(",") for line in lines]
    path = write("")
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)
    monkeypatch.setenv("EMPATHIA_DATA", str(path.parents[1]))
    assert corpora.load(NAME, "train") == official


def test_straight_from_the_archive(tmp_path, monkeypatch):
    folder = tmp_path / "empatheticdialogues"
    folder.mkdir()
    with tarfile.open(folder / "empatheticdialogues.tar.gz", "w:gz") as tar:
        tar.add(SAMPLE / "empatheticdialogues", arcname="empatheticdialogues")
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path))
    from_archive = corpora.load(NAME, "valid")
    monkeypatch.setenv("EMPATHIA_DATA", str(SAMPLE))
    assert from_archive == corpora.load(NAME, "valid")


def test_a_cut_archive_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "empatheticdialogues").mkdir()
    archive = tmp_path / "empatheticdialogues" / "empatheticdialogues.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(SAMPLE / "empatheticdialogues", arcname="empatheticdialogues")
    archive.write_bytes(archive.read_bytes()[:300])
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path))
    with pytest.raises(BadFile, match=r"tar\.gz.*data get empathetic-dialogues"):
        corpora.load(NAME, "train")


def test_roles_follow_who_opens_and_turns_follow_their_number(write):
    write(row(turn=2, speaker=0, text="Oh no.") + row(turn=1, speaker=9))
    (dialogue,) = corpora.load(NAME, "train")
    assert [(t.speaker, t.text) for t in dialogue.turns] == [("speaker", "It rained."), ("listener", "Oh no.")]


def test_successive_turns_of_one_participant_stay_apart(write):
    write(row() + row(turn=2, text="And rained.") + row(turn=3, speaker=5) + row(turn=4, speaker=5))
    (dialogue,) = corpora.load(NAME, "train")
    assert [t.speaker for t in dialogue.turns] == ["speaker", "speaker", "listener", "listener"]
    assert [example.id for example in dialogue.examples()] == ["hit:1_conv:2#2", "hit:1_conv:2#3"]


def test_a_ninth_field_is_the_official_candidates(write):
    write(row()[:-1] + ",one answer|another\n" + row(turn=2, speaker=5))
    assert len(corpora.load(NAME, "train")[0].turns) == 2


@pytest.mark.parametrize(
    ("bad", "column"),
    [
        (row(turn="two"), "utterance_idx"),
        (row(emotion="saad"), "context"),
        (row(text=" "), "utterance"),
        (row(speaker=""), "speaker_idx"),
        (row(conv=""), "conv_id"),
        ("hit:1_conv:2,1,sad\n", "prompt"),
        (row(text="a,b,c"), "9"),
    ],
)
def test_a_bad_row_is_named_by_line_and_column(write, bad, column):
    path = write(row(conv="a", text='"two\nlines"') + bad)
    with pytest.raises(BadFile) as caught:
        corpora.load(NAME, "train")
    assert (caught.value.path, caught.value.line, caught.value.column) == (path, 4, column)
    assert "--lenient" in str(caught.value)
    skipped: list[BadFile] = []
    assert [d.id for d in corpora.load(NAME, "train", lenient=True, skipped=skipped)] == ["a"]
    assert len(skipped) == 1


@pytest.mark.parametrize(
    ("rows", "line", "column"),
    [
        (row() + row(speaker=5), 3, "utterance_idx"),
        (row() + row(turn=2, speaker=5) + row(turn=3, speaker=6), 4, "speaker_idx"),
        (row() + row(turn=2, emotion="angry", speaker=5), 3, "context"),
    ],
)
def test_a_conversation_that_contradicts_itself(write, rows, line, column):
    write(rows)
    with pytest.raises(BadFile) as caught:
        corpora.load(NAME, "train")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert corpora.load(NAME, "train", lenient=True) == []


def test_bad_bytes_and_bad_headers(write):
    path = write(row(), header="id,text\n")
    with pytest.raises(BadFile, match="line 1: the first line must name the columns conv_id"):
        corpora.load(NAME, "train")
    path.write_bytes(HEADER.encode() + b"hit:1_conv:2,1,sad,ra\xffin,")
    with pytest.raises(BadFile, match="line 2, column 22: not UTF-8"):
        corpora.load(NAME, "train")
    path.write_bytes(path.read_bytes() + b"\n" + row(conv="a").encode())
    assert [d.id for d in corpora.load(NAME, "train", lenient=True)] == ["a"]


def test_a_long_value_is_shown_short_and_on_one_line(write):
    write(row(emotion='"' + "so\n" * 100 + '"'))
    with pytest.raises(BadFile) as caught:
        corpora.load(NAME, "train")
    assert "\n" not in str(caught.value) and len(caught.value.message) < 400


def test_odd_characters_and_windows_line_ends_survive(write):
    write((row(text="It\u2028rained \x85 🌧") + row(turn=2, speaker=5)).replace("\n", "\r\n"), header="\ufeff" + HEADER)
    (dialogue,) = corpora.load(NAME, "train")
    assert dialogue.turns[0].text == "It\u2028rained \x85 🌧"


def test_missing_corpus_split_and_name_say_what_to_do(write):
    write(row())
    with pytest.raises(MissingFile, match=r"run: empathia data get empathetic-dialogues .*EMPATHIA_DATA"):
        corpora.load(NAME, "test")
    with pytest.raises(BadInput, match="no split 'tset'; did you mean 'test'"):
        corpora.load(NAME, "tset")
    with pytest.raises(BadInput, match="did you mean 'empathetic-dialogues'"):
        corpora.load("empathetic-dialogue", "test")


def test_the_home_folder_is_searched_too(tmp_path, monkeypatch, write):
    write(row())
    (tmp_path / "data").rename(tmp_path / "moved")
    (tmp_path / "home").mkdir()
    (tmp_path / "moved").rename(tmp_path / "home" / "data")
    assert len(corpora.load(NAME, "train")) == 1


@pytest.mark.corpus
def test_the_real_corpus_loads_fast_and_gives_the_known_number_of_examples():
    if corpora.corpus(NAME).here() is None:
        pytest.skip(f"{NAME} is not here")
    began = time.process_time()
    train = corpora.load(NAME, "train")
    assert time.process_time() - began < 1.5
    splits = (train, corpora.load(NAME, "valid"), corpora.load(NAME, "test"))
    if [len(split) for split in splits] != [19536, 2769, 2546]:
        pytest.skip("another edition: the counts below are those of the recovered splits")
    assert [sum(1 for d in split for _ in d.examples()) for split in splits] == [40258, 5736, 5257]
    for dialogue in train:
        roles = [turn.speaker for turn in dialogue.turns]
        assert roles == (["speaker", "listener"] * len(roles))[: len(roles)]
