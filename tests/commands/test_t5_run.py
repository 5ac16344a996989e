"""A fine-tuned T5 answers and is measured as every other run is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from commands_terminal import answered, empathia, refused

from empathia.core.replies import read_replies

RECIPE = Path(__file__).parents[2] / "recipes" / "t5-pt.toml"


@pytest.fixture
def run(tiny_t5, trained_home) -> Path:
    """`t5-pt`, beside the trained run `mime`."""
    small = ("--set", "train.epochs=2", "--set", "train.batch=5", "--set", "train.lr=3e-3", "--set", "train.warmup=2")
    out = answered("train", RECIPE, "--set", f"t5={tiny_t5}", *small, "--threads", "1")
    assert out == f"{trained_home / 'runs' / 't5-pt'}\n"
    return trained_home / "runs" / "t5-pt"


def test_it_answers_by_name_and_by_path_and_is_measured(run):
    told = json.loads(answered("reply", "I lost my job.", "--model", "t5-pt", "--decoder", "greedy", "--json"))
    assert told["candidates"][0]["scores"]["log_probability"] < 0
    assert answered("reply", "I lost my job.", "--model", run, "--decoder", "greedy") == told["text"] + "\n"
    said = empathia("chat", "--model", "t5-pt", "--decoder", "greedy", stdin=b"I lost my job.\n/quit\n")
    assert said.code == 0 and "t5-pt listens" in said.out

    out = run / "replies.jsonl"
    answered("generate", "t5-pt", "--decoder", "greedy", "--limit", "3", "--out", out)
    assert [reply.system for reply in read_replies(out)] == ["t5-pt"] * 3

    measured = ("evaluate", "t5-pt", "--decoder", "greedy", "--no-embeddings", "--bootstrap", "0", "--json")
    systems = json.loads(answered(*measured))["systems"]
    own = {score["name"]: score for score in systems["t5-pt"]}
    assert own["perplexity"]["value"] < own["perplexity_per_word"]["value"]  # a word is several pieces
    assert "vocabulary:t5-tiny-" in own["perplexity"]["signature"]
    assert "length" in {score["name"] for score in systems["t5-pt-greedy"]}

    assert "has no words to choose from; copy its folder" in refused_loudly("export", "t5-pt", run / "small")
    assert "'t5-pt' (t5) has no emotion vectors" in refused_loudly("plot", "emotions", "t5-pt")


def refused_loudly(*arguments: str | Path) -> str:
    """As `refused`, for a command that first loads a T5: transformers counts its weights on standard error."""
    said = empathia(*arguments)
    assert said.code == 2, said
    return said.err.splitlines()[-1]


def test_a_missing_t5_is_one_line_that_teaches(trained_home):
    told = refused(3, "train", RECIPE, "--set", "t5=gone")
    assert "no such file: gone/config.json; 't5' names a folder that transformers saved" in told
    assert "--set t5=path/to/t5-small" in told and not (trained_home / "runs" / "t5-pt").exists()
