"""A trained encoder at work: `Tokens` in, states out, with onnxruntime.

Inputs of like length run together, at most `_PIECES` word pieces at a time, so little is computed for padding and a
long list costs no more memory than a short one.

Shapes: B inputs, T word pieces, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from safetensors.numpy import load_file

from ..core.errors import BadFile
from .tokens import Tokens
from .words import Words

Array = NDArray[np.float32]
Answer = TypeVar("Answer")

_PIECES = 2048


class Encoder:
    """Six layers of int8 ONNX and the small float16 tensors beside them (`heads`)."""

    def __init__(self, folder: Path, name: str, words: Words, threads: int) -> None:
        self._words = words
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # spinning starves its neighbours
        path = folder / f"{name}.onnx"
        try:
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            tensors = load_file(folder / f"{name}.safetensors")
        except Exception as error:  # onnxruntime and safetensors raise many kinds
            raise BadFile(path, "no whole encoder", hint="get a fresh copy of weights/") from error
        self.heads = {n.removeprefix("heads."): v.astype(np.float32) for n, v in tensors.items()}
        self._positions = self.heads.pop("encoder.positions.weight")
        self._listener = self.heads.pop("encoder.listener.weight")

    def states(self, batch: Sequence[Tokens]) -> Array:
        """(B, T, D), padded to the longest."""
        longest = max(map(len, batch))
        ids_BT = np.zeros((len(batch), longest), np.int64)
        listener_BT = np.zeros((len(batch), longest), np.int64)
        for i, tokens in enumerate(batch):
            ids_BT[i, : len(tokens)], listener_BT[i, : len(tokens)] = tokens.ids, tokens.listener
        embedded_BTD = self._words(ids_BT)
        embedded_BTD += self._positions[:longest] + self._listener[listener_BT]
        mask_B11T = np.where(ids_BT == 0, np.float32("-inf"), np.float32(0))[:, None, None]
        states: Array = self._session.run(None, {"embedded": embedded_BTD, "mask": mask_B11T})[0]
        return states

    def each(
        self, inputs: Sequence[Tokens], answer: Callable[[Array, Sequence[Tokens]], Sequence[Answer]]
    ) -> list[Answer]:
        """`answer` gets the states of a batch and says one thing per input; the answers, in the inputs' order."""
        found: dict[int, Answer] = {}
        order = sorted(range(len(inputs)), key=lambda i: -len(inputs[i]))
        start = 0
        while start < len(order):
            size = max(1, _PIECES // len(inputs[order[start]]))
            places = order[start : start + size]
            batch = [inputs[i] for i in places]
            found.update(zip(places, answer(self.states(batch), batch), strict=True))
            start += size
        return [found[i] for i in range(len(inputs))]


def where(batch: Sequence[Tokens], turn: int | None = None) -> NDArray[np.bool_]:
    """(B, T): true at word pieces, of one turn if it is named."""
    longest = max(map(len, batch))
    made = np.zeros((len(batch), longest), bool)
    for i, tokens in enumerate(batch):
        made[i, : len(tokens)] = True if turn is None else np.array(tokens.turns) == turn
    return made


def pooled(states_BTD: Array, query_D: Array, where_BT: NDArray[np.bool_]) -> Array:
    """Attention pooling: Σ softmax(w·h) h over the pieces in `where`."""
    scores_BT = np.where(where_BT, states_BTD @ query_D, np.float32(-1e4))
    made: Array = (softmax(scores_BT)[:, None] @ states_BTD)[:, 0]
    return made


def softmax(logits: Array) -> Array:
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    made: Array = weights / weights.sum(-1, keepdims=True)
    return made


def sigmoid(logits: Array) -> Array:
    made: Array = (1 / (1 + np.exp(-np.clip(logits, -60, 60)))).astype(np.float32)
    return made
