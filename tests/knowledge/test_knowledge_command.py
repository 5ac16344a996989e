from __future__ import annotations

import io
import json

import pytest
from knowledge_models import tiny_bart

from empathia.cli import main
from empathia.core.taxonomy import RELATION_GROUPS


def run(capsys, *words):
    try:
        main(["know", *words])
        code = 0
    except SystemExit as stop:
        code = stop.code
    return code, capsys.readouterr()


def test_it_shows_groups(tuples_here, words_encoder, capsys):
    code, said = run(capsys, "I lost my job")
    assert code == 0
    assert "personx loses personx's job" in said.out
    assert "affect" in said.out
    assert "sad" in said.out


def test_it_gives_json(tuples_here, words_encoder, capsys):
    row = json.loads(run(capsys, "I lost my job", "--json", "--most", "1")[1].out)
    assert row["events"] == ["personx loses personx's job"]
    assert list(row["store"]) == list(RELATION_GROUPS)
    assert [tail["text"] for tail in row["store"]["affect"]["xReact"]] == ["sad"]
    only = json.loads(run(capsys, "I lost my job", "--json", "--relation", "xWant")[1].out)
    assert only["store"]["affect"] == {}


def test_no_event_is_said(tuples_here, words_encoder, capsys):
    assert "No event" in run(capsys, "Hi!")[1].out
    assert json.loads(run(capsys, "Hi!", "--json")[1].out)["store"]["affect"] == {}


def test_it_reads_lines(tuples_here, words_encoder, capsys, monkeypatch):
    lines = b'"I lost my job"\n{"id": "a", "messages": ["Hello", "Hi.", "My dog ran away"]}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    code, said = run(capsys, "--jsonl", "--json")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert code == 0
    assert [row.get("id") for row in rows] == [None, "a"]
    assert rows[1]["store"]["physical"]["CapableOf"]


def test_it_reads_a_file(tuples_here, words_encoder, capsys):
    (tuples_here / "letter.txt").write_text("I passed my exam.")
    assert "proud" in run(capsys, "--file", str(tuples_here / "letter.txt"))[1].out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((" ",), 2, 'say something: empathia know "I lost my job today."'),
        (("I lost my job", "--relation", "xreact"), 2, "did you mean 'xReact'"),
        (("I lost my job", "--comet", "nowhere"), 3, "name the folder of a COMET"),
        (("I lost my job", "--jsonl"), 2, "not both"),
    ],
)
def test_a_mistake_is_one_line(tuples_here, words_encoder, capsys, words, code, told):
    got, said = run(capsys, *words)
    assert got == code
    assert told in said.err
    assert "Traceback" not in said.err


def test_without_data_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path))
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    code, said = run(capsys, "I lost my job")
    assert code == 3
    assert said.err.count("\n") == 1
    assert "empathia data get" in said.err


def test_a_published_comet_stands_beside_the_store(tuples_here, words_encoder, capsys):
    pytest.importorskip("transformers")
    folder = tiny_bart(tuples_here / "bart")
    code, said = run(capsys, "I lost my job", "--json", "--most", "1", "--relation", "xReact", "--comet", str(folder))
    assert code == 0
    assert {"store", "comet-published"} <= json.loads(said.out).keys()
