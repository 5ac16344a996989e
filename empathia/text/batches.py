"""Examples to tensors: encoded once, padded per batch, batches of similar length.

What a model may see (`Inputs`) and what it is to predict (`Targets`) are two objects from here on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..core.errors import BadInput
from ..core.taxonomy import EMOTIONS
from ..core.types import Context, Example
from .vocabulary import Codec


@dataclass(frozen=True)
class Inputs:
    """A batch of contexts. B rows, S positions; position 0 is the context token."""

    words_BS: Tensor
    speakers_BS: Tensor  # ids of the speaker, listener or context token, as the released systems embed them
    seeds: tuple[int, ...] | None = None  # one per row: draw latent variables; None: take their means

    def __len__(self) -> int:
        return self.words_BS.shape[0]

    @property
    def mask_BS(self) -> Tensor:
        """True where there is a word; 0 is the padding id of every codec."""
        return self.words_BS != 0


@dataclass(frozen=True)
class Targets:
    """The gold side of a batch: replies ending with the end token, and the contexts' annotated emotions."""

    reply_BT: Tensor
    emotion_B: Tensor  # -1 where unknown

    def __len__(self) -> int:
        return self.reply_BT.shape[0]

    @property
    def tokens(self) -> int:
        return int((self.reply_BT != 0).sum())


@dataclass(frozen=True)
class Encoded:
    """One example as ids."""

    words: list[int]
    speakers: list[int]
    reply: list[int]
    emotion: int


class Encoder:
    """Turns contexts and examples into ids with one codec; the oldest words fall off past `max_context`."""

    def __init__(self, codec: Codec, max_context: int = 512, max_reply: int = 128) -> None:
        self.codec, self.max_context, self.max_reply = codec, max_context, max_reply
        self._turns: dict[str, list[int]] = {}

    def context(self, context: Context) -> tuple[list[int], list[int]]:
        words: list[int] = []
        speakers: list[int] = []
        for turn in context.turns:
            ids = self._turn(turn.text)
            words += ids
            speakers += [self.codec.speaker if turn.speaker == "speaker" else self.codec.listener] * len(ids)
        if not words:
            raise BadInput("the message holds no words", "write something to answer")
        keep = self.max_context - 1
        return [self.codec.context, *words[-keep:]], [self.codec.context, *speakers[-keep:]]

    def example(self, example: Example) -> Encoded:
        words, speakers = self.context(example.context)
        reply = [*self._turn(example.gold.reply)[: self.max_reply - 1], self.codec.end]
        emotion = EMOTIONS.index(example.gold.emotion) if example.gold.emotion else -1
        return Encoded(words, speakers, reply, emotion)

    def _turn(self, text: str) -> list[int]:
        """A turn stands in the context of every later reply, so its ids are kept."""
        if text not in self._turns:
            self._turns[text] = self.codec.encode(text)
        return self._turns[text]


def collate(examples: Sequence[Encoded], seeds: Sequence[int] | None = None) -> tuple[Inputs, Targets]:
    inputs = Inputs(
        padded([e.words for e in examples]),
        padded([e.speakers for e in examples]),
        None if seeds is None else tuple(seeds),
    )
    return inputs, Targets(padded([e.reply for e in examples]), torch.tensor([e.emotion for e in examples]))


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])


def bucketed(lengths: Sequence[int], batch: int, seed: int | None = None, pool: int = 64) -> Iterator[list[int]]:
    """Indices in batches of similar length. With a seed: shuffled, sorted within pools of `pool` batches, and
    the batches shuffled again; the order depends on nothing but the arguments. Without: longest last."""
    if seed is None:
        order = sorted(range(len(lengths)), key=lambda i: lengths[i])
        yield from (order[i : i + batch] for i in range(0, len(order), batch))
        return
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(lengths), generator=generator).tolist()
    batches: list[list[int]] = []
    for first in range(0, len(order), batch * pool):
        some = sorted(order[first : first + batch * pool], key=lambda i: lengths[i])
        batches += [some[i : i + batch] for i in range(0, len(some), batch)]
    yield from (batches[i] for i in torch.randperm(len(batches), generator=generator).tolist())
