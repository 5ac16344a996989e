from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from empathia.cli import main
from empathia.core.replies import SystemReply, write_replies
from empathia.core.types import Context
from empathia.evaluation import board


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder that looks like a clone, with two systems' replies in it."""
    (tmp_path / "benchmarks").mkdir()
    monkeypatch.chdir(tmp_path)
    gold = [f"i hope exam number {i} goes well , my friend ." for i in range(12)]
    for name, texts in (("good", gold), ("dull", ["i hope it goes well ."] * 12)):
        rows = [
            SystemReply(str(i), name, Context.of("hi"), t, g) for i, (t, g) in enumerate(zip(texts, gold, strict=True))
        ]
        write_replies(tmp_path / f"{name}.jsonl", rows)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(arguments)
    return capsys.readouterr().out


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "Traceback" not in said
    return int(stopped.value.code or 0), said


def test_one_file_as_a_table_and_as_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "bleu_4" in run(capsys, "score", "dull.jsonl", "--no-embeddings")
    found = json.loads(run(capsys, "score", "dull.jsonl", "--no-embeddings", "--json", "--out", "s.json"))
    assert found == json.loads((here / "s.json").read_text())
    shares = {s["name"]: s["value"] for s in found["systems"]["dull"]}
    assert shares["commonest_share"] == 100.0 and "ses" not in shares


def test_two_files_are_tested_against_each_other(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(capsys, "score", "good.jsonl", "dull.jsonl", "--no-embeddings", "--out-dir", "report")
    assert "bleu_4: good − dull" in said
    assert {p.name for p in (here / "report").iterdir()} == {"scores.json", "scores.md", "scores.tex", "scores.png"}
    assert json.loads((here / "report" / "scores.json").read_text())["comparisons"][0]["result"]["p"] < 0.01


def test_files_of_one_system_go_by_their_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "again.jsonl").write_text((here / "dull.jsonl").read_text())
    found = json.loads(run(capsys, "score", "dull.jsonl", "again.jsonl", "--no-embeddings", "--json"))
    assert list(found["systems"]) == ["dull", "dull (again)"]


def test_recorded_scores_stand_on_the_board(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["score", str(here / "dull.jsonl"), "--no-embeddings", "--record", "toys", "--name", "toy"]
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/empathia", *arguments])
    run(capsys, *arguments, "--conditions", "split:tiny")
    figures = {f.name: f for f in board.read_board("toys")["toys"]}
    assert figures["toy/commonest_share"].value == 100.0
    assert figures["toy/bleu_4"].signature.startswith("split:tiny|nrefs:1")
    assert figures["toy/bleu_4"].command == "empathia score dull.jsonl --no-embeddings --record toys --name toy"
    published = [{"name": "toy/bleu_4", "value": 2.98, "source": "A paper, Table 2", "note": "beam"}]
    (here / "benchmarks" / "published.json").write_text(json.dumps(published))
    assert "2.98 (A paper, Table 2; beam)" in run(capsys, "results", "toys")
    rows = json.loads(run(capsys, "results", "--json"))["toys"]
    assert next(r for r in rows if r["name"] == "toy/bleu_4")["published"][0]["value"] == 2.98


def test_an_empty_board_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "board is empty" in run(capsys, "results")
    assert failure(capsys, "results", "toys")[0] == 3


def test_mistakes_name_file_and_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (here / "dull.jsonl").read_text().splitlines(keepends=True)
    bad = here / "bad.jsonl"

    def told(content: str, *before: str) -> tuple[int, str]:
        bad.write_text(content)
        return failure(capsys, "score", *before, "bad.jsonl", "--no-embeddings")

    assert told("") == (4, "empathia: bad.jsonl: holds no replies; write it with: empathia generate RUN\n")
    assert "bad.jsonl, line 2, column 1: not JSON" in told(lines[0] + "oops\n")[1]
    assert "bad.jsonl, line 2, column id: id '0' is also on line 1" in told(lines[0] * 2)[1]
    assert (
        "bad.jsonl, line 2: system 'good' in a file of 'dull'" in told(lines[0] + lines[1].replace("dull", "good"))[1]
    )
    assert "dull.jsonl, line 12: id '11' is not in dull (bad)" in told("".join(lines[:11]), "dull.jsonl")[1]
    other = "".join(lines).replace("exam number 2 ", "test number 2 ")
    assert "bad.jsonl, line 3: id '2' has another gold reply than in good" in told(other, "good.jsonl")[1]
    assert failure(capsys, "score", "nowhere.jsonl", "--no-embeddings")[0] == 3
    assert failure(capsys, "score", "good.jsonl", "dull.jsonl", "--name", "x")[0] == 2
