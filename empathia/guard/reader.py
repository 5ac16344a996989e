"""The danger reader: a small fine-tuned network that hears what no rule foresees. A second layer, never needed.

The first layers of all-MiniLM-L6-v2, int8, with one head: no danger, or one of the four (`weights/guard`, made by
`python -m empathia.guard.train_reader`). Its word vectors and word pieces are the ones of `weights/perception`. A long
message is read in windows of whole sentences, so that one sentence in a long story weighs as much as one alone.

Shapes: B windows, T word pieces, D width, K kinds: none and the categories.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ..core import places
from ..core.errors import BadFile
from .normalise import sentences
from .types import CATEGORIES, Category, Thresholds

#: words of a window
WINDOW = 40
#: word pieces that are read of a window, and of all the windows that go through the network together
LONGEST, TOGETHER = 96, 1024
FEWEST = 3  # words that a message must have to mean something by itself
GRAPH, CARD = "danger.onnx", "card.json"

log = logging.getLogger("empathia.guard")


@dataclass(frozen=True, slots=True)
class Limits:
    """When a reading is danger: the linear classifier's score has its `share` in the sum."""

    share: float
    thresholds: Thresholds


@dataclass(frozen=True, slots=True)
class Reading:
    """How much a message sounds like danger, in log-odds, and of which kind."""

    score: float
    category: Category
    limits: Limits

    def dangerous(self, guessed: float, alert: bool) -> bool:
        return self.limits.thresholds.passed(self.score + self.limits.share * guessed, alert)


class Reader:
    """Plain texts → readings. Safe to share among threads."""

    def __init__(self, folder: Path, words: Path) -> None:
        import onnxruntime
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        try:
            card = json.loads((folder / CARD).read_text(encoding="utf-8"))
            self.limits = Limits(card["share"], Thresholds(**card["thresholds"]))
            self._tokenizer = Tokenizer.from_file(str(words / "tokenizer.json"))
            table = load_file(words / "words.safetensors")
            self._rows, self._scale = table["rows"], table["scale"]
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            options.log_severity_level = 4
            self._session = onnxruntime.InferenceSession(folder / GRAPH, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # json, tokenizers, safetensors and onnxruntime raise many kinds
            raise BadFile(folder, f"no danger reader: {error}", hint="get a fresh copy of weights/") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)

    def __call__(self, text: str) -> Reading | None:
        """The most dangerous window of a plain text; None if there is nothing to read."""
        if len(text.split()) < FEWEST:
            return None
        logits_BK = self.logits([written_out(window) for window in windows(text)])
        scores_B = danger(logits_BK)
        worst = int(scores_B.argmax())
        return Reading(float(scores_B[worst]), CATEGORIES[int(logits_BK[worst, 1:].argmax())], self.limits)

    def logits(self, texts: Sequence[str]) -> np.ndarray:
        """(B, K), in the order of the texts; those of like length go together."""
        pieces = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(pieces)), key=lambda i: -len(pieces[i]))
        logits_BK = np.empty((len(pieces), 1 + len(CATEGORIES)), np.float32)
        while order:
            size = max(1, TOGETHER // len(pieces[order[0]]))
            places, order = order[:size], order[size:]
            logits_BK[places] = self._run([pieces[i] for i in places])
        return logits_BK

    def _run(self, pieces: Sequence[Sequence[int]]) -> np.ndarray:
        ids_BT = padded(pieces)
        words_BTD = self._rows[ids_BT].astype(np.float32)
        words_BTD *= self._scale[ids_BT]
        found: np.ndarray = self._session.run(None, {"words": words_BTD, "there": (ids_BT > 0).astype(np.float32)})[0]
        return found


def padded(pieces: Sequence[Sequence[int]]) -> np.ndarray:
    ids_BT = np.zeros((len(pieces), max(map(len, pieces))), np.int64)
    for row, ids in zip(ids_BT, pieces, strict=True):
        row[: len(ids)] = ids
    return ids_BT


def danger(logits_BK: np.ndarray) -> np.ndarray:
    """Log-odds of any danger against none."""
    found: np.ndarray = np.logaddexp.reduce(logits_BK[:, 1:], axis=1) - logits_BK[:, 0]
    return found


def written_out(text: str) -> str:
    """Plain text as the network knows it: with full stops and commas where people put them."""
    return text.replace(" . ", ". ").replace(" , ", ", ").strip(" .")


def windows(text: str) -> Iterator[str]:
    """A plain text in pieces of at most `WINDOW` words: whole sentences where they fit, the last of them once more at
    the beginning of the next piece, so that what two neighbours say together is read together."""
    if len(text.split()) <= WINDOW:
        yield text
        return
    parts = []
    for sentence in sentences(text):
        words = sentence.split()
        parts += [words[i : i + WINDOW] for i in range(0, len(words), WINDOW - 10)] if len(words) > WINDOW else [words]
    held: list[list[str]] = []
    for part in parts:
        if held and sum(map(len, held)) + len(part) > WINDOW:
            yield " . ".join(map(" ".join, held))
            held = held[-1:] if len(held[-1]) + len(part) <= WINDOW else []
        held.append(part)
    if held:
        yield " . ".join(map(" ".join, held))


@cache
def shipped_reader() -> Reader | None:
    """The reader of `weights/`, once per process; None, with one warning, if it cannot be had."""
    try:
        return Reader(places.shipped() / "guard", places.shipped() / "perception")
    except (BadFile, ImportError) as error:
        log.warning("the crisis guard works by its rules alone: %s", error)
        return None


def no_reader() -> None:
    """For a guard that shall work by rules and classifier alone."""
