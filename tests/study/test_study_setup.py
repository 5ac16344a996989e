"""From reply files to a study's folder: matching, sampling, settings, the command line."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from study_people import make_study, write_system

from empathia.cli import cli
from empathia.core.errors import BadConfig, BadFile, BadInput, EmpathiaError
from empathia.core.taxonomy import EMOTIONS
from empathia.study.sampling import ab_items, bin_tasks, matched_questions, rating_items, sample
from empathia.study.settings import FILE, Settings, read_settings, write_settings
from empathia.study.store import FILE as DATABASE
from empathia.study.store import Study


def _edit(path: Path, line: int, **changes: object) -> None:
    rows = path.read_text(encoding="utf-8").splitlines()
    row = {**json.loads(rows[line - 1]), **changes}
    rows[line - 1] = json.dumps({k: v for k, v in row.items() if v is not None})
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_system(tmp_path / "a.jsonl", "A"), write_system(tmp_path / "b.jsonl", "B")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"context": [{"speaker": "speaker", "text": "other"}]}, "1 turns of context, but 2 in"),
        ({"context": [{"speaker": "listener", "text": "Hello, how was your day?"},
                      {"speaker": "speaker", "text": "x"}]}, "turn 2 of the context differs"),
        ({"emotion": "sad"}, "'emotion' differs"),
        ({"gold": "Oh."}, "'gold' differs"),
        ({"system": "C"}, "system 'C', but 'B' on line 1"),
        ({"id": "new"}, "has no reply to 'afraid-2'"),
        ({"reply": 7}, "field 'reply' must be a string"),
    ],
)  # fmt: skip
def test_files_that_do_not_match_are_named_with_line_and_difference(
    pair: tuple[Path, Path], changes: dict[str, object], words: str
) -> None:
    _edit(pair[1], 3, **changes)
    with pytest.raises(BadFile) as caught:
        matched_questions(pair)
    message = str(caught.value)
    assert words in message and "b.jsonl" in message and "line 3" in message


def test_further_bad_files(pair: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="is also that of"):
        matched_questions([pair[0], write_system(tmp_path / "c.jsonl", "A")])
    with pair[1].open("a", encoding="utf-8") as out:
        out.write(
            json.dumps({"id": "x", "system": "B", "reply": "r", "context": [{"speaker": "speaker", "text": "t"}]})
        )
    with pytest.raises(BadFile, match=r"b.jsonl, line 129, column id: id 'x' is not in .*a.jsonl"):
        matched_questions(pair)
    with pytest.raises(BadFile, match="must not be called 'gold'"):
        matched_questions([write_system(tmp_path / "g.jsonl", "gold")])


def test_four_of_each_emotion_seeded(tmp_path: Path) -> None:
    files = [write_system(tmp_path / f"{n}.jsonl", n, per_emotion=6) for n in "AB"]
    questions = matched_questions(files)
    drawn = sample(questions, seed=1, per_emotion=4)
    assert len(drawn) == 128
    assert all(sum(q.emotion == e for q in drawn) == 4 for e in EMOTIONS)
    ids = [q.context_id for q in drawn]
    assert ids == [q.context_id for q in sample(questions, seed=1, per_emotion=4)]
    assert ids != [q.context_id for q in sample(questions, seed=2, per_emotion=4)]
    assert len(sample(questions, seed=1, at_random=10)) == 10
    with pytest.raises(BadInput, match=r"fewer than 7 contexts of: afraid \(6\)"):
        sample(questions, seed=1, per_emotion=7)
    with pytest.raises(BadInput, match="cannot draw 0"):
        sample(questions, seed=1, at_random=0)


def test_items_of_each_design(tmp_path: Path) -> None:
    questions = matched_questions([write_system(tmp_path / f"{n}.jsonl", n, 1) for n in "ABC"])
    assert len(rating_items(questions)) == 96
    assert [[c.system for c in i.candidates] for i in ab_items(questions)[:2]] == [["A", "B"], ["A", "C"]]
    assert len(ab_items(questions, all_pairs=True)) == 96
    tasks = bin_tasks(questions, 10, 3, seed=0)
    assert [len(t) for t in tasks] == [10, 10, 10, 2]
    assert [sum(i.gold is not None for i in t) for t in tasks] == [3, 3, 3, 2]
    hidden = next(i for i in tasks[0] if i.gold is not None)
    assert [c.system for c in hidden.candidates] == ["A", "B", "C", "gold"] and hidden.gold == 3
    with pytest.raises(BadInput, match="two systems"):
        ab_items(matched_questions([tmp_path / "A.jsonl"]))


def test_settings_are_readable_and_checked(tmp_path: Path) -> None:
    settings = Settings(
        'Say "hi" \\ ü', "bins", 4, completion_url="https://example.org/x?cc=1", systems={"a b": "a.jsonl"}
    )
    write_settings(tmp_path, settings)
    assert read_settings(tmp_path) == settings
    path = tmp_path / FILE
    text = path.read_text(encoding="utf-8")
    for broken, words in (
        (text.replace("seed =", "sed ="), "did you mean 'seed'"),
        (text.replace('design = "bins"', 'design = "bin"'), "did you mean 'bins'"),
        (text.replace("annotators = 4", 'annotators = "4"'), "must be of type int"),
        (text.replace("https://", "htp://"), "not a web address"),
        ("title = ", "not TOML"),
        ('design = "ab"', "setting missing"),
    ):
        path.write_text(broken, encoding="utf-8")
        with pytest.raises((BadConfig, BadFile), match=words):
            read_settings(tmp_path)


def test_what_is_asked_cannot_change_under_way(tmp_path: Path) -> None:
    folder = make_study(tmp_path, "ab")
    text = (folder / FILE).read_text(encoding="utf-8")
    (folder / FILE).write_text(text.replace("annotators = 3", "annotators = 5"), encoding="utf-8")
    with pytest.raises(BadFile, match="'annotators' is 5, but the study was made with 3"):
        Study(folder)
    (folder / FILE).write_text(text.replace("lease_minutes = 20.0", "lease_minutes = 5"), encoding="utf-8")
    study = Study(folder)
    assert study.settings.lease_minutes == 5
    with study.store.reading() as db:
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
    study.close()
    (folder / DATABASE).write_bytes(b"not a database, but long enough to be looked at as one" * 30)
    with pytest.raises(BadFile, match=r"study\.sqlite"):
        Study(folder)


def _run(*args: object) -> str:
    result = CliRunner().invoke(cli, ["study", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_the_command_line_from_files_to_report(pair: tuple[Path, Path], tmp_path: Path) -> None:
    name = tmp_path / "pilot"
    said = _run("new", name, "--design", "ab", "--systems", *pair, "--per-emotion", 4, "--seed", 3)
    assert "128 items in 128 tasks, 3 annotators each; 4 per emotion, seed 3" in said
    with pytest.raises(EmpathiaError, match="already holds a study"):
        _run("new", name, "--design", "ab", "--systems", *pair)
    assert _run("links", name, "--count", 2, "anna").count("/a/") == 3
    assert "0 of 384 places" in _run("status", name)
    assert (name / "export" / "answers.csv").as_posix() in _run("export", name)
    assert "no finished answers yet" in _run("report", name)
    assert (name / "report" / "report.html").exists()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BadInput, match="Address already in use; choose another"):
            _run("serve", name, "--port", taken.getsockname()[1])
    assert "0 is not in the range" in _run(
        "new", tmp_path / "x", "--design", "bins", "--systems", *pair, "--task-size", 0
    )
    with pytest.raises(EmpathiaError, match=r"no such file: .*study.toml; make one with"):
        _run("status", tmp_path / "nowhere")


def test_the_study_loads_no_torch() -> None:
    code = (
        "import sys, empathia.commands.study, empathia.study.app, empathia.study.report, empathia.study.votes;"
        "sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'onnxruntime', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
