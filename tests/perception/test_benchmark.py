"""What benchmarks/perception.py adds to what it measures: pictures, the card, the page's tables."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from empathia.core.types import Score
from empathia.evaluation import board

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    place = importlib.util.spec_from_file_location("perception_benchmark", ROOT / "benchmarks" / "perception.py")
    module = importlib.util.module_from_spec(place)
    sys.modules[place.name] = module  # dataclasses look their module up
    place.loader.exec_module(module)
    return module


def test_auc(benchmark: ModuleType) -> None:
    shown = np.array([True, False, True, False])
    assert benchmark.auc(np.array([4.0, 1.0, 3.0, 2.0]), shown) == 1
    assert benchmark.auc(np.array([1.0, 3.0, 4.0, 2.0]), shown) == 0.5
    assert benchmark.auc(np.ones(4), shown) == 0.5


def test_every_class_goes_into_the_card(benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")  # the card stands beside training
    monkeypatch.setattr(benchmark, "PICTURES", tmp_path)
    options = SimpleNamespace(write=True, perception=SimpleNamespace(folder=tmp_path))
    benchmark.keep(options, "mood", ["a", "a", "b"], ["a", "b", "b"], ["a", "b"], "mood.png")
    benchmark.keep(options, "other", ["a"], ["a"], ["a"])
    classes = json.loads((tmp_path / "classes.json").read_text())
    assert classes["mood"]["a"] == {"precision": 1.0, "recall": 0.5, "f1": 0.6667, "n": 2} and "other" in classes
    assert "## Test: mood" in (tmp_path / "card.md").read_text()
    assert (tmp_path / "mood.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_shows_the_board_of_these_weights_only(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "benchmarks").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(benchmark, "PAGE", tmp_path / "page.md")
    (tmp_path / "page.md").write_text(f"# Page\n\n{benchmark.BEGIN}\nold\n{benchmark.END}\n\nafter\n")
    signatures = ("split:test|weights:new", "split:test|weights:old", "first:9|split:test|weights:new")
    for value, signature in zip((51.5, 40.0, 99.0), signatures, strict=True):
        board.record_scores("perception", "perception", [Score("emotion_top_1", value, signature)])
    board.record_scores("perception", "perception-fp32", [Score("emotion_top_1", 51.75, signatures[0])])
    board.record_scores("perception", "perception", [Score("dialogue", 31.0, "threads:1|unit:ms")])
    benchmark.write_table("new")
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("# Page\n") and page.endswith("\nafter\n") and "old" not in page
    assert "| 49 | 58 | **51.50** | 51.75 |" in page and "31.00" in page
    assert "40.0" not in page and "99.0" not in page
