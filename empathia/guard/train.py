"""Train the guard's linear classifier; a minute or two, and the same weights every time.

    python -m empathia.guard.train [--into weights.toml]

The sentences in `training/` (hand-written, with the package) are the dangers and the ordinary ones that stand near.
What ordinary talk is like at large comes from turns of EmpatheticDialogues' *train* split under EMPATHIA_DATA, all
taken as harmless; its text is not in the package. Other turns of the same split set the thresholds.

Logistic regression with a squared penalty, by L-BFGS. The danger reader has its own command, train_reader.py.
"""

from __future__ import annotations

import argparse
import random
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.files import atomic, existing
from ..core.places import data
from .classifier import BUCKETS, CATEGORY_BUCKETS, HERE, WEIGHTS, Classifier, features, pack, pieces
from .normalise import plain
from .rules import rules
from .types import CATEGORIES, Thresholds

SEED, TURNS, HELD_OUT = 3, 9_000, 4_000
#: how much a sentence of danger, and one that stands near, weighs against a turn of ordinary talk
CRISIS_WEIGHT, NEAR_WEIGHT = 4.0, 2.0
PENALTY = 0.1
#: shares of ordinary turns that may sound dangerous to the classifier: at first, and once the guard is alert
ALARMS, ALERT_ALARMS = 0.011, 0.03


def written(folder: Path = HERE / "training") -> tuple[list[str], list[int], list[str]]:
    """The hand-written sentences as plain text: dangers, the places of their categories, and ordinary ones."""
    dangers: list[str] = []
    kinds: list[int] = []
    ordinary: list[str] = []
    for path in sorted(folder.glob("*.toml")):
        for name, block in tomllib.loads(path.read_text(encoding="utf-8")).items():
            for text in map(plain, block.strip().splitlines()):
                if (name in CATEGORIES or name == "other") and not path.stem.startswith("near"):
                    dangers.append(text)
                    kinds.append(_kind(name, text))
                else:
                    ordinary.append(text)
    return dangers, kinds, ordinary


def _kind(name: str, text: str) -> int:
    """`other` holds dangers of every category: the rules' opinion, else suicide."""
    if name != "other":
        return [*CATEGORIES].index(name)  # type: ignore[arg-type]
    sign = rules().sign(text)
    return CATEGORIES.index(sign.category if sign else "suicide")


def turns(first: int, count: int) -> list[str]:
    """Training turns of EmpatheticDialogues as plain text, some of a random order that is always the same: first come
    those to learn from, then those held out, then those for the danger reader."""
    path = data() / "empatheticdialogues" / "train.csv"
    lines = existing(path, "get it with: empathia data get empathetic-dialogues").read_text("utf-8").splitlines()[1:]
    said = sorted({line.split(",")[5].replace("_comma_", ",") for line in lines if line.count(",") >= 7})
    random.Random(SEED).shuffle(said)
    return [plain(text) for text in said[first : first + count]]


def fit(rows: Any, is_danger: np.ndarray, weight: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression of `is_danger` (0 or 1) on `rows` (a matrix, dense or sparse)."""
    from scipy.optimize import minimize

    sign = 2 * is_danger - 1
    columns = rows.T.tocsr() if hasattr(rows, "tocsr") else rows.T

    def loss(found: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (rows @ found[:-1] + found[-1])
        pull = -weight * sign / (1 + np.exp(np.clip(margin, -50, 50)))
        slope = np.append(columns @ pull + penalty * found[:-1], pull.sum())
        return float((weight * np.logaddexp(0, -margin)).sum() + penalty * (found[:-1] ** 2).sum() / 2), slope

    start = np.zeros(rows.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return found[:-1], float(found[-1])


def hashed(texts: Sequence[str], buckets: int) -> Any:
    """Sparse rows of the texts' features, each of length one."""
    from scipy.sparse import csr_matrix

    seen = [np.unique(features(text) % buckets) for text in texts]
    values = np.concatenate([np.full(len(s), len(s) ** -0.5) for s in seen])
    starts = np.cumsum([0, *map(len, seen)])
    return csr_matrix((values, np.concatenate(seen), starts), shape=(len(texts), buckets))


def held_out() -> list[str]:
    """Ordinary turns that nothing was learned from; they set the thresholds."""
    return turns(TURNS, HELD_OUT)


def train() -> Classifier:
    dangers, kinds, near = written()
    ordinary = [piece for text in turns(0, TURNS) for piece in pieces(text)]
    texts = [*dangers, *near, *ordinary]
    counts = (len(dangers), len(near), len(ordinary))
    is_danger = np.repeat([1.0, 0.0, 0.0], counts)
    weight = np.repeat([CRISIS_WEIGHT, NEAR_WEIGHT, 1.0], counts)
    danger_F, bias = fit(hashed(texts, BUCKETS), is_danger, weight, PENALTY)
    rows = hashed(dangers, CATEGORY_BUCKETS)
    even = np.ones(len(dangers))
    category_CG = np.stack([fit(rows, np.array(kinds) == c, even, PENALTY)[0] for c in range(len(CATEGORIES))])
    made = Classifier(danger_F, category_CG, bias, Thresholds(0.0, 0.0))
    left = [rules().unsettled(text) for text in held_out() if rules().sign(text) is None]
    return replace(made, thresholds=thresholds([made.guess(text).score for text in left], ALARMS, ALERT_ALARMS))


def thresholds(ordinary_scores: Sequence[float] | np.ndarray, alarms: float, alert_alarms: float) -> Thresholds:
    """The scores that these shares of ordinary turns pass."""
    first, alert = np.quantile(ordinary_scores, [1 - alarms, 1 - alert_alarms])
    return Thresholds(round(float(first), 4), round(float(alert), 4))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m empathia.guard.train")
    parser.add_argument("--into", type=Path, default=WEIGHTS, help="where the weights go")
    options = parser.parse_args(argv)
    made = train()
    with atomic(options.into) as out:
        out.write(pack(made))
    print(f"{options.into.name}: {options.into.stat().st_size:,} bytes; {made.thresholds}")


if __name__ == "__main__":
    main()
