"""`empathia perceive`, on whatever weights there are: shapes, forms of input, odd texts, mistakes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from empathia.cli import main
from empathia.core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, MECHANISMS

ROOT = Path(__file__).parents[2]

ODD = {
    "an emoji": "🥲",
    "ten thousand words": "and then the rain came down again " * 1429,
    "Chinese": "我今天丢了工作，不知道该怎么办。",
    "Arabic": "فقدت وظيفتي اليوم",
    "NUL bytes": "I lost\0 my job\0\0 today.",
    "one letter": "a",
    "markup": "[bold]I lost[/bold] my [/red] job <b>today</b>",
    "invisible among letters": "I lost\u200b my \u202ejob",
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["perceive", "--threads", "1", *arguments])
    return capsys.readouterr().out


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["perceive", *arguments])
    said = capsys.readouterr().err
    assert stopped.value.code and said.count("\n") == 1 and "Traceback" not in said
    return said


def sane(found: dict) -> None:
    assert set(found["emotion"]) == set(EMOTIONS) and sum(found["emotion"].values()) == pytest.approx(1, abs=1e-4)
    assert set(found["intent"]) == set(EMOTIONS_AND_INTENTS) == set(found["labels"])
    assert found["expected"] in EMOTIONS_AND_INTENTS
    assert 0 <= found["polarity"] <= 1 and -1 <= found["sentiment"] <= 1
    for turn, first, last in found["cause_words"]:
        assert turn in found["causes"] and 0 <= first < last <= len(found["turns"][turn]["text"])


def test_the_view_shows_text_bars_and_the_reply_to_come(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(capsys, "I lost my job today.", "Oh no, what happened?", "They closed the shop.")
    assert "They closed the shop." in said and "listener" in said
    assert sum(emotion in said for emotion in EMOTIONS) >= 5
    assert "feels good" in said and "a listener" in said and "█" in said and "%" in said


def test_json_holds_everything(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "My son graduated!", "How lovely.", "He is the first of us.", "--json"))
    sane(found)
    assert [turn["speaker"] for turn in found["turns"]] == ["speaker", "listener", "speaker"]
    assert "reply" not in found


def test_a_given_reply_is_read_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("I lost my job today.", "--reply", "I am so sorry. What happened?")
    reply = json.loads(run(capsys, *arguments, "--json"))["reply"]
    assert reply["text"].startswith("I am so sorry") and set(reply["labels"]) == set(EMOTIONS_AND_INTENTS)
    assert set(reply["mechanisms"]) == set(MECHANISMS)
    assert all(
        sum(chances) == pytest.approx(1, abs=1e-4) and len(chances) == 3 for chances in reply["mechanisms"].values()
    )
    assert "the reply" in run(capsys, *arguments)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts_get_a_sane_answer(text: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "odd.txt").write_text(text, encoding="utf-8")
    sane(json.loads(run(capsys, "--file", "odd.txt", "--json")))
    assert "feels good" in run(capsys, "--file", "odd.txt")


def test_lines_come_back_in_order_and_one_by_one(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        "I lost my wallet.",
        {"id": "two", "messages": ["I won!", "What did you win?", "A goose."], "reply": "A goose! How wonderful."},
        {
            "id": 3,
            "turns": [{"speaker": "listener", "text": "Hello."}, {"speaker": "speaker", "text": "I feel alone."}],
        },
        *({"id": f"more {i}", "messages": ["so it goes " * (i % 7 + 1)]} for i in range(9)),
    ]
    lines = "\n\n".join(json.dumps(row) for row in rows)
    (here / "talks.jsonl").write_text(lines)
    found = [json.loads(line) for line in run(capsys, "--file", "talks.jsonl", "--json").splitlines()]
    for one in found:
        sane(one)
    assert [one.get("id") for one in found] == [None, "two", "3", *(f"more {i}" for i in range(9))]
    assert found[0]["turns"][-1]["text"] == "I lost my wallet." and found[1]["reply"]["text"].startswith("A goose")
    assert [turn["speaker"] for turn in found[2]["turns"]] == ["listener", "speaker"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    again = [json.loads(line) for line in run(capsys, "--jsonl", "--json").splitlines()]
    assert [one["emotion"] for one in again] == [one["emotion"] for one in found]


def test_one_message_from_standard_input(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"I lost \xff my job.")))
    assert "my job." in run(capsys)


@pytest.mark.parametrize(
    ("arguments", "content", "wanted"),
    [
        ((" ",), "", "the message is empty"),
        (("\u200b\u200e",), "", "the message is empty"),
        (("hi", "--reply", " "), "", "the reply is empty"),
        (("hi", "--file", "a.txt"), "hi", "messages or files, not both"),
        (("--file", "none.txt"), "", "no such file"),
        (("--file", "a.txt"), "\0", "the message is empty"),
        (("--file", "a.jsonl"), "", "a.jsonl is empty"),
        (("--file", "a.jsonl"), '"fine"\n"not', "a.jsonl, line 2"),
        (("--file", "a.jsonl"), '\n"fine"\n[1, 2]', "a.jsonl, line 3: neither a message nor a conversation"),
        (("--file", "a.jsonl"), '{"messages": []}', "line 1: neither a message nor a conversation"),
        (("--file", "a.jsonl"), '{"messages": ["a", 1]}', "line 1: neither a message nor a conversation"),
        (("--file", "a.jsonl"), '{"turns": [{"speaker": "x", "text": "a"}]}', "line 1: neither"),
        (("--file", "a.jsonl"), '"fine"\n" "', "a.jsonl, line 2: the message is empty"),
        (("--file", "a.jsonl"), '{"messages": ["a"], "reply": 3}', "line 1, column reply"),
    ],
)
def test_a_mistake_is_one_clear_line(
    arguments: tuple[str, ...], content: str, wanted: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.txt", "a.jsonl"):
        (here / name).write_text(content)
    assert wanted in failure(capsys, *arguments)


def test_missing_weights_say_so(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("empathia.core.places.shipped", lambda: here)
    assert "no perception weights" in failure(capsys, "hi")


WITHOUT_TORCH = """
import sys
from pathlib import Path

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "onnx"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, NoTorch())
import empathia.perception.perception as perception
perception.Perception.__init__.__defaults__ = (Path(sys.argv[1]), 1)
from empathia.cli import main
main(["perceive", "I lost my job today.", "--reply", "Oh no!", "--json"])
"""


def test_it_works_without_torch(weights: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(weights)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    sane(json.loads(done.stdout))


@pytest.mark.slow
def test_a_fresh_install_without_torch_answers(trained: Path, tmp_path: Path) -> None:
    """A new environment with the default dependencies only; the package index must be reachable."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", "--editable", ROOT]
    done = subprocess.run(install, capture_output=True, text=True, check=False, cwd=tmp_path)
    if done.returncode and "No matching distribution" in done.stderr + done.stdout:
        pytest.skip("the package index does not hold all dependencies")
    assert done.returncode == 0, done.stderr
    assert subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0
    command = [tmp_path / "venv" / "bin" / "empathia", "perceive", "I lost my job today.", "--json"]
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=plain)
    assert done.returncode == 0, done.stderr
    sane(json.loads(done.stdout))


@pytest.mark.parametrize("text", ["\u200b", "\0", "\u200b\u200d"], ids=ascii)
def test_the_library_answers_text_without_word_pieces(text):
    from empathia.core.types import Context
    from empathia.perception import load

    seen = load().contexts([Context.of(text)])[0]
    assert seen.causes == () and seen.cause_words == () and seen.emotion is not None
