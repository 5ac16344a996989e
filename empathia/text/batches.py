"""Examples to tensors: encoded once, padded per batch, batches of similar length.

What a model may see (`Inputs`) and what it is to predict (`Targets`) are two objects from here on. What else is known
of a context, its evidence, is turned into ids by the model's own `see` and travels in `Inputs.seen`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from ..core.errors import BadInput
from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, MECHANISMS
from ..core.types import Context, Evidence, Example, Wish
from .vocabulary import Codec

#: evidence as ids, by the model's own names: a row of ids, or several rows; 0 is padding
Seen = Mapping[str, Sequence[Any]]
See = Callable[["Encoder", Context, Evidence, Wish], Seen]


@dataclass(frozen=True)
class Inputs:
    """A batch of contexts. B rows, S positions; position 0 is the context token."""

    words_BS: Tensor
    speakers_BS: Tensor  # ids of the speaker, listener or context token, as the released systems embed them
    seeds: tuple[int, ...] | None = None  # one per row: draw latent variables; None: take their means
    seen: Mapping[str, Tensor] = field(default_factory=dict)  # evidence, as the model's `see` names it, padded with 0

    def __len__(self) -> int:
        return self.words_BS.shape[0]

    @property
    def mask_BS(self) -> Tensor:
        """True where there is a word; 0 is the padding id of every codec."""
        return self.words_BS != 0


@dataclass(frozen=True)
class Targets:
    """The gold side of a batch: replies ending with the end token, the contexts' annotated emotions, and labels of
    the replies where someone gave them."""

    reply_BT: Tensor
    emotion_B: Tensor  # -1 where unknown
    intent_B: Tensor  # of the 41, -1 where unknown
    mechanisms_BM: Tensor  # levels, in the order of MECHANISMS; -1 where unknown
    sentiment_B: Tensor  # -1 to 1; nan where unknown

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
    seen: Seen = field(default_factory=dict)
    intent: int = -1
    mechanisms: tuple[int, ...] = (-1,) * len(MECHANISMS)
    sentiment: float = math.nan


class Encoder:
    """Turns contexts and examples into ids with one codec; the oldest words fall off past `max_context`.

    `see` is how a model wants its evidence; without it nothing but the words is seen.
    """

    def __init__(self, codec: Codec, max_context: int = 512, max_reply: int = 128, see: See | None = None) -> None:
        self.codec, self.max_context, self.max_reply, self.see = codec, max_context, max_reply, see
        self._turns: dict[str, list[int]] = {}

    def context(self, context: Context) -> tuple[list[int], list[int]]:
        words: list[int] = []
        speakers: list[int] = []
        for turn in context.turns:
            ids = self.turn(turn.text)
            words += ids
            speakers += [self.codec.speaker if turn.speaker == "speaker" else self.codec.listener] * len(ids)
        if not words:
            raise BadInput("the message holds no words", "write something to answer")
        keep = self.max_context - 1
        return [self.codec.context, *words[-keep:]], [self.codec.context, *speakers[-keep:]]

    def per_word(self, context: Context, values: Sequence[int]) -> list[int]:
        """One value for each turn, given to all of its words: as long as `context`'s lists, 0 for the context token."""
        spread = [v for turn, v in zip(context.turns, values, strict=True) for _ in self.turn(turn.text)]
        return [0, *spread[-(self.max_context - 1) :]]

    def seen(self, context: Context, evidence: Evidence, wish: Wish | None = None) -> Seen:
        return self.see(self, context, evidence, wish or Wish()) if self.see else {}

    def example(self, example: Example) -> Encoded:
        words, speakers = self.context(example.context)
        gold = example.gold
        shown = gold.mechanisms or {}
        return Encoded(
            words,
            speakers,
            reply=[*self.turn(gold.reply)[: self.max_reply - 1], self.codec.end],
            emotion=EMOTIONS.index(gold.emotion) if gold.emotion else -1,
            seen=self.seen(example.context, example.evidence),
            intent=EMOTIONS_AND_INTENTS.index(gold.intent) if gold.intent else -1,
            mechanisms=tuple(shown.get(name, -1) for name in MECHANISMS),
            sentiment=math.nan if gold.sentiment is None else gold.sentiment,
        )

    def turn(self, text: str) -> list[int]:
        """A turn stands in the context of every later reply, so its ids are kept."""
        if text not in self._turns:
            self._turns[text] = self.codec.encode(text)
        return self._turns[text]


def collate(
    examples: Sequence[Encoded], seeds: Sequence[int] | None = None, multiple: int = 1
) -> tuple[Inputs, Targets]:
    """Sequences are filled up to a `multiple`: fewer lengths are fewer kernels, where each is made anew."""
    inputs = Inputs(
        padded([e.words for e in examples], multiple),
        padded([e.speakers for e in examples], multiple),
        None if seeds is None else tuple(seeds),
        collate_seen([e.seen for e in examples], multiple),
    )
    gold = Targets(
        padded([e.reply for e in examples], multiple),
        torch.tensor([e.emotion for e in examples]),
        torch.tensor([e.intent for e in examples]),
        torch.tensor([e.mechanisms for e in examples]),
        torch.tensor([e.sentiment for e in examples], dtype=torch.float32),
    )
    return inputs, gold


def collate_seen(rows: Sequence[Seen], multiple: int = 1) -> dict[str, Tensor]:
    """Each name's ids as one tensor: B × longest, or B × most × longest where a row holds several lists."""
    return {name: _filled([row[name] for row in rows], multiple) for name in rows[0]}


def _filled(rows: Sequence[Sequence[Any]], multiple: int) -> Tensor:
    inner = [part for part in chain.from_iterable(rows) if not isinstance(part, int)]
    if not inner:
        return padded([row or [0] for row in rows], multiple)
    most, longest = max(map(len, rows)), _up(max(1, *map(len, inner)), multiple)
    blank = [0] * longest
    return torch.tensor(
        [[*([*part, *blank[len(part) :]] for part in row), *[blank] * (most - len(row))] for row in rows]
    )


def padded(rows: Sequence[Sequence[int]], multiple: int = 1) -> Tensor:
    width = _up(max(map(len, rows)), multiple)
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])


def _up(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple


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
