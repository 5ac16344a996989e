"""Losses, each returning a sum; the loop divides by the whole batch, however it was split."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Loss:
    """A sum over the `token`s or `row`s of a batch, and how much it weighs in the total."""

    total: Tensor
    per: Literal["token", "row"]
    weight: float = 1.0


def token_nll(states_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, gold_N: Tensor, smoothing: float = 0.0) -> Tensor:
    """Summed cross-entropy over the whole vocabulary."""
    logits_NV = F.linear(states_ND, weight_VD, bias_V)
    return F.cross_entropy(logits_NV, gold_N, reduction="sum", label_smoothing=smoothing)


def sampled_token_nll(
    states_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, gold_N: Tensor, head: int, sample: int
) -> Tensor:
    """Summed cross-entropy whose normaliser is exact over the `head` commonest words and estimated over the rest
    from `sample` of them, drawn uniformly and weighted up (complementary sum sampling, Botev et al. 2017).

    Needs ids ordered by frequency. For training only: perplexity is always measured with `token_nll`.
    """
    vocabulary = weight_VD.shape[0]
    tail = vocabulary - head
    if tail <= sample:
        return token_nll(states_ND, weight_VD, bias_V, gold_N)
    device = gold_N.device
    drawn = head + torch.randperm(tail, device=device)[:sample]
    rare, place_N = gold_N.clamp(min=head).unique(return_inverse=True)
    ids = torch.cat([torch.arange(head, device=device), drawn, rare])  # gathered once: its gradient is V × D
    logits = F.linear(states_ND, weight_VD[ids], bias_V[ids])
    common, estimate, own_rare = logits.split([head, sample, len(rare)], dim=1)
    own_rare_N = own_rare.gather(1, place_N[:, None])[:, 0]
    own_N = torch.where(gold_N < head, common.gather(1, gold_N.clamp(max=head - 1)[:, None])[:, 0], own_rare_N)
    # A rare gold word stands exactly once, by itself, never also as a drawn one.
    again_NS = drawn[None, :] == gold_N[:, None]
    estimate = (estimate + math.log(tail / sample)).masked_fill(again_NS, float("-inf"))
    rest_N = torch.logaddexp(common.logsumexp(1), estimate.logsumexp(1))
    total_N = torch.where(gold_N < head, rest_N, torch.logaddexp(rest_N, own_rare_N))
    return (total_N - own_N).sum()


def gaussian_kl(mean_q: Tensor, logvar_q: Tensor, mean_p: Tensor, logvar_p: Tensor) -> Tensor:
    """KL[q ‖ p] of diagonal Gaussians, one number per row."""
    ratio = (logvar_q - logvar_p).exp() + (mean_q - mean_p).square() * (-logvar_p).exp()
    return 0.5 * (ratio - 1 - logvar_q + logvar_p).sum(-1)
