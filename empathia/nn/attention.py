"""Multi-head scaled-dot-product attention, with a key/value cache for step-by-step decoding."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .cache import Cache


class Attention(nn.Module):
    """Attention of a query over itself or over a memory.

    `depth` is the total size of keys (and of values) over all heads. The released systems use 40 for a
    width of 300; most others the width itself.
    """

    def __init__(self, width: int, heads: int, depth: int, bias: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, depth, bias=bias)
        self.key = nn.Linear(width, depth, bias=bias)
        self.value = nn.Linear(width, depth, bias=bias)
        self.out = nn.Linear(depth, width, bias=bias)

    def forward(
        self,
        query_BTD: Tensor,
        memory_BSD: Tensor | None = None,
        mask_BS: Tensor | None = None,
        causal: bool = False,
        cache: Cache | None = None,
        bias_HTS: Tensor | None = None,
    ) -> Tensor:
        """Over `memory_BSD` where `mask_BS` is true, or over the query itself (and its cached past). `bias_HTS` is
        added to the scores."""
        query = self._split(self.query(query_BTD))
        kept = cache.get(self) if cache is not None else None
        if memory_BSD is not None:
            if kept is None:
                kept = self._split(self.key(memory_BSD)), self._split(self.value(memory_BSD))
                if cache is not None:
                    cache.put(self, *kept)
            key, value = kept
        else:
            key, value = self._split(self.key(query_BTD)), self._split(self.value(query_BTD))
            if kept is not None:
                key, value = torch.cat([kept[0], key], dim=2), torch.cat([kept[1], value], dim=2)
            if cache is not None:
                cache.put(self, key, value)
        mask = None if mask_BS is None else mask_BS[:, None, None, :]
        if causal and query.shape[2] > 1:
            steps, seen = query.shape[2], key.shape[2]
            mask = torch.ones(steps, seen, dtype=torch.bool, device=query.device).tril(seen - steps)
        if bias_HTS is not None:
            mask = bias_HTS if mask is None else bias_HTS.masked_fill(~mask, -torch.inf)
        with torch.autocast("cpu", enabled=False):  # its gradient is several times as slow in bfloat16 as in float32
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, x_BTD: Tensor) -> Tensor:
        """B T (H K) → B H T K, in float32"""
        return x_BTD.float().unflatten(2, (self.heads, -1)).transpose(1, 2)
