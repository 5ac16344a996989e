from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from knowledge_toys import WordEncoder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("knowledge_benchmark", ROOT / "benchmarks" / "knowledge.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # dataclasses look there
        spec.loader.exec_module(module)
    return module


def test_only_unlearned_heads_are_asked_about(benchmark, tuples_here):
    asked = benchmark.questions(list(benchmark.tuples(["atomic", "conceptnet"])), 10)
    assert {(q.group, q.head, q.relation, q.right) for q in asked} == {
        ("affect", "personx quits personx's job", "xReact", ("free",)),
        ("affect", "personx can not pass personx's exam", "xReact", ("stuck",)),
        ("behaviour", "personx quits personx's job", "xWant", ("to travel",)),
        ("physical", "cat", "CapableOf", ("purr",)),
        ("physical", "dog", "HasProperty", ("loyal",)),
    }


def test_figures_are_what_one_counts_by_hand(benchmark):
    asked = [
        benchmark.Question("affect", "a", "xReact", ("very sad now", "upset")),
        benchmark.Question("affect", "b", "xReact", ("glad",)),
        benchmark.Question("affect", "c", "xReact", ("to rest",)),
        benchmark.Question("affect", "d", "xReact", ("tired",)),
    ]
    found = [["very sad today", "upset"], [], ["rest"], ["awake", "asleep"]]
    vectors = benchmark.embedded(WordEncoder(), [t for own in found for t in own] + [t for q in asked for t in q.right])
    got = benchmark.figures(asked, found, vectors)
    assert (got["exact_at_1"], got["exact_at_5"], got["answered"]) == (25, 50, 75)
    # words: 2 + 1 + 0 of 5 are right, pairs: 1 of 2; five words against 1 + 1 + 1 + 3 in the nearest right answers
    assert got["tail_bleu_2"] == pytest.approx(100 * np.sqrt(3 / 5 * 1 / 2) * np.exp(1 - 6 / 5), rel=1e-6)
    assert got["similarity_at_1"] == pytest.approx(100 * (2 / 3 + 0 + np.sqrt(1 / 2) + 0) / 4, rel=1e-3)
    assert got["similarity_at_5"] == pytest.approx(100 * (1 + 0 + np.sqrt(1 / 2) + 0) / 4, rel=1e-3)


def test_it_measures_the_store_beside_a_constant(benchmark, tuples_here, words_encoder, capsys, monkeypatch):
    monkeypatch.setattr(benchmark.board, "record_all", lambda *a, **k: pytest.fail("nothing was to be recorded"))
    benchmark.main(["--heads", "5"])
    shown = {line.split()[0]: float(line.split()[1]) for line in capsys.readouterr().out.splitlines() if "/" in line}
    assert shown["store/affect_answered"] == 100
    assert shown["store/physical_answered"] == 50  # nothing is learned about cats
    assert {"commonest/behaviour_tail_bleu_2", "store/question"} <= shown.keys()


def test_events_that_do_not_happen_can_be_asked_about_alone(benchmark, tuples_here, words_encoder, capsys):
    benchmark.main(["--denied", "--only", "store"])
    shown = capsys.readouterr().out
    assert "atomic-heldout|denied heads|questions:1|" in shown and "physical" not in shown
