"""A small linear classifier for what is said indirectly: hashed words and concepts.

Its features are words, their neighbours, and runs and pairs of *concepts* (`concepts.toml`) that stand near each other:
then «handing my records to my mate» teaches something about «gave her jewellery to a friend». No model file: hashes
into one table of small integers. It decides alone where the danger reader (reader.py) cannot be had, and has a share in
the score where it can.

Shapes: F buckets, G buckets that tell the categories apart, C categories.
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
from .types import CATEGORIES, Category, Thresholds

HERE = Path(__file__).parent
WEIGHTS = HERE / "weights.toml"
BUCKETS, CATEGORY_BUCKETS = 1 << 17, 1 << 13
_NEAR = 5  # concepts pair up over so many places
_FEWEST = 4  # words that a sentence must have to mean something by itself
_LONGEST = 60  # words of a sentence that are read; more is cut into pieces
_LEAST = -9.0  # the score of a text with nothing to read


@dataclass(frozen=True, slots=True)
class Guess:
    """How much a text sounds like danger, in log-odds, and of which kind."""

    score: float
    category: Category


@dataclass(frozen=True, slots=True)
class Classifier:
    danger_F: np.ndarray
    category_CG: np.ndarray
    bias: float
    thresholds: Thresholds

    def guess(self, text: str) -> Guess:
        """The most dangerous of a plain text's sentences and of each two that follow one another."""
        best, worst = _LEAST, ""
        for piece in pieces(text):
            score = self.score(piece)
            if score > best:
                best, worst = score, piece
        return Guess(best, self._category(worst))

    def score(self, piece: str) -> float:
        if len(piece.split()) < _FEWEST:
            return _LEAST
        seen = features(piece)
        return max(_LEAST, float(self.danger_F[seen].sum() / np.sqrt(len(seen))) + self.bias)

    def _category(self, piece: str) -> Category:
        return CATEGORIES[int(self.category_CG[:, features(piece) % CATEGORY_BUCKETS].sum(axis=1).argmax())]


def features(text: str) -> np.ndarray:
    """The buckets of a plain sentence: words, neighbours, runs of three, and pairs of near concepts in their order."""
    words = [word for word in text.split() if word not in (".", ",")]
    meant = [concept(word) for word in words]
    found = {f"w {word}" for word in words}
    found |= {f"b {a} {b}" for a, b in pairwise(words)} | {f"b {a} {b}" for a, b in pairwise(meant)}
    found |= {f"t {a} {b} {c}" for a, b, c in zip(meant, meant[1:], meant[2:], strict=False)}
    for place, name in enumerate(meant):
        found |= {f"s {name} {other}" for other in meant[place + 2 : place + 4]}
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
        return Classifier(
            _unpacked(stored["danger"], (BUCKETS,)),
            _unpacked(stored["category"], (len(CATEGORIES), CATEGORY_BUCKETS)),
            stored["danger"]["bias"],
            Thresholds(**stored["thresholds"]),
        )
    except (OSError, KeyError, TypeError, ValueError, zlib.error) as error:
        hint = "make it again with: python -m empathia.guard.train"
        raise BadFile(path, f"not the guard's weights: {error}", hint=hint) from error


def pack(made: Classifier) -> str:
    """The weights as TOML: eight bits each, compressed."""
    limits = f"[thresholds]\nfirst = {made.thresholds.first:.4f}\nalert = {made.thresholds.alert:.4f}"
    tables = [_packed("danger", made.danger_F, made.bias), _packed("category", made.category_CG, 0.0)]
    return "\n\n".join(["# Made by: python -m empathia.guard.train", limits, *tables]) + "\n"


def _packed(name: str, weights: np.ndarray, bias: float) -> str:
    scale = float(np.abs(weights).max()) / 127
    raw = zlib.compress(np.round(weights / scale).astype(np.int8).tobytes(), 9)
    return f'[{name}]\nscale = {scale:.8f}\nbias = {bias:.6f}\nweights = "{base64.b64encode(raw).decode()}"'


def _unpacked(table: dict[str, str], shape: tuple[int, ...]) -> np.ndarray:
    raw = zlib.decompress(base64.b64decode(table["weights"]))
    return np.frombuffer(raw, dtype=np.int8).reshape(shape) * np.float32(table["scale"])
