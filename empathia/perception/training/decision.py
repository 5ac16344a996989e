"""Which one label to expect of a reply. The likeliest of 41 is a question nearly every time, because questions are
common; so log-probabilities are corrected by a part of the log-prior before one label is named (Menon et al. 2021). The
prior is the training split's, the part is what gives the best weighted F1 on the validation split.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from safetensors.numpy import save as serialised
from scipy.special import log_softmax

from ...core.files import atomic
from ...core.taxonomy import EMOTIONS_AND_INTENTS
from ...corpora import load
from ..encoder import Array
from ..perception import DECISION, Perception
from .calibrate import ROWS, logits
from .feeling import Feeling, silver
from .rows import UNSAID

PARTS = np.round(np.arange(0.0, 0.81, 0.05), 2)


def fit_decision(folder: Path, perception: Perception, say: Callable[[str], None]) -> None:
    """Add the correction to the folder's feeling.safetensors."""
    rows = [row for row in Feeling(perception.reader).held_out("valid") if row.labels["reply"] != UNSAID]
    rows = random.Random(1).sample(rows, min(2 * ROWS, len(rows)))
    found = logits(perception, "feeling", [row.tokens for row in rows])["reply"]
    chances = log_softmax(found / perception.calibration.get("reply", 1.0), axis=1)
    gold = np.array([row.labels["reply"] for row in rows])
    prior = log_prior()
    scores = [weighted_f1((chances - part * prior).argmax(1), gold) for part in PARTS]
    best = int(np.argmax(np.convolve(scores, [0.25, 0.5, 0.25], "same")[1:-1])) + 1
    gain = f"weighted F1 on validation {scores[best]:.4f}, plain {scores[0]:.4f}"
    say(f"decision: {PARTS[best]:.2f} of the prior; {gain}")
    path = folder / "feeling.safetensors"
    tensors = load_file(path) | {f"heads.{DECISION}": (-PARTS[best] * prior).astype(np.float16)}
    with atomic(path, "wb") as out:
        out.write(serialised(tensors))


def log_prior() -> Array:
    """Of the 41 labels among the listeners' turns of the training split."""
    labels = silver("train")
    said = Counter(
        labels[e.id]
        for dialogue in load("empathetic-dialogues", "train")
        for e in dialogue.examples()
        if e.id in labels
    )
    counts = np.array([said[name] + 1 for name in EMOTIONS_AND_INTENTS], np.float32)
    made: Array = np.log(counts / counts.sum())
    return made


def weighted_f1(guessed: np.ndarray, gold: np.ndarray) -> float:
    total = 0.0
    for label in np.unique(gold):
        hits = ((guessed == label) & (gold == label)).sum()
        total += (gold == label).mean() * 2 * hits / max(1, (guessed == label).sum() + (gold == label).sum())
    return float(total)
