"""How often a reply, or one of its sentences, was said in training: what everybody says fits everywhere.

Only hashes and counts are kept, so no text of the corpus ships.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from safetensors.numpy import save as serialised

from ..core.errors import BadFile
from ..core.files import atomic

FILE = "common.safetensors"
_SENTENCE = re.compile(r"[^.!?]+")
FEWEST = 3  # times a sentence must have been said to be counted


class Common:
    """log2(1 + how often) of a reply's commonest sentence, from 0."""

    def __init__(self, hashes: np.ndarray, counts: np.ndarray) -> None:
        self._count = dict(zip(hashes.tolist(), counts.tolist(), strict=True))

    @classmethod
    def load(cls, folder: Path) -> Common:
        path = folder / FILE
        if not path.exists():
            return cls(np.zeros(0, np.uint64), np.zeros(0, np.int32))
        try:
            tensors = load_file(path)
            return cls(tensors["hashes"].view(np.uint64), tensors["counts"])
        except Exception as error:  # safetensors' own error has no public base class
            raise BadFile(path, "not a whole table of common replies", hint="get a fresh copy of weights/") from error

    def __call__(self, reply: str) -> float:
        """Weighted by length: a stock sentence beside a long own one counts half as much."""
        parts = list(sentences(reply))
        words = [len(part.split()) for part in parts]
        said = [math.log2(1 + self._count.get(_hash(part), 0)) for part in parts]
        return sum(s * w for s, w in zip(said, words, strict=True)) / max(1, sum(words))


def sentences(text: str) -> Iterable[str]:
    for part in _SENTENCE.findall(text.lower()):
        words = re.findall(r"[a-z0-9']+", part)
        if words:
            yield " ".join(words)


def count(replies: Iterable[str], folder: Path) -> int:
    """Write the table for `replies`; how many sentences it holds."""
    often = Counter(part for reply in replies for part in sentences(reply))
    kept = sorted((_hash(part), n) for part, n in often.items() if n >= FEWEST)
    hashes, counts = np.array([h for h, _ in kept], np.uint64), np.array([n for _, n in kept], np.int32)
    with atomic(folder / FILE, "wb") as file:
        file.write(serialised({"hashes": hashes.view(np.int64), "counts": counts}))
    return len(kept)


def _hash(sentence: str) -> int:
    return int.from_bytes(hashlib.blake2b(sentence.encode(), digest_size=8).digest(), "little")
