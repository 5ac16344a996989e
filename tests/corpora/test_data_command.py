"""`empathia data` as a user meets it: output, JSON, exit codes, one-line errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from empathia.cli import main
from empathia.corpora import base, corpus, fetching

SAMPLE = Path(__file__).parents[1] / "data"
NAME = "empathetic-dialogues"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line; gives exit code, standard output and standard error."""
    monkeypatch.setenv("EMPATHIA_DATA", str(SAMPLE))
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))

    def run(*words: str) -> tuple[int, str, str]:
        code = 0
        try:
            main(["data", *words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_list(run):
    code, out, _ = run("list")
    assert code == 0 and "empathy-mental-health" in out and "glove-100d" in out
    rows = {row["name"]: row for row in json.loads(run("list", "--json")[1])}
    assert rows[NAME]["here"] == str(SAMPLE / "empatheticdialogues") and rows["esconv"]["here"] is None
    assert {*rows} >= {
        "empathetic-intents",
        "reccon",
        "atomic",
        "conceptnet",
        "dailydialog",
        "ed-causes",
        "nrc",
        "glove",
    }


def test_stats_for_people_and_for_programs(run):
    code, out, err = run("stats", NAME)
    assert (code, err) == (0, "")
    assert [line.split()[-6:-1:2] for line in out.splitlines() if "listener turns" in line] == [["17", "4", "4"]]
    report = json.loads(run("stats", NAME, "--json")[1])
    assert report["splits"]["test"]["conversations"] == 2 and report["splits"]["test"]["emotion"] == {
        "hopeful": 1,
        "caring": 1,
    }


def test_show(run):
    code, out, _ = run("show", NAME, "--split", "test", "--limit", "1")
    assert code == 0 and out.splitlines()[0] == "hit:5_conv:10  (hopeful)" and "listener: How nice!" in out
    rows = [json.loads(line) for line in run("show", NAME, "--json")[1].splitlines()]
    assert [row["emotion"] for row in rows] == ["joyful", "sad", "afraid"]


def test_mistakes_are_one_line_with_the_next_step(run):
    for words, exit_code, said in (
        (("stats", "empathetic-dialogs"), 2, "did you mean 'empathetic-dialogues'?"),
        (("get", "glov"), 2, "did you mean 'glove'?"),
        (("show", NAME, "--split", "dev"), 2, "known: test, train, valid"),
        (("stats", "reccon"), 3, "run: empathia data get reccon"),
    ):
        code, out, err = run(*words)
        assert (code, out) == (exit_code, "") and said in err and err.count("\n") == 1 and "Traceback" not in err


def test_bad_rows_stop_or_are_counted(run, tmp_path, monkeypatch):
    folder = tmp_path / "data" / "empathetic_intents"
    folder.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_text("40 <SEP> I took the bus.\n99 <SEP> Nobody knows.\n")
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path / "data"))
    code, out, err = run("stats", "empathetic-intents")
    assert (code, out) == (4, "") and "train.txt, line 2, column id: '99'" in err and "--lenient" in err
    code, out, err = run("stats", "empathetic-intents", "--lenient")
    assert code == 0 and "left out 3 bad rows" in err
    assert json.loads(run("stats", "empathetic-intents", "--lenient", "--json")[1])["splits"]["test"]["bad rows"] == 1


def test_get_finds_what_is_here_and_fetches_the_rest(run, tmp_path, monkeypatch):
    assert run("get", NAME)[:2] == (0, f"{SAMPLE / 'empatheticdialogues'}\n")
    fetched = []

    def fetch(source, folder, *, watch):
        watch(1, 2)
        fetched.append(folder / source.file)

    monkeypatch.setattr(fetching, "fetch", fetch)
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o555)
    monkeypatch.setenv("EMPATHIA_DATA", str(shared))
    code, out, _ = run("get", "reccon")
    assert (code, out) == (0, f"{tmp_path / 'home' / 'data' / 'reccon'}\n")  # the read-only folder is left alone
    assert [path.name for path in fetched] == [f"dailydialog_{split}.json" for split in ("train", "valid", "test")]


def test_downloads_go_to_the_data_folder_when_it_can_be_written(tmp_path, monkeypatch):
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path / "not" / "yet"))
    assert base.writable_root() == tmp_path / "not" / "yet"
    monkeypatch.delenv("EMPATHIA_DATA")
    assert base.writable_root() == tmp_path / "home" / "data"


@pytest.mark.corpus
def test_stats_of_the_real_corpus_are_those_of_the_data_readme(capsys):
    if corpus(NAME).here() is None:
        pytest.skip(f"{NAME} is not here")
    main(["data", "stats", NAME, "--json"])
    splits = json.loads(capsys.readouterr().out)["splits"].values()
    assert [len(split["emotion"]) for split in splits] == [32, 32, 32]
    counts = [(split["conversations"], split["listener turns"]) for split in splits]
    if [conversations for conversations, _ in counts] != [19533, 2770, 2547]:  # the official archive's
        assert counts == [(19536, 40258), (2769, 5736), (2546, 5257)]
