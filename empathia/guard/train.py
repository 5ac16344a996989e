"""Train the guard's classifier: `python -m empathia.guard.train`; half a minute, and the same weights every time.

The sentences in `training/` (hand-written, with the package) are the dangers and the hard ordinary ones. What ordinary
talk is like at large comes from turns of EmpatheticDialogues' *train* split under EMPATHIA_DATA, all taken as
harmless; its text is not in the package, and `--alone` does without it (docs/guard.md says what that costs).

Softmax regression in numpy, one example at a time, each weight with its own step (AdaGrad).
"""

from __future__ import annotations

import argparse
import random
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..core.files import atomic, existing
from ..core.places import data
from .classifier import BUCKETS, CLASSES, HERE, WEIGHTS, Classifier, features, pack, pieces
from .normalise import plain
from .rules import rules

ROUNDS, RATE, SEED, TURNS = 4, 0.3, 3, 4_000
#: how much a sentence of danger weighs against an ordinary one
CRISIS_WEIGHT = 8.0

Row = tuple[np.ndarray, int]  # features, place in CLASSES


def written(folder: Path = HERE / "training") -> list[Row]:
    """The hand-written sentences."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        for name, block in tomllib.loads(path.read_text(encoding="utf-8")).items():
            for line in block.strip().splitlines():
                text = plain(line)
                found.append((features(text), _kind(name, text)))
    return found


def _kind(name: str, text: str) -> int:
    """`other` holds dangers of every category: the rules' opinion, else suicide."""
    if name == "other":
        sign = rules().sign(text)
        return CLASSES.index(sign.category if sign else "suicide")
    return CLASSES.index(name) if name in CLASSES else 0


def ordinary(path: Path | None = None, turns: int = TURNS) -> list[Row]:
    """Sentences of random training turns of EmpatheticDialogues, all of them taken as harmless."""
    path = path or data() / "empatheticdialogues" / "train.csv"
    lines = existing(path, "get it with: empathia data get empathetic-dialogues").read_text("utf-8").splitlines()[1:]
    said = [line.split(",")[5].replace("_comma_", ",") for line in lines if line.count(",") >= 7]
    random.Random(SEED).shuffle(said)
    return [(features(piece), 0) for text in said[:turns] for piece in pieces(plain(text))]


def fit(rows: Sequence[Row], rounds: int = ROUNDS) -> Classifier:
    """Weights that tell the classes of `rows` apart."""
    weights_CF = np.zeros((len(CLASSES), BUCKETS), dtype=np.float32)
    squares_CF = np.full_like(weights_CF, 1e-2)
    bias_C, bias_squares_C = np.zeros(len(CLASSES), dtype=np.float32), np.ones(len(CLASSES), dtype=np.float32)
    draw = np.random.default_rng(SEED)
    for _ in range(rounds):
        for place in draw.permutation(len(rows)):
            seen, kind = rows[place]
            if not len(seen):
                continue
            share = 1 / np.sqrt(len(seen))
            logit_C = weights_CF[:, seen].sum(axis=1) * share + bias_C
            slope_C = np.exp(logit_C - logit_C.max())
            slope_C /= slope_C.sum()
            slope_C[kind] -= 1
            if abs(slope_C[kind]) < 1e-3:
                continue
            slope_C *= CRISIS_WEIGHT if kind else 1.0
            step_C1 = (slope_C * share)[:, None]
            squares_CF[:, seen] += step_C1**2
            weights_CF[:, seen] -= RATE * step_C1 / np.sqrt(squares_CF[:, seen])
            bias_squares_C += slope_C**2
            bias_C -= RATE * slope_C / np.sqrt(bias_squares_C)
    return Classifier(weights_CF, bias_C)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m empathia.guard.train")
    parser.add_argument("--alone", action="store_true", help="hand-written sentences only, no corpus")
    parser.add_argument("--into", type=Path, default=WEIGHTS, help="where the weights go")
    options = parser.parse_args(argv)
    rows = written() + ([] if options.alone else ordinary())
    made = fit(rows)
    with atomic(options.into) as out:
        out.write(pack(made.weights_CF, made.bias_C))
    print(f"{len(rows)} sentences; {options.into.name}: {options.into.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
