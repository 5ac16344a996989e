"""What a decoder remembers between steps, and what the encoder hands to it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn


class Cache:
    """Tensors kept per module, batch first: keys and values seen so far, past inputs of a convolution."""

    def __init__(self) -> None:
        self.length = 0  # positions already decoded
        self._kept: dict[nn.Module, tuple[Tensor, ...]] = {}

    def get(self, owner: nn.Module) -> tuple[Tensor, ...] | None:
        return self._kept.get(owner)

    def put(self, owner: nn.Module, *tensors: Tensor) -> None:
        self._kept[owner] = tensors

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder batch rows."""
        for owner, tensors in self._kept.items():
            self._kept[owner] = tuple(t.index_select(0, rows) for t in tensors)


@dataclass(frozen=True)
class Memory:
    """What a context became. Models add fields of their own, batch first, by subclassing."""

    states_BSD: Tensor
    mask_BS: Tensor
    emotion_BE: Tensor | None = None  # log-probabilities of the speaker's emotion, where the model tells
    intent_BL: Tensor | None = None  # of the reply's label among the 41, where the model plans it

    def __len__(self) -> int:
        return self.states_BSD.shape[0]

    def select(self, rows: Tensor):  # type: ignore[no-untyped-def]
        chosen = {}
        for f in fields(self):
            value = getattr(self, f.name)
            chosen[f.name] = value.index_select(0, rows) if isinstance(value, Tensor) else value
        return type(self)(**chosen)


def positions(length: int, width: int, start: int = 0) -> Tensor:
    """Sinusoids with all sines before all cosines, as the released systems lay them out."""
    rates = torch.exp(-torch.arange(width // 2) * (torch.log(torch.tensor(10_000.0)) / max(width // 2 - 1, 1)))
    angles = torch.arange(start, start + length)[:, None] * rates[None, :]
    return torch.cat([angles.sin(), angles.cos()], dim=1)
