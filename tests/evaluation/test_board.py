from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from empathia.core.errors import BadFile, BadInput, MissingFile
from empathia.core.types import Score
from empathia.evaluation import board


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "deep" / "inside").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "inside")
    return tmp_path


def test_a_figure_carries_its_conditions(repository: Path) -> None:
    path = board.record("toys", "toy/bleu_4", 2.123456789, "%", "n:4", "empathia score toy.jsonl", low=2.0, high=2.5)
    assert path == repository / "benchmarks" / "results" / "toys.json"
    assert json.loads(path.read_text()) == [
        {
            "name": "toy/bleu_4",
            "value": 2.12346,
            "unit": "%",
            "signature": "n:4",
            "command": "empathia score toy.jsonl",
            "commit": "unknown",
            "low": 2.0,
            "high": 2.5,
        }
    ]


def test_same_name_and_signature_is_replaced_and_the_file_stays_sorted(repository: Path) -> None:
    for name, value, signature in [("b", 1, "n:4"), ("a", 2, "n:4"), ("b", 3, "n:4"), ("b", 4, "n:2")]:
        path = board.record("toys", name, value, "", signature, "x")
    rows = json.loads(path.read_text())
    assert [(r["name"], r["signature"], r["value"]) for r in rows] == [
        ("a", "n:4", 2),
        ("b", "n:2", 4),
        ("b", "n:4", 3),
    ]
    before = path.read_text()
    board.record("toys", "a", 2, "", "n:4", "x")
    assert path.read_text() == before


def test_scores_are_recorded_under_their_system(repository: Path) -> None:
    scores = [Score("bleu_4", 2.0, "n:4"), Score("length", 9.0, "n:4|unit:tokens"), Score("ses", 0.2, "n:4")]
    board.record_scores("toys", "toy", scores, "x")
    figures = board.read_board("toys")["toys"]
    assert [(f.name, f.unit) for f in figures] == [("toy/bleu_4", "%"), ("toy/length", "tokens"), ("toy/ses", "")]


def test_two_writers_lose_nothing(repository: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: board.record("toys", f"t{i}", i, "", "s", "x", folder=repository), range(24)))
    assert len(board.read_board("toys", repository)["toys"]) == 24


def test_commit_and_whether_the_tree_differs(repository: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=repository, check=True, capture_output=True)

    git("init")
    (repository / "code.py").write_text("1\n")
    git("add", "code.py")
    git("commit", "-m", "one")
    clean = board.commit_of()
    assert len(clean) == 12 and "+" not in clean
    board.record("toys", "a", 1, "", "s", "x")
    git("add", "benchmarks")
    assert board.commit_of() == clean  # a result is no change of the code that measured it
    (repository / "code.py").write_text("2\n")
    assert board.commit_of() == clean + "+"


def test_published_figures_by_name(repository: Path) -> None:
    assert board.read_published() == {}
    rows = [{"name": "toy/x", "value": 1, "source": "A"}, {"name": "toy/x", "value": 2, "source": "B", "note": "beam"}]
    (repository / "benchmarks" / "published.json").write_text(json.dumps(rows))
    assert [(p.value, p.source) for p in board.read_published()["toy/x"]] == [(1, "A"), (2, "B")]


def test_a_decoder_is_set_beside_what_the_paper_gives_for_the_system() -> None:
    def said(name: str) -> list[float]:
        return [p.value for p in board.published_for(name, published)]

    published = {
        "toy/x": [board.Published("toy/x", 1, "table")],
        "toy-beam5/x": [board.Published("toy-beam5/x", 2, "outputs")],
    }
    assert said("toy/x") == said("toy-greedy/x") == said("toy-released/x") == said("toy-released-sample/x") == [1]
    assert said("toy-beam5/x") == [2, 1]
    assert said("toy-no-mimicry-beam5/x") == said("toy/y") == []  # an ablation is another system


def test_the_projects_own_published_file_reads() -> None:
    root = Path(__file__).parents[2]
    published = board.read_published(root)
    assert any(p.value == 37.09 for p in published["mime/perplexity_macro"])
    assert all(p.source for rows in published.values() for p in rows)


def test_mistakes_are_named(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory) -> None:
    with pytest.raises(BadInput, match="cannot be a topic"):
        board.record("../evil", "a", 1, "", "s", "x")
    with pytest.raises(BadInput, match="not a finite number"):
        board.record("toys", "a", float("nan"), "", "s", "x")
    board.record("toys", "a", 1, "", "s", "x")
    with pytest.raises(MissingFile, match="did you mean 'toys'"):
        board.read_board("toy")
    path = repository / "benchmarks" / "results" / "bad.json"
    for text, problem in [
        ("{}", "expected a list"),
        ("[1]", "entry 1 is not an object"),
        ('[{"name": "a"}]', "needs 'value'"),
        ("[", "not JSON"),
    ]:
        path.write_text(text)
        with pytest.raises(BadFile, match=problem):
            board.read_board("bad")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(MissingFile, match="inside a clone"):
        board.read_board()


def test_a_command_is_written_without_this_machines_folders(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = repository / "deep" / "inside"
    monkeypatch.setenv("EMPATHIA_RUNS", str(repository / "runs"))
    for given, written in [
        (["/usr/bin/empathia", "train", "x y.toml"], "empathia train 'x y.toml'"),
        ([str(here / "empathia" / "__main__.py"), "data"], "python -m empathia data"),
        ([str(here / "bench.py"), f"--out={here}/o.json"], "python bench.py --out=o.json"),
        (["empathia", str(repository / "runs" / "mime"), "--set", "a=1"], "empathia $EMPATHIA_RUNS/mime --set a=1"),
        (["empathia", "/elsewhere/replies.jsonl"], "empathia replies.jsonl"),
    ]:
        monkeypatch.setattr("sys.argv", given)
        assert board.running_command() == written
