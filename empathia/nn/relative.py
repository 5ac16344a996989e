"""T5's relative positions (Raffel et al. 2020): a learned number per head and distance, added to attention's scores.

Near distances have a number each, further ones share it with their neighbours on a logarithmic scale, and all past
`FURTHEST` share the last. The layers of a stack share one table.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

BUCKETS, FURTHEST = 32, 128


class RelativePositions(nn.Module):
    def __init__(self, heads: int, both_ways: bool) -> None:
        super().__init__()
        self.both_ways = both_ways
        self.table = nn.Embedding(BUCKETS, heads)
        nn.init.normal_(self.table.weight, std=0.1)

    def forward(self, new: int, before: int = 0) -> Tensor:
        """bias_HTS of `new` positions over themselves and the `before` ones that precede them."""
        seen = torch.arange(before + new, device=self.table.weight.device)
        past_TS = seen[before:, None] - seen[None, :]  # how far back the key lies
        return self.table(buckets(past_TS, self.both_ways)).permute(2, 0, 1)


def buckets(past_TS: Tensor, both_ways: bool) -> Tensor:
    """The table's row for each distance; half of the rows are for later positions where attention sees them."""
    rows = BUCKETS // 2 if both_ways else BUCKETS
    later = (past_TS < 0).long() * rows if both_ways else 0
    distance = past_TS.abs() if both_ways else past_TS.clamp(min=0)
    near = rows // 2
    scale = (rows - near) / math.log(FURTHEST / near)
    far = near + ((distance.clamp(min=1) / near).log() * scale).long()
    return later + torch.where(distance < near, distance, far.clamp(max=rows - 1))
