"""Vectors of a bank, searched exactly with FAISS, kept in a folder.

A pair is one long vector: where its context lies, where its reply lies, and a one for its emotion. A query is the
same with the weights on it: `like` · about, (1 − `like`) · answer, `emotion` · P(emotion). Their inner product is the
score, so one exact search does all of it, the soft filter by predicted emotion included, and weights can change
without a new index. Half precision: 1.6 kB a pair.

A folder holds `index.faiss`, `pairs.jsonl` and `card.json` (encoder's signature, bank's fingerprint).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..core import places
from ..core.errors import BadFile, BadInput, EmpathiaError, MissingFile, nearest
from ..core.files import read_json, write_json
from ..core.locks import locked
from ..core.taxonomy import EMOTIONS
from .encoder import DialogueEncoder, Queries, Weights
from .pairs import Bank, Pair, own_bank
from .reading import Array

FAISS, PAIRS, CARD = "index.faiss", "pairs.jsonl", "card.json"
#: pairs that are encoded between two steps of a progress bar
_STEP = 256
_SCRATCH = ".making-"

Emotions = Mapping[str, float] | None


class Index:
    def __init__(self, bank: Bank, signature: str, vectors: Any) -> None:
        self.bank, self.signature, self._vectors = bank, signature, vectors

    @classmethod
    def build(cls, bank: Bank, encoder: DialogueEncoder, advance: Callable[[int], None] = lambda done: None) -> Index:
        """Encode every pair; `advance` hears how many are newly done."""
        import faiss

        if not bank.pairs:
            raise BadInput(f"bank '{bank.name}' holds no pairs")
        vectors: Any = None
        for start in range(0, len(bank.pairs), _STEP):
            rows = pair_vectors(bank.pairs[start : start + _STEP], encoder)
            if vectors is None:
                kind = faiss.ScalarQuantizer.QT_fp16
                vectors = faiss.IndexScalarQuantizer(rows.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
                vectors.train(rows)
            vectors.add(rows)
            advance(len(rows))
        return cls(bank, encoder.signature, vectors)

    def search(self, queries: Array, most: int) -> tuple[Array, Any]:
        """Scores and places of the best `most` pairs for each query, best first."""
        scores, places = self._vectors.search(np.ascontiguousarray(queries), min(most, len(self.bank)))
        return scores, places

    def save(self, folder: Path) -> None:
        """Write a folder that appears whole, in place of an older one."""
        import faiss

        card = {
            "bank": self.bank.name,
            "pairs": len(self.bank),
            "fingerprint": self.bank.fingerprint,
            "encoder": self.signature,
        }
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with locked(folder.parent):
                for left_behind in folder.parent.glob(f"{_SCRATCH}*"):
                    shutil.rmtree(left_behind, ignore_errors=True)
                with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_SCRATCH) as scratch:
                    new, old = Path(scratch, "new"), Path(scratch, "old")
                    new.mkdir()
                    faiss.write_index(self._vectors, str(new / FAISS))
                    self.bank.save(new / PAIRS)
                    write_json(new / CARD, card)
                    if folder.exists():
                        folder.rename(old)
                    new.rename(folder)
        except (OSError, RuntimeError) as error:  # faiss says RuntimeError when a disk is full
            raise EmpathiaError(f"cannot write {folder}: {error}", "free some space or choose another --out") from error

    @classmethod
    def load(cls, folder: Path, signature: str) -> Index:
        """The index in `folder`, which must have been made by the encoder of that signature."""
        import faiss

        again = "build it again with: empathia index CORPUS --out " + folder.name
        card = read_json(folder / CARD)
        if not isinstance(card, dict) or not {"bank", "fingerprint", "encoder"} <= card.keys():
            raise BadFile(folder / CARD, "not a card of an index", hint=again)
        if card["encoder"] != signature:
            raise BadFile(folder, f"made by encoder {card['encoder']}, but {signature} is in use", hint=again)
        bank = Bank.load(folder / PAIRS, card["bank"])
        try:
            vectors = faiss.read_index(str(folder / FAISS))
        except RuntimeError as error:
            raise BadFile(folder / FAISS, "not a whole index", hint=again) from error
        if vectors.ntotal != len(bank) or bank.fingerprint != card["fingerprint"]:
            raise BadFile(folder, "pairs and vectors do not belong together", hint=again)
        return cls(bank, signature, vectors)


def pair_vectors(pairs: Sequence[Pair], encoder: DialogueEncoder) -> Array:
    """One row a pair: context, reply, emotion. A pair of unknown emotion is a little of each."""
    about = encoder.contexts([pair.context for pair in pairs]).about_ND
    replies = encoder.replies([pair.reply for pair in pairs])
    emotions = np.array([emotion_row({p.emotion: 1.0} if p.emotion else None) for p in pairs])
    return np.concatenate([about, replies, emotions], axis=1).astype(np.float32)


def query_vectors(queries: Queries, emotions: Sequence[Emotions], weights: Weights) -> Array:
    """One row a context: the pairs' layout, with the weights on it."""
    felt = np.array([emotion_row(e) for e in emotions], dtype=np.float32).reshape(len(emotions), len(EMOTIONS))
    parts = (weights.like * queries.about_ND, (1 - weights.like) * queries.answer_ND, weights.emotion * felt)
    return np.concatenate(parts, axis=1).astype(np.float32)


def emotion_row(probabilities: Emotions) -> Array:
    """Probabilities in the order of the taxonomy; nothing known is every emotion alike."""
    if probabilities is None:
        return np.full(len(EMOTIONS), 1 / len(EMOTIONS), dtype=np.float32)
    return np.array([probabilities.get(emotion, 0.0) for emotion in EMOTIONS], dtype=np.float32)


def folder_of(name: str) -> Path:
    """A path as given, or a name below the cache."""
    return Path(name) if "/" in name else banks() / name


def banks() -> Path:
    return places.cache() / "banks"


def open_index(name: str, encoder: DialogueEncoder) -> Index:
    """An index that `empathia index` made, by name or path."""
    folder = folder_of(name)
    if not (folder / CARD).exists():
        known = [path.parent.name for path in banks().glob(f"*/{CARD}")]
        hint = nearest(name, known) if known else f"make one with: empathia index CORPUS --out {name}"
        raise MissingFile(f"no bank '{name}'", hint)
    return Index.load(folder, encoder.signature)


def own_index(
    encoder: DialogueEncoder, bank: Bank | None = None, announce: Callable[[str], None] | None = None
) -> Index:
    """The project's own bank; its vectors are computed at first use, which `announce` is told, and kept in the cache
    until bank or encoder change."""
    bank = bank or own_bank()
    folder = banks() / ".own"
    try:
        index = Index.load(folder, encoder.signature)
        if index.bank.fingerprint == bank.fingerprint:
            return index
    except (BadFile, MissingFile):
        pass  # never made, or by another encoder
    if announce is not None:
        announce(f"reading {len(bank)} exemplars (once)")
    index = Index.build(bank, encoder)
    with suppress(EmpathiaError):  # a cache that cannot be written costs time at the next start, no more
        index.save(folder)
    return index
