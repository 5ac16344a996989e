"""Word vectors from GloVe or word2vec text files, fitted to a vocabulary and to a model's width.

The published systems start from GloVe 6B, 300 wide. Where only a narrower file is at hand it is the documented
substitute: its vectors are lifted to the model's width by a random map with orthonormal rows, so every inner
product, and with it every similarity between words, stays what it was. Wider vectors are reduced by PCA.
Shapes: N words found, W width of the file, V vocabulary, D width of the model.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..core import places
from ..core.errors import BadFile, MissingFile
from ..core.files import existing

Matrix = NDArray[np.float32]

AGAIN = "it may be cut off; fetch it again: empathia data get glove"
UNKNOWN_SPREAD = 0.01  # standard deviation for words without a vector, as in the released systems


@dataclass(frozen=True, slots=True)
class WordVectors:
    name: str
    places: dict[str, int]  # word to row
    matrix_NW: Matrix

    @property
    def width(self) -> int:
        return int(self.matrix_NW.shape[1])


@dataclass(frozen=True, slots=True)
class Fitted:
    """A matrix for an embedding, and how it came about."""

    matrix_VD: Matrix
    name: str
    found: int  # words that have a vector
    width: int  # of the file
    how: Literal["as is", "lifted", "reduced"]

    @property
    def coverage(self) -> float:
        return self.found / max(len(self.matrix_VD), 1)

    def __str__(self) -> str:
        change = "" if self.how == "as is" else f", {self.how} from {self.width}"
        size, width = self.matrix_VD.shape
        return f"{self.name}: {self.found:,} of {size:,} words ({self.coverage:.1%}), {width} wide{change}"


def find_vectors() -> Path:
    """GloVe 6B of width 300 if it is there, else the widest file in a `glove` folder."""
    folders = [places.data() / "glove", places.home() / "data" / "glove"]
    for folder in folders:
        if (folder / "glove.6B.300d.txt").is_file():
            return folder / "glove.6B.300d.txt"
    for folder in folders:
        if files := sorted(folder.glob("*.txt"), key=lambda file: (-_width_in_name(file), file.name)):
            return files[0]
    raise MissingFile(
        f"no word vectors in {folders[0]}", "run: empathia data get glove, or the smaller: empathia data get glove-100d"
    )


def read_vectors(path: Path | str, words: Iterable[str]) -> WordVectors:
    """The vectors of `words`; other lines are checked for their number of fields only. The first of a word counts."""
    path = existing(path, "run: empathia data get glove")
    wanted = {word.encode(): word for word in words}
    found: dict[str, int] = {}
    rows: list[tuple[int, bytes]] = []
    width = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip()
            if number == 1 and re.fullmatch(rb"\d+ \d+", line):
                width = int(line.split()[1])  # word2vec's header: how many, how wide
                continue
            spaces = line.count(b" ")
            width = width or spaces
            if spaces < width or not width:
                raise BadFile(path, f"expected a word and {width or 'its'} numbers", line=number, hint=AGAIN)
            if spaces > width:  # a word with spaces in it, as in GloVe 840B
                continue
            head, _, rest = line.partition(b" ")
            word = wanted.get(head)
            if word is None or word in found:
                continue
            found[word] = len(rows)
            rows.append((number, rest))
    if not width:
        raise BadFile(path, "holds no word vectors", hint=AGAIN)
    return WordVectors(path.stem, found, _numbers(path, rows, width))


def fit(vectors: WordVectors, words: Sequence[str], width: int, seed: int = 0) -> Fitted:
    """One row per word of `words`; a word without a vector gets N(0, 0.01²) from its row and `seed` alone."""
    random = np.random.default_rng(seed)
    matrix_VD = random.normal(0, UNKNOWN_SPREAD, (len(words), width)).astype(np.float32)
    rows = [row for row, word in enumerate(words) if word in vectors.places]
    known_NW = vectors.matrix_NW[[vectors.places[words[row]] for row in rows]]
    how: Literal["as is", "lifted", "reduced"] = "as is"
    if vectors.width < width:
        how, known_NW = "lifted", known_NW @ _orthonormal(vectors.width, width, seed)
    elif vectors.width > width:
        how, known_NW = "reduced", _principal(known_NW, width)
    matrix_VD[rows] = known_NW
    return Fitted(matrix_VD, vectors.name, len(rows), vectors.width, how)


def _numbers(path: Path, lines: list[tuple[int, bytes]], width: int) -> Matrix:
    """All rows in one pass; only if that fails are they read one by one, to name the line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # what older numpy gives in place of an error
            values = np.fromstring(b" ".join(text for _, text in lines), dtype=np.float32, sep=" ")
    except (ValueError, DeprecationWarning):
        values = np.empty(0, dtype=np.float32)
    if len(values) != len(lines) * width or not np.isfinite(values).all():
        for number, text in lines:
            for value in text.split(b" "):
                if not re.fullmatch(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", value):
                    raise BadFile(path, f"'{value.decode(errors='replace')}' is not a number", line=number, hint=AGAIN)
        raise BadFile(path, "a number is too large", hint=AGAIN)
    return values.reshape(len(lines), width)


def _orthonormal(rows: int, columns: int, seed: int) -> Matrix:
    """A random [rows, columns] matrix with orthonormal rows; signs fixed, so that any LAPACK gives the same."""
    square = np.random.default_rng(seed).normal(size=(columns, rows))
    q, r = np.linalg.qr(square)
    rows_by_columns: Matrix = (q * np.sign(np.diag(r))).T.astype(np.float32)
    return rows_by_columns


def _principal(known_NW: Matrix, width: int) -> Matrix:
    """Centred and projected on the directions of greatest variance, the greatest first."""
    if not len(known_NW):
        return np.zeros((0, width), dtype=np.float32)
    centred_NW = known_NW.astype(np.float64) - known_NW.mean(0, dtype=np.float64)
    _, axes_WW = np.linalg.eigh(centred_NW.T @ centred_NW)
    axes_WD = axes_WW[:, ::-1][:, :width]
    signs_D = np.sign(axes_WD[np.abs(axes_WD).argmax(0), np.arange(width)])
    projected_ND: Matrix = (centred_NW @ (axes_WD * signs_D)).astype(np.float32)
    return projected_ND


def _width_in_name(file: Path) -> int:
    named = re.search(r"(\d+)d\b", file.stem)
    return int(named[1]) if named else 0
