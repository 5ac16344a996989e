"""`empathia index` as a terminal sees it."""

from __future__ import annotations

import json

import pytest
from exemplars_toys import WordEncoder

from empathia.cli import main
from empathia.core.types import Context
from empathia.exemplars import encoder, recall


@pytest.fixture
def words(house, monkeypatch):
    """The command with the encoder that needs no weights."""
    monkeypatch.setattr(encoder, "load", lambda announce=None: WordEncoder())
    return house


def refused(capsys, code: int, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["index", *arguments])
    said = capsys.readouterr()
    assert stopped.value.code == code and said.out == "" and said.err.count("\n") == 1, said
    return said.err


def test_a_corpus_becomes_a_bank_that_answers(house, capsys):
    main(["index", "empathetic-dialogues"])
    folder = capsys.readouterr().out.strip()
    card = json.loads((house / "cache/banks/empathetic-dialogues/card.json").read_text())
    assert folder.endswith("banks/empathetic-dialogues")
    assert card["encoder"].startswith("all-MiniLM-L6-v2/turns") and card["pairs"] > 8
    found = recall("empathetic-dialogues").exemplars(Context.of("My sister visits me after years!"), {"joyful": 1.0}, 1)
    assert found[0].emotion == "joyful" and found[0].source.startswith("empathetic-dialogues:hit:")


def test_a_file_of_dialogues_and_a_crisis_in_it(words, capsys, tmp_path):
    def turns(*texts):
        return [{"speaker": "listener" if i % 2 else "speaker", "text": text} for i, text in enumerate(texts)]

    dark = turns("I had a bad day", "What made it so bad?", "I want to kill myself tonight", "Please do not say that.")
    rows = [
        {"id": "a", "turns": dark},
        {"id": "b", "emotion": "proud", "turns": turns("I won a medal", "Show it to me!")},
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["index", str(path), "--out", str(tmp_path / "out" / "bank")])
    said = capsys.readouterr()
    assert said.out.strip() == str(tmp_path / "out" / "bank") and "2 pairs of 2 dialogues" in said.err
    kept = [json.loads(line) for line in (tmp_path / "out" / "bank" / "pairs.jsonl").read_text().splitlines()]
    assert [row["reply"] for row in kept] == ["What made it so bad?", "Show it to me!"]


def test_limit_and_split(words, capsys):
    main(["index", "empathetic-dialogues", "--split", "valid", "--limit", "1", "--out", "few"])
    assert "of 1 dialogues" in capsys.readouterr().err
    assert (words / "cache" / "banks" / "few" / "index.faiss").exists()


def test_mistakes_are_one_line_and_leave_nothing(words, capsys, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"turns": [{"speaker": "speaker", "text": "Hello?"}]}\n')
    assert "did you mean 'esconv'" in refused(capsys, 2, "esconf")
    assert "no split 'training'" in refused(capsys, 2, "empathetic-dialogues", "--split", "training")
    assert "no such file" in refused(capsys, 3, "nowhere.jsonl")
    assert "no reply to index" in refused(capsys, 2, str(empty))
    assert not (words / "cache" / "banks").exists()


def test_a_corpus_without_dialogues_is_refused(words, capsys, tmp_path, monkeypatch):
    (tmp_path / "empathetic_intents").mkdir()
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path))
    (tmp_path / "empathetic_intents" / "train.txt").write_text("27 <SEP> I cried all night.\n")
    assert "holds no dialogues" in refused(capsys, 2, "empathetic-intents")
