"""Diagonal Gaussians whose mean and variance a network sets, and noise that belongs to one sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .losses import gaussian_kl


@dataclass(frozen=True)
class Normal:
    mean: Tensor
    logvar: Tensor

    @property
    def deviation(self) -> Tensor:
        return (0.5 * self.logvar).exp()

    def sample(self) -> Tensor:
        """A reparameterised draw from torch's own generator; for training."""
        return self.mean + torch.randn_like(self.mean) * self.deviation

    def kl(self, other: Normal) -> Tensor:
        return gaussian_kl(self.mean, self.logvar, other.mean, other.logvar)


class Gaussian(nn.Module):
    """x → ReLU layer → mean and log-variance (MIME eqs. 11-13)."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.shared = nn.Linear(width_in, width)
        self.mean = nn.Linear(width, width)
        self.logvar = nn.Linear(width, width)

    def forward(self, x_BD: Tensor) -> Normal:
        shared = self.shared(x_BD).relu()
        return Normal(self.mean(shared), self.logvar(shared))


def draw(seeds: Sequence[int] | None, count: int, width: int) -> Sequence[Tensor] | list[None]:
    """`count` tensors of standard normal noise, each row from its own seed, so that batch-mates change nothing;
    without seeds, `count` times None."""
    if seeds is None:
        return [None] * count
    rows = [torch.randn(count, width, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    return torch.stack(rows, dim=1).unbind(0)
