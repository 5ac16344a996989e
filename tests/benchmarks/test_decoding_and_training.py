"""The speed benchmark runs, for every system there is and for a trained run."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch")

import torch

from empathia import models

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "decoding_and_training", ROOT / "benchmarks" / "decoding_and_training.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # dataclasses look there
        spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def as_many_threads_afterwards():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_every_system_and_a_run_are_timed_but_nothing_is_recorded(benchmark, trained_home, monkeypatch, capsys):
    monkeypatch.setattr(benchmark.board, "record", lambda *a, **k: pytest.fail("a quick run must not be recorded"))
    benchmark.main(["--quick", "--threads", "1", "--repeats", "1", "--run", "mime", "--json"])
    rows = json.loads(capsys.readouterr().out)
    metrics = ("training_step", "training_step_full_softmax", "greedy_5_steps", "beam5_5_steps")
    expected = {f"{name}/{metric}" for name in models.names() for metric in metrics}
    assert {row["name"] for row in rows} == expected | {"mime/greedy_answers", "mime/beam5_answers"}
    for row in rows:
        assert row["ratio"] > 0 and row["milliseconds"] > 0
        assert "|threads:1|cores:" in row["signature"] and "torch:" in row["signature"]


def test_quick_figures_cannot_be_recorded(benchmark, capsys):
    with pytest.raises(SystemExit):
        benchmark.main(["--quick", "--record"])
    assert "nothing worth recording" in capsys.readouterr().err


def test_recording_puts_each_ratio_on_the_board_with_its_conditions(benchmark, monkeypatch, capsys):
    figure = benchmark.Figure("mime/training_step", 0.25, 150.0, "batch:16|threads:2")
    recorded = []
    monkeypatch.setattr(benchmark, "_measured", lambda *given: iter([figure]))
    monkeypatch.setattr(benchmark.board, "record", lambda *given, **where: recorded.append((given, where)))
    benchmark.main(["--record"])
    given = ("speed", "mime/training_step", 0.25, benchmark.UNIT, "batch:16|threads:2")
    assert recorded == [(given, {"folder": ROOT})]
    shown = capsys.readouterr().out
    assert "0.2500" in shown and "≤ 0.19" in shown and "0.95" in shown


def test_ratios_are_of_medians(benchmark, monkeypatch):
    """Matmuls of 2, 4 and 30 seconds, work of 1, 10 and 2 seconds on two samples: 1 / 4."""
    seconds = iter([2, 1, 4, 10, 30, 2])
    monkeypatch.setattr(benchmark, "_seconds", lambda work: next(seconds))
    figure = benchmark.Clock(4, 3, "threads:1").figure("toy/step", lambda: None, 2, "batch:2")
    assert figure == benchmark.Figure("toy/step", 0.25, 1000.0, "batch:2|threads:1")


def test_synthetic_texts_are_like_the_corpus(benchmark):
    rows = benchmark.examples(1500, 23_295, seed=0)
    contexts, replies = [len(e.words) for e in rows], [len(e.reply) for e in rows]
    assert 38 < sum(contexts) / len(rows) < 44 and max(contexts) == 150
    assert 14 < sum(replies) / len(rows) < 17
    said = [word for e in rows for word in e.reply]
    assert 0.06 < sum(word >= 1024 for word in said) / len(said) < 0.1
    assert all(len(e.words) == len(e.speakers) and e.reply[-1] == 2 for e in rows)
