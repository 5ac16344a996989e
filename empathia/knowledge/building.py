"""Making the store: tuples into arrays, heads into vectors. Once, for some minutes, into the cache.

A folder holds `card.json`; `heads.txt` and `tails.txt`, one a line; `tuples.npy`, a row per tuple (tail, relation,
learned or not) in the order of heads, with `starts.npy` saying where each head's rows begin; `index.faiss`. Vectors are
made in stretches that are kept beside it as they come, so a build that was stopped goes on where it was. The folder
appears whole, by one renaming.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.errors import EmpathiaError
from ..core.files import atomic, write_json
from ..core.locks import locked
from .events import spoken
from .relations import RELATIONS
from .tuples import Known, tuples

CARD, HEADS, TAILS, TUPLES, STARTS, FAISS = (
    "card.json", "heads.txt", "tails.txt", "tuples.npy", "starts.npy", "index.faiss",
)  # fmt: skip
#: Heads that are encoded between two steps of a progress bar, and kept if the build is stopped after them.
STRETCH = 1024

Array = NDArray[np.float32]
Progress = Callable[[int, int], None]  # how many are newly done, of how many


class Encoder(Protocol):
    """Texts → rows of length one."""

    @property
    def signature(self) -> str: ...

    def __call__(self, texts: Sequence[str]) -> Array: ...


def build(
    folder: Path,
    names: list[str],
    encoder: Callable[[], Encoder],
    say: Callable[[str], None] = lambda line: None,
    progress: Progress = lambda done, total: None,
) -> None:
    """Make `folder` of the corpora named, unless it is there already."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.parent):
            if folder.exists():
                return
            half = folder.parent / f".making-{folder.name}"
            for left_behind in folder.parent.glob(".making-*"):
                if left_behind != half:
                    shutil.rmtree(left_behind, ignore_errors=True)
            half.mkdir(exist_ok=True)
            _make(half, names, encoder(), say, progress)
            half.rename(folder)
    except OSError as error:
        raise EmpathiaError(
            f"cannot write {folder}: {error.strerror or error}", "free some space or choose another EMPATHIA_HOME"
        ) from error


def _make(folder: Path, names: list[str], encoder: Encoder, say: Callable[[str], None], progress: Progress) -> None:
    import faiss

    rows = sorted(tuples(names, say), key=lambda row: row.head)
    heads, tails = _write_tuples(folder, rows)
    say(f"encoding {len(heads):,} heads (once; a stopped build goes on where it was)")
    vectors = faiss.IndexScalarQuantizer(_width(encoder), faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    for start in range(0, len(heads), STRETCH):
        some = heads[start : start + STRETCH]
        vectors.add(_stretch(folder / f"stretch-{start:07d}.npy", some, encoder))
        progress(len(some), len(heads))
    faiss.write_index(vectors, str(folder / FAISS))
    for part in folder.glob("stretch-*.npy"):
        part.unlink()
    card = {"corpora": names, "encoder": encoder.signature, "heads": len(heads), "tails": tails, "tuples": len(rows)}
    write_json(folder / CARD, card)


def _write_tuples(folder: Path, rows: Sequence[Known]) -> tuple[list[str], int]:
    """The arrays and lists of the tuples; the heads in order, and how many tails there are."""
    heads: list[str] = []
    starts: list[int] = []
    places: dict[str, int] = {}
    table = np.zeros((len(rows), 3), dtype=np.int32)
    for i, row in enumerate(rows):
        if not heads or heads[-1] != row.head:
            heads.append(row.head)
            starts.append(i)
        table[i] = places.setdefault(row.tail, len(places)), RELATIONS.index(row.relation), row.learned
    for name, lines in ((HEADS, heads), (TAILS, list(places))):
        with atomic(folder / name) as out:
            out.writelines(f"{line}\n" for line in lines)
    for name, array in ((TUPLES, table), (STARTS, np.array([*starts, len(rows)], dtype=np.int64))):
        with atomic(folder / name, "wb") as out:
            np.save(out, array)
    return heads, len(places)


def _stretch(path: Path, heads: Sequence[str], encoder: Encoder) -> Array:
    if path.exists():
        kept: Array = np.load(path)
        if len(kept) == len(heads):
            return kept
    made = encoder([spoken(head) for head in heads])
    with atomic(path, "wb") as out:
        np.save(out, made)
    return made


def _width(encoder: Encoder) -> int:
    return int(encoder(["a word"]).shape[1])
