"""`empathia enrich`: what stands where, reading it back, and going on after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from empathia.cli import main
from empathia.core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, MECHANISMS
from empathia.core.types import Dialogue, Turn
from empathia.perception.enrich import CHUNK
from empathia.perception.enriched import as_dict, read_enriched

ROOT = Path(__file__).parents[2]


def talk(id: str, *texts: str, emotion: str | None = None) -> Dialogue:
    turns = tuple(Turn("listener" if i % 2 else "speaker", text) for i, text in enumerate(texts))
    return Dialogue(id, turns, emotion)


TALKS = [
    talk("even", "I lost my wallet.", "Oh no! Where?", "On the bus.", "I hope somebody finds it.", emotion="sad"),
    talk("odd", "We got a puppy!", "How sweet. What is its name?", "Biscuit."),
    talk("alone", "Nobody called me today."),
    Dialogue("greeted", (Turn("listener", "Hello, how are you?"), Turn("speaker", "I am so tired."))),
]


def written(path: Path, dialogues: list[Dialogue]) -> Path:
    path.write_text("".join(json.dumps(as_dict(dialogue)) + "\n" for dialogue in dialogues))
    return path


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["enrich", "--threads", "1", *arguments])
    said = capsys.readouterr().err
    assert stopped.value.code and said.count("\n") == 1 and "Traceback" not in said
    return said


def test_every_turn_gets_its_own(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["enrich", str(written(here / "talks.jsonl", TALKS)), "--threads", "1"])
    assert capsys.readouterr().out.strip().endswith("talks.enriched.jsonl")
    rows = [json.loads(line) for line in (here / "talks.enriched.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["even", "odd", "alone", "greeted"]
    assert rows[0]["emotion"] == "sad" and "emotion" not in rows[1] and len(rows[0]["perception"]) == 12
    for row, evidence, mechanisms in zip(
        rows, ([0, 2], [0, 2], [0], [1]), ([1, 3], [1], [], []), strict=True
    ):  # where an answer is awaited, and where one is given
        assert all(turn["label"] in EMOTIONS_AND_INTENTS and -1 <= turn["sentiment"] <= 1 for turn in row["turns"])
        assert [i for i, turn in enumerate(row["turns"]) if "evidence" in turn] == evidence
        assert [i for i, turn in enumerate(row["turns"]) if "mechanisms" in turn] == mechanisms
    assert all(turn < 3 for turn in rows[0]["turns"][2]["evidence"]["causes"])


def test_it_is_read_back_as_examples_with_labelled_gold(here: Path) -> None:
    main(["enrich", str(written(here / "talks.jsonl", TALKS)), "--out", "e.jsonl", "--threads", "1"])
    found = list(read_enriched(here / "e.jsonl"))
    assert [one.dialogue for one in found] == TALKS
    rows = [json.loads(line) for line in (here / "e.jsonl").read_text().splitlines()]
    assert [json.loads(json.dumps(one.as_dict())) for one in found] == rows
    examples = [example for one in found for example in one.examples()]
    assert [example.id for example in examples] == ["even#1", "even#3", "odd#1"]
    first = examples[0]
    assert first.gold.reply == "Oh no! Where?" and first.gold.emotion == "sad"
    assert first.gold.intent == rows[0]["turns"][1]["label"]
    assert first.gold.mechanisms == rows[0]["turns"][1]["mechanisms"] and set(first.gold.mechanisms) == set(MECHANISMS)
    assert examples[1].gold.sentiment == rows[0]["turns"][3]["sentiment"] > 0
    assert set(first.evidence.emotion) == set(EMOTIONS) and sum(first.evidence.emotion.values()) > 0.9
    assert set(first.evidence.intent) == set(EMOTIONS_AND_INTENTS)


def test_only_labels_where_nothing_else_is_wanted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(written(here / "talks.jsonl", TALKS))
    main(["enrich", source, "--out", "all.jsonl", "--threads", "1"])
    main(["enrich", source, "--out", "labels.jsonl", "--labels-only", "--threads", "1"])
    whole, few = list(read_enriched(here / "all.jsonl")), list(read_enriched(here / "labels.jsonl"))
    assert [(one.labels, one.sentiments) for one in few] == [(one.labels, one.sentiments) for one in whole]
    assert not any(any(one.mechanisms) or any(one.evidence) for one in few)
    assert "other weights or other options" in failure(capsys, source, "--out", "labels.jsonl")


def test_once_done_it_is_left_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["enrich", str(written(here / "talks.jsonl", TALKS)), "--threads", "1"]
    main(arguments)
    before = (here / "talks.enriched.jsonl").stat()
    main(arguments)
    assert "4 of 4 dialogues were already done" in capsys.readouterr().err
    assert (here / "talks.enriched.jsonl").stat().st_mtime_ns == before.st_mtime_ns
    written(here / "talks.jsonl", [TALKS[1], TALKS[0]])
    assert "talks.enriched.jsonl, line 1: is there already, made from other dialogues" in failure(capsys, "talks.jsonl")
    written(here / "talks.jsonl", [*TALKS, talk("new", "One more.")])
    assert "with 4 of 5 dialogues" in failure(capsys, "talks.jsonl")
    changed = (here / "talks.enriched.jsonl").read_text().replace('"perception": "', '"perception": "other')
    (here / "talks.enriched.jsonl").write_text(changed)
    assert "made with other weights or other options" in failure(capsys, "talks.jsonl")


RUN = """
import sys
from pathlib import Path
import empathia.perception.perception as perception
perception.Perception.__init__.__defaults__ = (Path(sys.argv[1]), 1)
from empathia.cli import main
main(["enrich", "many.jsonl", "--out", "out.jsonl", "--threads", "1"])
"""


def test_a_killed_run_goes_on_after_its_last_whole_line(
    here: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = [talk(f"d{i}", f"I counted {i} sheep.", "And then?", "Then I slept.") for i in range(6 * CHUNK)]
    written(here / "many.jsonl", many)
    part = here / "out.jsonl.part"
    process = subprocess.Popen([sys.executable, "-c", RUN, str(weights)], cwd=here, stderr=subprocess.PIPE)
    patience = time.monotonic() + 300
    while not (part.exists() and part.stat().st_size) and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL, process.stderr.read().decode()
    left = part.read_bytes()
    kept = left[: left.rfind(b"\n") + 1]
    done = kept.count(b"\n")
    assert 0 < done < len(many) and not (here / "out.jsonl").exists()
    with part.open("ab") as file:
        file.write(b'{"id": "d')  # as if the kill had cut a line
    before = part.stat().st_ino
    main(["enrich", "many.jsonl", "--out", "out.jsonl", "--threads", "1"])
    assert f"{done:,} of {len(many):,} dialogues were already done" in capsys.readouterr().err
    whole = (here / "out.jsonl").read_bytes()
    assert whole.startswith(kept) and (here / "out.jsonl").stat().st_ino == before
    assert [json.loads(line)["id"] for line in whole.splitlines()] == [dialogue.id for dialogue in many]
    assert not part.exists()


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("", "a.jsonl: holds no dialogues"),
        ('{"id": "1", "turns": [{"speaker": "speaker", "text": "hi"}]}\n{"id"', "a.jsonl, line 2"),
        ('{"turns": [{"speaker": "speaker", "text": "hi"}]}', "a.jsonl, line 1, column id"),
        ('\n{"id": "1", "turns": []}', "a.jsonl, line 2, column turns"),
        ('{"id": "1", "turns": [{"speaker": "me", "text": "hi"}]}', "line 1, column turns: turn 1 needs"),
        ('{"id": "1", "turns": [{"speaker": "speaker", "text": " "}]}', "line 1, column turns: turn 1 is empty"),
        ('{"id": "1", "emotion": 3, "turns": [{"speaker": "speaker", "text": "a"}]}', "line 1, column emotion"),
        ('{"id": "1", "turns": [{"speaker": "speaker", "text": "a"}]}\n' * 2, "id '1' is also on line 1"),
    ],
)
def test_a_bad_line_is_named(content: str, wanted: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.jsonl").write_text(content)
    assert wanted in failure(capsys, "a.jsonl")
    assert not list(here.glob("*enriched*"))


def test_other_mistakes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'empathetic-dialogues'?" in failure(capsys, "empathetic-dialogue")
    assert "no file and no corpus" in failure(capsys, "none.jsonl")
    written(here / "talks.jsonl", TALKS)
    assert "--split needs a corpus" in failure(capsys, "talks.jsonl", "--split", "test")


def test_a_corpus_by_name(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("EMPATHIA_DATA", str(ROOT / "tests" / "data"))
    monkeypatch.setenv("EMPATHIA_HOME", str(here / "home"))
    main(["enrich", "empathetic-dialogues", "--split", "valid", "--limit", "2", "--threads", "1"])
    path = here / "home" / "enriched" / "empathetic-dialogues-valid.jsonl"
    assert capsys.readouterr().out.strip() == str(path)
    assert len(list(read_enriched(path))) == 2
