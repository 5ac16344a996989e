"""What is written about a trained run: its replies, its scores, its pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from commands_terminal import answered, refused

from empathia.core.replies import read_replies
from empathia.training.prepare import read_examples
from empathia.training.recipe import Data

PNG = b"\x89PNG\r\n"


def test_generated_replies_stand_beside_gold_and_can_be_scored(trained_home):
    out = trained_home / "replies.jsonl"
    assert answered("generate", "mime", "--decoder", "greedy", "--out", out) == f"{out}\n"
    replies, examples = read_replies(out), read_examples(Data(), "test")
    assert [(r.id, r.context, r.gold, r.emotion) for r in replies] == [
        (e.id, e.context, e.gold.reply, e.gold.emotion) for e in examples
    ]
    assert {r.system for r in replies} == {"mime"}
    told = json.loads(answered("score", out, "--no-embeddings", "--json"))
    scores = {score["name"]: score["value"] for score in told["systems"]["mime"]}
    assert scores["length"] > 0 and "bleu_4" in scores


def test_batch_mates_change_no_reply(trained_home):
    alone, together = trained_home / "alone.jsonl", trained_home / "together.jsonl"
    for path, batch in ((alone, "1"), (together, "64")):
        answered("generate", "mime", "--decoder", "beam3", "--stochastic", "--batch", batch, "--out", path)
    assert alone.read_bytes() == together.read_bytes()


def test_replies_go_into_the_run_under_split_and_decoder(trained_home):
    path = trained_home / "runs" / "mime" / "replies-valid-beam5-block3-max50.jsonl"
    said = answered("generate", "mime", "--split", "valid", "--limit", "1", "--decoder", "beam5:block_ngrams=3")
    assert said == f"{path}\n" and len(read_replies(path)) == 1


def test_a_wrong_split_or_place_is_named(trained_home):
    assert "has no split 'tset'; did you mean 'test'?" in refused(2, "generate", "mime", "--split", "tset")
    assert "has no split 'tset'" in refused(2, "evaluate", "mime", "--split", "tset", "--no-embeddings")
    below_a_file = trained_home / "small.toml" / "replies.jsonl"
    assert f"cannot write {below_a_file}" in refused(1, "generate", "mime", "--out", below_a_file)
    assert "cannot write" in refused(1, "plot", "emotions", "mime", "--out", below_a_file)


def test_an_evaluation_prints_what_it_writes(trained_home):
    arguments = ("evaluate", "mime", "--no-embeddings", "--bootstrap", "10", "--json")
    told = json.loads(answered(*arguments, "--decoder", "greedy", "--decoder", "greedy:min_length=4"))
    run = trained_home / "runs" / "mime"
    assert told == json.loads((run / "scores.json").read_text())
    assert set(told["systems"]) == {"mime", "mime-greedy", "mime-greedy-min4-max50"}
    own = {score["name"]: score for score in told["systems"]["mime"]}
    assert 1 < own["perplexity"]["value"] < 200 and own["perplexity"]["low"] <= own["perplexity"]["high"]
    assert own["accuracy_top_1"]["value"] <= own["accuracy_top_5"]["value"] <= 100
    assert "split:test|n:4" in own["perplexity"]["signature"]
    replies = {score["name"]: score for score in told["systems"]["mime-greedy-min4-max50"]}
    assert replies["length"]["value"] >= 4 and "decoder:greedy-min4-max50" in replies["length"]["signature"]
    assert len(read_replies(run / "replies-test-greedy-max50.jsonl")) == 4
    for picture in ("scores.png", "confusion.png"):
        assert (run / picture).read_bytes().startswith(PNG)
    assert "perplexity" in (run / "scores.md").read_text() and "perplexity" in (run / "scores.tex").read_text()


def test_an_evaluation_reads_the_replies_empathy_where_asked(trained_home, monkeypatch):
    monkeypatch.setattr("empathia.core.places.shipped", lambda: Path(__file__).parents[2] / "weights")
    arguments = ("evaluate", "mime", "--no-embeddings", "--bootstrap", "0", "--decoder", "greedy", "--json")
    with_it = {score["name"] for score in json.loads(answered(*arguments, "--empathy"))["systems"]["mime-greedy"]}
    without = {score["name"] for score in json.loads(answered(*arguments))["systems"]["mime-greedy"]}
    assert {"exploration_f1", "interpretation_f1", "emotional_reaction_f1"} <= with_it - without


def test_runs_are_looked_for_before_anything_is_fetched_or_measured(trained_home):
    """Without --no-embeddings the sentence encoder would be fetched."""
    assert "no run 'moel'" in refused(3, "evaluate", "mime", "moel")
    assert not (trained_home / "cache").exists()
    assert not (trained_home / "runs" / "mime" / "scores.json").exists()


def test_emotions_are_drawn_where_a_model_has_them(trained_home):
    path = trained_home / "runs" / "mime" / "emotions.png"
    assert answered("plot", "emotions", "mime") == f"{path}\n"
    assert path.read_bytes().startswith(PNG)
    plain = ("--name", "plain", "--set", "model.name=transformer", "--set", "train.epochs=1")
    answered("train", trained_home / "small.toml", *plain)
    assert "'plain' (transformer) has no emotion vectors" in refused(2, "plot", "emotions", "plain")
