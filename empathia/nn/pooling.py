"""From a row's states to one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def mean(states_BSD: Tensor, mask_BS: Tensor) -> Tensor:
    """The mean of the states that the mask shows; zeros where it shows none."""
    shown_BS1 = mask_BS[..., None].to(states_BSD.dtype)
    return (states_BSD * shown_BS1).sum(-2) / shown_BS1.sum(-2).clamp(min=1)


class AttentionPool(nn.Module):
    """The states weighed by their likeness to one learned vector (MEED2 eqs. 1-2)."""

    def __init__(self, width: int, layer: bool = False) -> None:
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(width, width), nn.Tanh()) if layer else nn.Identity()
        self.vector = nn.Parameter(torch.randn(width) * width**-0.5)

    def forward(self, states_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        scores_BS = (self.layer(states_BSD) @ self.vector).masked_fill(~mask_BS, -torch.inf)
        return (scores_BS.softmax(-1)[:, None] @ states_BSD)[:, 0]
