"""The other corpora, each on a few hand-written rows: what is read, and how a bad row is named."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from empathia import corpora
from empathia.core.errors import BadFile
from empathia.core.taxonomy import EMOTIONS
from empathia.corpora.types import Cause, EmotionWord, KnowledgeTuple

SAMPLE = Path(__file__).parents[1] / "data"


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Put a file below a fresh data folder."""
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))

    def put(name: str, content: str | bytes) -> Path:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def refused(name: str, split: str, kept: int) -> tuple[int | None, str | int | None]:
    """Where the strict reader stops; the lenient one must keep `kept` rows and count one bad one."""
    with pytest.raises(BadFile) as caught:
        corpora.load(name, split)
    skipped: list[BadFile] = []
    assert len(corpora.load(name, split, lenient=True, skipped=skipped)) == kept
    assert len(skipped) == 1
    return caught.value.line, caught.value.column


def test_empathetic_intents_number_neutral_40(put):
    put("empathetic_intents/test.txt", "0 <SEP> The stairs creaked.\n38 <SEP> Why?\n40 <SEP> I took the bus.\n")
    rows = corpora.load("empathetic-intents", "test")
    assert [row.label for row in rows] == ["afraid", "questioning", "neutral"]
    assert (rows[1].id, rows[1].text) == ("test:2", "Why?")


@pytest.mark.parametrize(
    ("bad", "column"), [("41 <SEP> Hm.", "id"), ("x <SEP> Hm.", "id"), ("3 <SEP> ", "text"), ("3 Hm.", 1)]
)
def test_empathetic_intents_bad_rows(put, bad, column):
    put("empathetic_intents/train.txt", f"1 <SEP> Stop that.\n\n{bad}\n")
    assert refused("empathetic-intents", "train", kept=1) == (3, column)


def test_silver_intents_join_the_conversations(put):
    put("empatheticdialogues/valid.csv", (SAMPLE / "empatheticdialogues" / "valid.csv").read_bytes())
    put(
        "empatheticdialogues/intents.csv",
        "conv_id,utterance_idx,label\nhit:4_conv:8,2,Questioning\nhit:9_conv:9,1,sad\n",
    )
    (row,) = corpora.load("ed-intents", "valid")
    assert (row.id, row.label) == ("hit:4_conv:8#1", "questioning") and row.text.startswith("Waiting")


def test_silver_intents_from_the_authors_files(put):
    put("empatheticdialogues/valid.csv", (SAMPLE / "empatheticdialogues" / "valid.csv").read_bytes())
    header = "Dialog_ID,Type,Actor,Text,Label\n"
    for emotion in EMOTIONS:
        put(f"empatheticdialogues/annotated/{emotion}.csv", header)
    rows = 'hit:4_conv:8,situation,none,An exam,anxious\nhit:4_conv:8,utterance,speaker,"I wait, and wait",anxious\n'
    path = put(
        "empatheticdialogues/annotated/anxious.csv", header + rows + "hit:4_conv:8,utterance,listener,Oh,wishing\n"
    )
    assert [(row.id, row.label) for row in corpora.load("ed-intents", "valid")] == [
        ("hit:4_conv:8#0", "anxious"),
        ("hit:4_conv:8#1", "wishing"),
    ]
    path.write_text(header + rows + "hit:4_conv:8,utterance,listener,Oh,wishful\n")
    assert refused("ed-intents", "valid", kept=1) == (4, "Label")


def test_ed_causes(put):
    good = {"conv_id": "c", "utters": [["it", "rained"], ["oh"]], "context": "sad", "emotion_cause": [0]}
    put("ed_causes/test.jsonl", json.dumps(good) + "\n" + json.dumps({**good, "emotion_cause": [2]}) + "\n")
    assert refused("ed-causes", "test", kept=1) == (2, "emotion_cause")
    (row,) = corpora.load("ed-causes", "test", lenient=True)
    assert (row.id, row.emotion, row.turns, row.words[0]) == ("c", "sad", (0,), ("it", "rained"))
    put("ed_causes/test.jsonl", json.dumps(good) + "\n{oops\n")
    assert refused("ed-causes", "test", kept=1) == (2, 2)


def test_empathy_mental_health_counts_physical_lines(put):
    header = "sp_id,rp_id,seeker_post,response_post,level,rationales\n"
    two_lines = 'a,b,"I am tired,\nso tired","That sounds hard. Why?",1,That sounds hard|\n'
    put("empathy_mental_health/emotional-reactions-reddit.csv", header + two_lines)
    put("empathy_mental_health/interpretations-reddit.csv", header + "a,b,I am tired,Why?,0,\n")
    put("empathy_mental_health/explorations-reddit.csv", header + two_lines + "a,c,I am tired,Why?,3,Why?\n")
    assert refused("empathy-mental-health", "all", kept=3) == (4, "level")
    rows = corpora.load("empathy-mental-health", "all", lenient=True)
    assert [row.mechanism for row in rows] == ["emotional_reaction", "interpretation", "exploration"]
    assert (rows[0].id, rows[0].level, rows[0].rationales) == ("a_b", 1, ("That sounds hard",))
    assert rows[1].rationales == ()


def reccon_turn(turn: int, speaker: str, emotion: str, evidence: list | None = None, spans: list | None = None) -> dict:
    row = {"turn": turn, "speaker": speaker, "utterance": f"Words of turn {turn} .", "emotion": emotion}
    if evidence is not None:
        row |= {"expanded emotion cause evidence": evidence, "expanded emotion cause span": spans}
    return row


def test_reccon(put):
    turns = [reccon_turn(1, "A", "neutral"), reccon_turn(2, "B", "happy", [1, "b"], ["Words", "b"])]
    put("reccon/dailydialog_test.json", json.dumps({"t_1": [turns], "t_2": [[reccon_turn(1, "A", "sad", [2], ["x"])]]}))
    assert refused("reccon", "test", kept=1) == (None, "t_2, turn 1")
    (row,) = corpora.load("reccon", "test", lenient=True)
    assert row.emotions == ("neutral", "happiness")
    assert row.causes == ((), (Cause(0, "Words"), Cause(None, "b")))
    assert [turn.speaker for turn in row.dialogue.turns] == ["speaker", "listener"]


def test_atomic_from_the_table_and_from_the_archive(put, tmp_path):
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr(
            "data/train.tsv", "PersonX sings\txReact\thappy\nPersonX sings\txNeed\tnone\nPersonX sings\txNeed\t\n"
        )
        archive.writestr("data/dev.tsv", "PersonX runs\txWant\tto rest\n")
        archive.writestr("data/test.tsv", "PersonX naps\txEffect\twakes up\n")
    put("atomic/atomic2020_data-feb2021.zip", bundle.getvalue())
    assert corpora.load("atomic", "train") == [KnowledgeTuple("PersonX sings", "xReact", "happy")]
    assert [row.tail for row in corpora.load("atomic", "heldout")] == ["to rest", "wakes up"]
    put("atomic/atomic.tsv", "head\trelation\ttail\tsplit\nx cooks\txWant\tto eat\ttrain\nx cooks\txWant\t \ttrain\n")
    assert refused("atomic", "train", kept=1) == (3, "tail")
    put("atomic/atomic.tsv", "head\trelation\ttail\tsplit\nx cooks\txWant\tto eat\ttrain\nx cooks\txWant\n")
    assert refused("atomic", "train", kept=1) == (3, 3)


def test_conceptnet_from_text_and_from_the_authors_files(put):
    put("conceptnet/dev1.txt.gz", gzip.compress(b"IsA\tspoon\ttool\t1\nIsA\tspoon\tanimal\t0\n"))
    put("conceptnet/dev2.txt.gz", gzip.compress(b"Causes\train\tpuddle\t1\n"))
    assert corpora.load("conceptnet", "valid") == [
        KnowledgeTuple("spoon", "IsA", "tool"),
        KnowledgeTuple("rain", "Causes", "puddle"),
    ]
    put("conceptnet/train.txt", "IsA\tspoon\ttool\nIsA\tspoon\n")
    assert refused("conceptnet", "train", kept=1) == (2, 3)


DAILY = {
    "": "It rains . __eou__ Take mine . __eou__\nHi . __eou__\n",
    "act_": "1 3\n1\n",
    "emotion_": "5 0\n0\n",
}


def test_dailydialog_from_files_and_from_the_nested_archive(put, tmp_path):
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        for kind, text in DAILY.items():
            archive.writestr(f"validation/dialogues_{kind}validation.txt", text)
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("ijcnlp_dailydialog/validation.zip", inner.getvalue())
    put("dailydialog/ijcnlp_dailydialog.zip", outer.getvalue())
    zipped = corpora.load("dailydialog", "valid")
    assert (zipped[0].acts, zipped[0].emotions) == (("inform", "directive"), ("sadness", "neutral"))
    assert [(t.speaker, t.text) for t in zipped[0].dialogue.turns] == [
        ("speaker", "It rains ."),
        ("listener", "Take mine ."),
    ]
    for kind, text in DAILY.items():
        put(f"dailydialog/dialogues_{kind}validation.txt", text)
    assert corpora.load("dailydialog", "valid") == zipped


@pytest.mark.parametrize(
    ("kind", "text", "where"),
    [
        ("act_", "1 3\n1 2\n", (2, 2)),
        ("emotion_", "5 7\n0\n", (1, 2)),
        ("", "A . __eou__ __eou__\nHi . __eou__\n", (1, "turn 2")),
    ],
)
def test_dailydialog_bad_rows(put, kind, text, where):
    for each, content in {**DAILY, kind: text}.items():
        put(f"dailydialog/dialogues_{each}test.txt", content)
    assert refused("dailydialog", "test", kept=1) == where


def test_esconv_from_lines_and_from_the_whole(put):
    meta = {"emotion_type": "anxiety", "problem_type": "job crisis", "situation": "A new job."}
    whole = [
        {
            **meta,
            "problem_type": f"problem {i}",
            "dialog": [
                {"speaker": "seeker", "annotation": {}, "content": " Hello  there\n"},
                {"speaker": "supporter", "annotation": {"strategy": "Question"}, "content": "Hi, how are you?"},
            ],
        }
        for i in range(20)
    ]
    put("esconv/ESConv.json", json.dumps(whole))
    splits = {split: corpora.load("esconv", split) for split in ("train", "valid", "test")}
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 14, "valid": 3, "test": 3}
    assert len({row.problem for rows in splits.values() for row in rows}) == 20
    row = splits["test"][0]
    assert row.strategies == (None, "Question") and row.dialogue.turns[0].text == "Hello there"
    dialog = [{"text": "Hello", "speaker": "usr"}, {"text": "Hi", "speaker": "sys", "strategy": "Others"}]
    broken = {**meta, "dialog": [{"text": "Hi", "speaker": "sys"}]}
    put("esconv/test.txt", json.dumps({**meta, "dialog": dialog}) + "\n" + json.dumps(broken) + "\n")
    assert refused("esconv", "test", kept=1) == (2, "dialog")


def test_nrc_mends_the_word_true(put):
    put("nrc/NRCDict.json", json.dumps([["glad", 1, "table"], {"glad": 2, "1": 0}]))
    assert corpora.load("nrc", "all") == [EmotionWord("glad", 2), EmotionWord("true", 0), EmotionWord("table", None)]


def test_importing_the_room_is_light():
    code = "import sys, empathia.corpora; print([m for m in ('numpy', 'polars', 'torch', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("empathetic-intents", {"train": 25023, "valid": 3544, "test": 3225}),
        ("ed-intents", {"test": 10969}),
        ("ed-causes", {"valid": 2769, "test": 2546}),
        ("empathy-mental-health", {"all": 9252}),
        ("reccon", {"train": 834, "valid": 47, "test": 225}),
        ("conceptnet", {"train": 100000, "valid": 1200, "test": 1200}),
        ("dailydialog", {"train": 11118, "valid": 1000, "test": 1000}),
        ("esconv", {"train": 910, "valid": 195, "test": 195}),
    ],
)
def test_real_corpora_have_their_known_sizes(name, sizes):
    card = corpora.corpus(name)
    if card.here() is None:
        pytest.skip(f"{name} is not here")
    assert {split: len(card.load(split)) for split in sizes} == sizes
