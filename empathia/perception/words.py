"""The word vectors that all encoders share: one int8 row and one scale per word piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from ..core.errors import BadFile

WORDS = "words.safetensors"
Array = NDArray[np.float32]


def quantised_rows(table: Array) -> dict[str, NDArray[Any]]:
    scale = np.abs(table).max(1, keepdims=True) / 127
    return {"rows": np.round(table / scale).astype(np.int8), "scale": scale.astype(np.float32)}


class Words:
    """Ids → vectors."""

    def __init__(self, folder: Path) -> None:
        path = folder / WORDS
        try:
            tensors = load_file(path)
            self._rows, self._scale = tensors["rows"], tensors["scale"]
        except (OSError, KeyError, ValueError) as error:
            raise BadFile(path, f"no table of word vectors: {error}", hint="get a fresh copy of weights/") from error
        except Exception as error:  # safetensors' own error has no public base class
            raise BadFile(path, "not a whole safetensors file", hint="get a fresh copy of weights/") from error

    def __call__(self, ids: NDArray[np.int64]) -> Array:
        vectors: Array = self._rows[ids].astype(np.float32)
        vectors *= self._scale[ids]
        return vectors
