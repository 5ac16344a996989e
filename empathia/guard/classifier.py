"""A small linear classifier for what is said indirectly: hashed words and concepts, one row of weights a category.

Its features are words, neighbouring words, and pairs of *concepts* (`concepts.toml`) that stand near each other: then
«handing my records to my mate» teaches something about «gave her jewellery to a friend». No learned embedding, no
model file: hashes into one table of small integers.
"""

from __future__ import annotations

import base64
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..core.errors import BadFile
from .normalise import sentences
from .types import CATEGORIES, Category

HERE = Path(__file__).parent
WEIGHTS = HERE / "weights.toml"
BUCKETS = 1 << 15
#: the classes, the harmless one first
CLASSES: tuple[str, ...] = ("none", *CATEGORIES)
_NEAR = 5  # concepts pair up over so many places
_FEWEST = 4  # words that a sentence must have to mean something by itself
_LONGEST = 60  # words of a sentence that are read; more is cut into pieces


@dataclass(frozen=True, slots=True)
class Guess:
    """How much a text sounds like each category: `danger` is all but the harmless class together."""

    danger: float
    category: Category


class Classifier:
    def __init__(self, weights_CF: np.ndarray, bias_C: np.ndarray) -> None:
        self.weights_CF, self.bias_C = weights_CF, bias_C

    def guess(self, text: str) -> Guess:
        """The most dangerous of a plain text's sentences and of each two that follow one another."""
        best = Guess(0.0, "suicide")
        for piece in pieces(text):
            found = self._guess(piece)
            if found.danger > best.danger:
                best = found
        return best

    def _guess(self, piece: str) -> Guess:
        seen = features(piece)
        if len(piece.split()) < _FEWEST:
            return Guess(0.0, "suicide")
        logit_C = self.weights_CF[:, seen].sum(axis=1) / np.sqrt(len(seen)) + self.bias_C
        odds_C = np.exp(logit_C - logit_C.max())
        chance_C = odds_C / odds_C.sum()
        return Guess(float(1 - chance_C[0]), CATEGORIES[int(chance_C[1:].argmax())])


def features(text: str) -> np.ndarray:
    """The buckets of a plain sentence: words, neighbours, and pairs of near concepts in their order."""
    words = [word for word in text.split() if word not in (".", ",")]
    meant = [concept(word) for word in words]
    found = {f"w {word}" for word in words} | {f"b {a} {b}" for a, b in pairwise(meant)}
    for place, name in enumerate(meant):
        if name.isupper():
            found.add(f"c {name}")
            found |= {f"p {name} {other}" for other in meant[place + 1 : place + 1 + _NEAR] if other.isupper()}
    return np.fromiter({zlib.crc32(f.encode()) % BUCKETS for f in found}, dtype=np.int64)


@cache
def _concepts() -> dict[str, str]:
    lists = tomllib.loads((HERE / "concepts.toml").read_text(encoding="utf-8"))
    known: dict[str, str] = {}
    for name, words in lists.items():
        for word in words.split():
            known.setdefault(word, name.upper())
    return known


def concept(word: str) -> str:
    """The concept of a word in capitals, or the word itself."""
    return _concepts().get(word, word)


def pieces(text: str) -> Iterator[str]:
    """The sentences of a plain text, long ones cut, and each two that follow one another."""
    parts = []
    for sentence in sentences(text):
        words = sentence.split()
        parts += [" ".join(words[i : i + _LONGEST]) for i in range(0, len(words), _LONGEST)]
    yield from parts
    yield from (f"{a} . {b}" for a, b in pairwise(parts))


@cache
def classifier(path: Path = WEIGHTS) -> Classifier:
    """The trained classifier of the package."""
    try:
        stored = tomllib.loads(path.read_text(encoding="utf-8"))
        raw = zlib.decompress(base64.b64decode(stored["weights"]))
        weights_CF = np.frombuffer(raw, dtype=np.int8).reshape(len(CLASSES), BUCKETS) * np.float32(stored["scale"])
        return Classifier(weights_CF, np.array(stored["bias"], dtype=np.float32))
    except (OSError, KeyError, ValueError, zlib.error) as error:
        hint = "make it again with: python -m empathia.guard.train"
        raise BadFile(path, f"not the guard's weights: {error}", hint=hint) from error


def pack(weights_CF: np.ndarray, bias_C: np.ndarray) -> str:
    """The weights as TOML: eight bits each, compressed."""
    scale = float(np.abs(weights_CF).max()) / 127
    small = np.round(weights_CF / scale).astype(np.int8)
    packed = base64.b64encode(zlib.compress(small.tobytes(), 9)).decode()
    bias = ", ".join(f"{value:.6f}" for value in bias_C)
    return (
        "# Made by: python -m empathia.guard.train. Rows: "
        + ", ".join(CLASSES)
        + f'.\nscale = {scale:.8f}\nbias = [{bias}]\nweights = "{packed}"\n'
    )
