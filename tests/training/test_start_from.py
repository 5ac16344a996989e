"""Beginning with another run's weights: pre-train on one corpus, go on with another, cut and resumed on the way."""

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from empathia.core.errors import BadFile, MissingFile  # noqa: E402
from empathia.training.prepare import build_vocabulary  # noqa: E402
from empathia.training.recipe import Data, Recipe  # noqa: E402
from empathia.training.run import open_run  # noqa: E402
from empathia.training.session import train  # noqa: E402

BLOCKS = {"width": 16, "heads": 2, "depth": 8, "hidden": 16, "layers": 1, "dropout": 0.0, "embedding_dropout": 0.0}


def recipe(corpus="empathetic-dialogues", start="", epochs=1, **model):
    other = {"empathetic-dialogues": "dailydialog", "dailydialog": "empathetic-dialogues"}[corpus]
    return Recipe.of(
        {
            "model": {"name": "meed2", "blocks": BLOCKS, **model},
            "data": {"corpus": corpus, "vectors": "none", "words_of": [other]},
            "train": {"epochs": epochs, "batch": 4, "patience": 99, "save_every": 2, "start_from": start, "lr": 1e-9},
        }
    )


@pytest.fixture
def corpora(home, tmp_path, monkeypatch):
    """The hand-written corpus, and a small DailyDialog beside it."""
    import os
    from pathlib import Path

    data = tmp_path / "data"
    daily = data / "dailydialog"
    daily.mkdir(parents=True)
    (data / "empatheticdialogues").symlink_to(Path(os.environ["EMPATHIA_DATA"]) / "empatheticdialogues")
    talks = [
        "Shall we paddle ? __eou__ The canoe leaks . __eou__",
        "Late ? __eou__ Quite . __eou__ Bye . __eou__",
    ]
    for split in ("train", "validation", "test"):
        (daily / f"dialogues_{split}.txt").write_text("\n".join(talks) + "\n")
        for kind, number in (("act", "1"), ("emotion", "0")):
            rows = [" ".join([number] * talk.count("__eou__")) for talk in talks]
            (daily / f"dialogues_{kind}_{split}.txt").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("EMPATHIA_DATA", str(data))
    return home / "runs"


def test_runs_on_two_corpora_can_share_one_vocabulary(corpora):
    alone = build_vocabulary(Data())
    both = build_vocabulary(Data(words_of=("dailydialog",)))
    assert "canoe" not in alone and "canoe" in both
    assert both.words == build_vocabulary(Data(corpus="dailydialog", words_of=("empathetic-dialogues",))).words


def test_a_run_begins_with_another_runs_weights_and_goes_on_after_a_cut(corpora):
    train(recipe("dailydialog"), corpora / "first")
    second = recipe(start="first", epochs=2)
    train(second, corpora / "second", stop_at=1)
    first, begun = load_file(corpora / "first" / "model.safetensors"), corpora / "second" / "checkpoint.safetensors"
    after = {n.removeprefix("model."): t for n, t in load_file(begun).items() if n.startswith("model.")}
    assert all(torch.allclose(first[name], after[name], atol=1e-6) for name in first)  # at a rate of next to nothing
    train(second, corpora / "second")
    run = open_run("second")
    assert "|epochs:2|" in run.conditions
    assert run.vocabulary.words == open_run("first").vocabulary.words
    assert "from:first" in run.conditions
    assert "all weights from run 'first'" in (corpora / "second" / "card.md").read_text()


def test_figures_of_a_run_that_was_stopped_say_so(corpora):
    """An epoch is one update here. Stopped after the second, before it is validated: the weights are the first's."""
    long = recipe("dailydialog", epochs=2)
    train(long, corpora / "cut", stop_at=2)
    assert "|epochs:1-of-2|" in open_run("cut").conditions
    train(long, corpora / "cut")
    assert "|epochs:2|" in open_run("cut").conditions
    (corpora / "cut" / "checkpoint.safetensors").write_bytes(b"cut off by a full disk")
    assert "|epochs:unknown-of-2|" in open_run("cut").conditions  # and it still answers


def test_a_start_that_is_not_there_or_does_not_fit_is_one_clear_line(corpora):
    with pytest.raises(MissingFile, match="nowhere"):
        train(recipe(start="nowhere"), corpora / "lost")
    train(recipe("dailydialog"), corpora / "first")
    with pytest.raises(BadFile, match="does not fit"):
        train(recipe(start="first", labels=False), corpora / "other")
