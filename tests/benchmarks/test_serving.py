"""The serving benchmark runs against a real server, and short runs are not recorded."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("serving_benchmark", ROOT / "benchmarks" / "serving.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # dataclasses look there
        spec.loader.exec_module(module)
    return module


def test_every_figure_is_measured_but_nothing_recorded(benchmark, trained_home, monkeypatch, capsys):
    monkeypatch.setattr(benchmark.board, "record_all", lambda *a, **k: pytest.fail("a short run must not be recorded"))
    monkeypatch.setattr(benchmark, "USERS", (1, 4))
    benchmark.main(["--model", "mime", "--seconds", "1", "--minutes", "0.05"])
    shown = {line.split()[0]: float(line.split()[1]) for line in capsys.readouterr().out.splitlines()}
    assert shown["serving/1_users_p50"] > 0 and shown["serving/4_users_throughput"] > 0
    assert shown["serving/4_users_p95"] >= shown["serving/4_users_p50"]
    assert shown["serving/overload_other_answers"] == 0 and shown["serving/overload_refusal_p50"] > 0
    assert shown["serving/overload_memory_before"] > 20 and shown["serving/overload_recovery"] > 0


def test_short_runs_cannot_be_recorded(benchmark, capsys):
    with pytest.raises(SystemExit):
        benchmark.main(["--minutes", "1", "--record"])
    assert "nothing worth recording" in capsys.readouterr().err


def test_signatures_leave_out_what_differs_from_run_to_run(benchmark):
    assert benchmark._lasting("users:4|replies:99|model:mime|parallel:1") == "users:4|model:mime|parallel:1"
