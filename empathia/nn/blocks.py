"""Transformer encoder and decoder, one set of blocks for all systems.

`Blocks()` is a modern layer; `Blocks.released()` is the backbone of MoEL, MIME, EmpDG, CEM and KEMP as
published: key depth 40, filter 50, width-3 convolutions with a ReLU after the second one too (an
off-by-one in all six repositories), no dropout, standard deviation instead of variance in the norm.
`Blocks.t5()` is T5's layer: relative positions, root-mean-square norm, ReLU, no biases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import Attention
from .cache import Cache, positions
from .dropout import Dropout
from .norms import DeviationNorm, RootMeanSquareNorm
from .relative import RelativePositions

POSITIONS = 1024  # the longest context or reply


@dataclass(frozen=True)
class Blocks:
    width: int = 300
    layers: int = 1
    heads: int = 4
    depth: int = 64  # keys and values, all heads together
    hidden: int = 150  # of the feed-forward part
    feed_forward: Literal["linear", "convolution"] = "linear"
    second_relu: bool = False  # the released off-by-one
    activation: Literal["gelu", "relu"] = "gelu"  # of the linear feed-forward part
    biases: Literal["feed_forward", "all", "none"] = "feed_forward"  # linear maps that have one
    norm: Literal["variance", "deviation", "rms"] = "variance"
    order: Literal["pre", "post"] = "pre"  # a norm before each part of a layer, or after it
    positions: Literal["sinusoid", "learned", "relative"] = "sinusoid"
    dropout: float = 0.1
    embedding_dropout: float = 0.2
    scale_embeddings: bool = True  # multiply word vectors by the square root of the width
    input_projection: bool = False  # width to width, without bias, before the first layer
    tied_output: bool = False  # the output layer is the word vectors

    @classmethod
    def released(cls, **changes: Any) -> Blocks:
        values: dict[str, Any] = {
            "heads": 2, "depth": 40, "hidden": 50, "feed_forward": "convolution", "second_relu": True,
            "norm": "deviation", "dropout": 0.0, "embedding_dropout": 0.0, "input_projection": True,
            "tied_output": False,
        }  # fmt: skip
        return cls(**{**values, **changes})

    @classmethod
    def t5(cls, **changes: Any) -> Blocks:
        """T5-small's layers at the width of the word vectors (LEMPEx). T5 scales no word vectors, but its own begin
        √width long; ours are read in with length 1, so that scaling makes them as long."""
        values: dict[str, Any] = {
            "layers": 6, "heads": 6, "depth": 300, "hidden": 2048, "activation": "relu", "biases": "none",
            "norm": "rms", "positions": "relative", "embedding_dropout": 0.1,
        }  # fmt: skip
        return cls(**{**values, **changes})


def norm(blocks: Blocks) -> nn.Module:
    kinds = {"variance": nn.LayerNorm, "deviation": DeviationNorm, "rms": RootMeanSquareNorm}
    return kinds[blocks.norm](blocks.width)


class FeedForward(nn.Module):
    """Two linear maps with a GELU or ReLU between."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__()
        bias = blocks.biases != "none"
        self.inner = nn.Linear(blocks.width, blocks.hidden, bias)
        self.outer = nn.Linear(blocks.hidden, blocks.width, bias)
        self.activation = F.gelu if blocks.activation == "gelu" else F.relu
        self.dropout = Dropout(blocks.dropout)

    def forward(self, x_BTD: Tensor, mask_BT: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        return self.outer(self.dropout(self.activation(self.inner(x_BTD))))


class Convolution(nn.Module):
    """A width-3 convolution over positions: centred in an encoder, over the past in a decoder."""

    def __init__(self, width_in: int, width_out: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.linear = nn.Linear(3 * width_in, width_out)

    def forward(self, x_BTD: Tensor, cache: Cache | None = None) -> Tensor:
        before, after = (2, 0) if self.causal else (1, 1)
        past = cache.get(self) if cache is not None else None
        x = F.pad(x_BTD, (0, 0, before, after)) if past is None else torch.cat([past[0], x_BTD], dim=1)
        if cache is not None:
            cache.put(self, x[:, -2:])
        return self.linear(torch.cat([x[:, :-2], x[:, 1:-1], x[:, 2:]], dim=2))


class ConvolutionalFeedForward(nn.Module):
    def __init__(self, blocks: Blocks, causal: bool) -> None:
        super().__init__()
        self.inner = Convolution(blocks.width, blocks.hidden, causal)
        self.outer = Convolution(blocks.hidden, blocks.width, causal)
        self.dropout, self.second_relu = Dropout(blocks.dropout), blocks.second_relu

    def forward(self, x_BTD: Tensor, mask_BT: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        # Padding is zeroed before each convolution, so that a sample's neighbours in a batch change nothing.
        keep = None if mask_BT is None else mask_BT[:, :, None]
        hidden = self.dropout(F.relu(self.inner(x_BTD if keep is None else x_BTD * keep, cache)))
        out = self.outer(hidden if keep is None else hidden * keep, cache)
        return F.relu(out) if self.second_relu else out


def feed_forward(blocks: Blocks, causal: bool) -> nn.Module:
    return FeedForward(blocks) if blocks.feed_forward == "linear" else ConvolutionalFeedForward(blocks, causal)


def attention(blocks: Blocks) -> Attention:
    return Attention(blocks.width, blocks.heads, blocks.depth, bias=blocks.biases == "all")


class Layer(nn.Module):
    """What both kinds of layers do around each part: norm, drop, add."""

    def surround(self, blocks: Blocks, parts: int) -> None:
        """Called when the parts are there: checkpoints number parameters in the order in which they are made."""
        self.norms = nn.ModuleList(norm(blocks) for _ in range(parts))
        self.dropout, self.after = Dropout(blocks.dropout), blocks.order == "post"

    def around(self, place: int, x: Tensor, part: Callable[[Tensor], Tensor], first: int | None = None) -> Tensor:
        """`first`: the part gives no more than so many positions."""
        if self.after:
            return self.norms[place](x[:, :first] + self.dropout(part(x)))
        return x[:, :first] + self.dropout(part(self.norms[place](x)))


class EncoderLayer(Layer):
    def __init__(self, blocks: Blocks) -> None:
        super().__init__()
        self.attention = attention(blocks)
        self.feed_forward = feed_forward(blocks, causal=False)
        self.surround(blocks, parts=2)

    def forward(
        self, x_BSD: Tensor, mask_BS: Tensor, bias_HSS: Tensor | None = None, first: int | None = None
    ) -> Tensor:
        """All positions, or no more than the `first` ones, which is less work."""
        bias_HTS = None if bias_HSS is None else bias_HSS[:, :first]
        x_BTD = self.around(0, x_BSD, lambda x: self.attention(x[:, :first], x, mask_BS, bias_HTS=bias_HTS), first)
        return self.around(1, x_BTD, lambda x: self.feed_forward(x, mask_BS[:, :first]))


class DecoderLayer(Layer):
    def __init__(self, blocks: Blocks) -> None:
        super().__init__()
        self.own, self.cross = attention(blocks), attention(blocks)
        self.feed_forward = feed_forward(blocks, causal=True)
        self.surround(blocks, parts=3)

    def forward(
        self,
        x_BTD: Tensor,
        memory_BSD: Tensor,
        mask_BS: Tensor,
        cache: Cache | None = None,
        bias_HTT: Tensor | None = None,
    ) -> Tensor:
        x_BTD = self.around(0, x_BTD, lambda x: self.own(x, causal=True, cache=cache, bias_HTS=bias_HTT))
        x_BTD = self.around(1, x_BTD, lambda x: self.cross(x, memory_BSD, mask_BS, cache=cache))
        return self.around(2, x_BTD, lambda x: self.feed_forward(x, cache=cache))


class Encoder(nn.Module):
    """Layers over embedded positions, then a norm where the layers do not end with one."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__()
        self.project = nn.Linear(blocks.width, blocks.width, bias=False) if blocks.input_projection else nn.Identity()
        self.layers = nn.ModuleList(EncoderLayer(blocks) for _ in range(blocks.layers))
        self.norm = norm(blocks) if blocks.order == "pre" else nn.Identity()
        self.relative = RelativePositions(blocks.heads, both_ways=True) if blocks.positions == "relative" else None

    def forward(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        return self._through(x_BSD, mask_BS)

    def first(self, x_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        """The first position's state alone: the last layer does no work for the others, unless it looks around."""
        looks_around = isinstance(self.layers[-1].feed_forward, ConvolutionalFeedForward)
        return self._through(x_BSD, mask_BS, None if looks_around else 1)[:, 0]

    def _through(self, x_BSD: Tensor, mask_BS: Tensor, first: int | None = None) -> Tensor:
        x_BSD = self.project(x_BSD)
        bias_HSS = None if self.relative is None else self.relative(x_BSD.shape[1])
        *layers, last = self.layers
        for layer in layers:
            x_BSD = layer(x_BSD, mask_BS, bias_HSS)
        return self.norm(last(x_BSD, mask_BS, bias_HSS, first))


class Refiner(nn.Module):
    """An encoder over each position joined with one vector for the whole row (MIME eqs. 20-23, CEM).

    The map from the joined width to the width is kept in two halves, so that the context's half is computed
    once for several vectors.
    """

    def __init__(self, blocks: Blocks) -> None:
        super().__init__()
        self.from_context = nn.Linear(blocks.width, blocks.width, bias=False)
        self.from_vector = nn.Linear(blocks.width, blocks.width, bias=False)
        self.encoder = Encoder(replace(blocks, input_projection=False))

    def forward(self, context_BSD: Tensor, vectors: Sequence[Tensor], mask_BS: Tensor) -> list[Tensor]:
        half_BSD = self.from_context(context_BSD)
        return [self.encoder(half_BSD + self.from_vector(vector_BD)[:, None], mask_BS) for vector_BD in vectors]


class Decoder(nn.Module):
    """Causal layers over embedded reply positions that attend to a memory, then a norm as in an encoder."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__()
        self.project = nn.Linear(blocks.width, blocks.width, bias=False) if blocks.input_projection else nn.Identity()
        self.layers = nn.ModuleList(DecoderLayer(blocks) for _ in range(blocks.layers))
        self.norm = norm(blocks) if blocks.order == "pre" else nn.Identity()
        self.relative = RelativePositions(blocks.heads, both_ways=False) if blocks.positions == "relative" else None

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor, mask_BS: Tensor, cache: Cache | None = None) -> Tensor:
        x_BTD = self.project(x_BTD)
        before = 0 if cache is None else cache.length
        bias_HTT = None if self.relative is None else self.relative(x_BTD.shape[1], before)
        for layer in self.layers:
            x_BTD = layer(x_BTD, memory_BSD, mask_BS, cache, bias_HTT)
        return self.norm(x_BTD)


class Embedding(nn.Module):
    """Word + position (+ speaker) vectors, MIME eq. 1. A speaker's vector is the word vector of its token."""

    def __init__(self, vocabulary: int, blocks: Blocks) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, blocks.width, padding_idx=0)
        nn.init.normal_(self.words.weight, std=blocks.width**-0.5)
        self.scale = blocks.width**0.5 if blocks.scale_embeddings else 1.0
        self.dropout = Dropout(blocks.embedding_dropout)
        self.positions: Tensor | None
        if blocks.positions == "learned":
            self.register_parameter("positions", nn.Parameter(torch.randn(POSITIONS, blocks.width) * 0.02))
        else:
            fixed = positions(POSITIONS, blocks.width) if blocks.positions == "sinusoid" else None
            self.register_buffer("positions", fixed, persistent=False)

    def forward(self, words_BT: Tensor, speakers_BT: Tensor | None = None, start: int = 0) -> Tensor:
        # One look-up for both: each look-up's gradient is a table as large as the vocabulary.
        ids = words_BT[None] if speakers_BT is None else torch.stack([words_BT, speakers_BT])
        return self.placed(self.words(ids).sum(0), start)

    def placed(self, vectors_BTD: Tensor, start: int = 0) -> Tensor:
        """Looked-up vectors, scaled and in their positions: for sequences that are looked up together."""
        vectors_BTD = vectors_BTD * self.scale
        if self.positions is not None:
            vectors_BTD = vectors_BTD + self.positions[start : start + vectors_BTD.shape[1]]
        return self.dropout(vectors_BTD)
