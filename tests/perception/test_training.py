"""What follows training: temperatures, thresholds, the heads that foresee, the recipes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from empathia.cli import main
from empathia.core import config
from empathia.perception.training.calibrate import GRID, best, f1_of_sets, temperature
from empathia.perception.training.card import write_card
from empathia.perception.training.plan import nll, softmax_regression
from empathia.perception.training.questions import QUESTIONS
from empathia.perception.training.recipe import Recipe
from empathia.perception.training.rows import UNSAID

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes" / "perception").glob("*.toml"))


def test_the_temperature_of_overconfident_logits_is_found() -> None:
    draw = np.random.default_rng(1)
    logits = draw.normal(size=(20_000, 5)).astype(np.float32) * 2
    gold = (logits + draw.gumbel(size=logits.shape)).argmax(1)  # drawn from softmax(logits)
    gold[:100] = UNSAID
    assert temperature(3 * logits, gold) == pytest.approx(3, rel=0.05)
    yes = (draw.random(20_000) < 1 / (1 + np.exp(-logits[:, 0]))).astype(int)
    assert temperature(0.5 * logits[:, :1], yes) == pytest.approx(0.5, rel=0.1)


def test_the_best_threshold_is_where_its_neighbours_are_good_too() -> None:
    def score(at: float) -> float:
        return 1.0 if at == 0.26 else 0.8 - abs(at - 0.6)  # a lucky spike, and a broad hill

    assert best(score) == pytest.approx(0.6, abs=0.021)
    assert GRID[0] < best(lambda at: 1 - abs(at - 0.4)) < GRID[-1]


def test_f1_of_sets() -> None:
    assert f1_of_sets([{1, 2}, set()], [{2}, {0}]) == pytest.approx(0.5)
    assert f1_of_sets([set()], [set()]) == 0


def test_softmax_regression_learns_soft_targets() -> None:
    draw = np.random.default_rng(2)
    inputs, true = draw.normal(size=(3000, 4)), draw.normal(size=(3, 5))
    logits = inputs @ true[:, :-1].T + true[:, -1]
    targets = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    found = softmax_regression(inputs, targets, 1e-6)
    guess = inputs @ found[:, :-1].T + found[:, -1]
    entropy = nll(np.log(targets), targets)
    assert nll(guess, targets) == pytest.approx(entropy, abs=1e-3)
    shrunk = softmax_regression(inputs, targets, 10.0)
    assert np.abs(shrunk[:, :-1]).max() < np.abs(found[:, :-1]).max() / 5


def test_the_card_names_data_licence_calibration_and_classes(tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text('{"emotion": 1.25}')
    (tmp_path / "classes.json").write_text(
        '{"emotion of the context": {"afraid": {"precision": 0.5, "recall": 0.25, "f1": 0.3333, "n": 12}}}'
    )
    write_card(tmp_path)
    card = (tmp_path / "card.md").read_text()
    assert "CC BY-NC 4.0" in card and "| `emotion` | 1.250 |" in card
    assert "| afraid | 50.0 | 25.0 | 33.3 | 12 |" in card and "## Limits" in card and "## Licence" in card


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_every_recipe_is_of_a_question(path: Path) -> None:
    recipe = config.build(Recipe, tomllib.loads(path.read_text()))
    assert recipe.question == path.stem and recipe.question in QUESTIONS


def test_there_is_a_recipe_for_every_question() -> None:
    assert {path.stem for path in RECIPES} == set(QUESTIONS)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ('question = "feelings"', "no question 'feelings'; did you mean 'feeling'?"),
        ('question = "cause"\n[train]\nlearning = 1', "unknown key 'train.learning'"),
        ('question = "cause"\n[train]\nepochs = "three"', "'train.epochs' must be a whole number"),
    ],
)
def test_a_wrong_recipe_is_one_line(
    content: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    (tmp_path / "r.toml").write_text(content)
    with pytest.raises(SystemExit):
        main(["train", str(tmp_path / "r.toml"), "--threads", "1"])
    said = capsys.readouterr().err
    assert wanted in said and said.count("\n") == 1
