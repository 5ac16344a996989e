"""Learning rates by update."""

from __future__ import annotations

import math

from .recipe import Train


def rate(train: Train, update: int, updates: int, width: int) -> float:
    """The learning rate of update 1, 2, … `updates`.

    `noam` is Vaswani et al.'s, with `lr` as its factor; `cosine` falls to a twentieth of `lr`.
    """
    warm = max(train.warmup, 1)
    if train.schedule == "noam":
        return float(train.lr * width**-0.5 * min(update**-0.5, update * warm**-1.5))
    ramp = min(1.0, update / warm)
    if train.schedule == "constant":
        return train.lr * ramp
    done = min(1.0, max(0.0, update - warm) / max(1, updates - warm))
    return train.lr * ramp * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done)))
