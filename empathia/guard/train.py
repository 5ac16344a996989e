"""Train the guard's classifier; some minutes, and the same weights every time.

    python -m empathia.guard.train [--encoder empathia.text.sentence_encoder:load]

The sentences in `training/` (hand-written, with the package) are the dangers and the ordinary ones that stand near.
What ordinary talk is like at large comes from turns of EmpatheticDialogues' *train* split under EMPATHIA_DATA, all
taken as harmless; its text is not in the package. Other turns of the same split set the thresholds: the score that
about one in a hundred of them passes. `--encoder` names a function that gives an encoder, to learn from its vectors
too.

Logistic regression with a squared penalty, by L-BFGS.
"""

from __future__ import annotations

import argparse
import importlib
import random
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.files import atomic, existing
from ..core.places import data
from .classifier import (
    BUCKETS,
    CATEGORY_BUCKETS,
    HERE,
    WEIGHTS,
    Classifier,
    Encoder,
    Thresholds,
    features,
    pack,
    pieces,
    written_out,
)
from .normalise import plain
from .rules import rules
from .types import CATEGORIES

SEED, TURNS, HELD_OUT = 3, 9_000, 4_000
#: turns that the encoder reads: it is slow
ENCODED_TURNS = 5_000
#: how much a sentence of danger, and one that stands near, weighs against a turn of ordinary talk
CRISIS_WEIGHT, NEAR_WEIGHT = 8.0, 3.0
ENCODED_CRISIS_WEIGHT, ENCODED_NEAR_WEIGHT = 4.0, 2.0
PENALTY, ENCODED_PENALTY = 0.1, 1.0
#: the vector's share of the common score, chosen on the second and third test sets
MEANING_SHARE = 0.8
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
                if name in CATEGORIES or name == "other":
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


def turns(path: Path | None = None) -> list[str]:
    """Random training turns of EmpatheticDialogues as plain text: first those to learn from, then those held out."""
    path = path or data() / "empatheticdialogues" / "train.csv"
    lines = existing(path, "get it with: empathia data get empathetic-dialogues").read_text("utf-8").splitlines()[1:]
    said = sorted({line.split(",")[5].replace("_comma_", ",") for line in lines if line.count(",") >= 7})
    random.Random(SEED).shuffle(said)
    return [plain(text) for text in said[: TURNS + HELD_OUT]]


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


def train(encoder: Encoder | None = None) -> Classifier:
    dangers, kinds, near = written()
    talk = turns()
    learned, held_out = talk[:TURNS], [rules().unsettled(text) for text in talk[TURNS:] if rules().sign(text) is None]
    ordinary = [piece for text in learned for piece in pieces(text)]
    texts = [*dangers, *near, *ordinary]
    is_danger = np.r_[np.ones(len(dangers)), np.zeros(len(near) + len(ordinary))]
    counts = (len(dangers), len(near), len(ordinary))
    weight = np.repeat([CRISIS_WEIGHT, NEAR_WEIGHT, 1.0], counts)
    danger_F, bias = fit(hashed(texts, BUCKETS), is_danger, weight, PENALTY)
    rows = hashed(dangers, CATEGORY_BUCKETS)
    even = np.ones(len(dangers))
    category_CG = np.stack([fit(rows, np.array(kinds) == c, even, PENALTY)[0] for c in range(len(CATEGORIES))])
    made = Classifier(danger_F, category_CG, bias, Thresholds(0.0, 0.0))
    alone = _thresholds([made.guess(text).score for text in held_out])
    if encoder is None:
        return Classifier(danger_F, category_CG, bias, alone)

    def encoded(texts: Sequence[str]) -> np.ndarray:
        return np.asarray(encoder([written_out(text) for text in texts]), dtype=np.float32)

    counts = (len(dangers), len(near), ENCODED_TURNS)
    vectors = encoded([*dangers, *near, *learned[:ENCODED_TURNS]])
    is_danger = np.repeat([1.0, 0.0, 0.0], counts)
    weight = np.repeat([ENCODED_CRISIS_WEIGHT, ENCODED_NEAR_WEIGHT, 1.0], counts)
    meaning_D, meaning_bias = fit(vectors, is_danger, weight, ENCODED_PENALTY)
    meaning_D, meaning_bias = MEANING_SHARE * meaning_D, MEANING_SHARE * meaning_bias
    scores = [made.guess(text).score for text in held_out] + encoded(held_out) @ meaning_D + meaning_bias
    return Classifier(danger_F, category_CG, bias, alone, meaning_D, meaning_bias, _thresholds(scores))


def _thresholds(ordinary_scores: Sequence[float] | np.ndarray) -> Thresholds:
    first, alert = np.quantile(ordinary_scores, [1 - ALARMS, 1 - ALERT_ALARMS])
    return Thresholds(float(first), float(alert))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m empathia.guard.train")
    parser.add_argument("--encoder", metavar="MODULE:FUNCTION", help="learn from an encoder's vectors too")
    parser.add_argument("--into", type=Path, default=WEIGHTS, help="where the weights go")
    options = parser.parse_args(argv)
    encoder = None
    if options.encoder:
        module, _, function = options.encoder.partition(":")
        encoder = getattr(importlib.import_module(module), function)()
    made = train(encoder)
    with atomic(options.into) as out:
        out.write(pack(made))
    print(f"{options.into.name}: {options.into.stat().st_size:,} bytes; alone {made.alone}, together {made.together}")


if __name__ == "__main__":
    main()
