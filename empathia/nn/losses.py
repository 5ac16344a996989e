"""Losses, each returning a sum; the loop divides by the whole batch, however it was split."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Loss:
    """A sum over the `token`s or `row`s of a batch, and how much it weighs in the total."""

    total: Tensor
    per: Literal["token", "row"]
    weight: float = 1.0


def token_nll(
    states_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor,
    gold_N: Tensor,
    smoothing: float = 0.0,
    counts_N: Tensor | None = None,
) -> Tensor:
    """Summed cross-entropy over the whole vocabulary; each token counts `counts_N` times."""
    logits_NV = F.linear(states_ND, weight_VD, bias_V).float()  # autocast leaves it in bfloat16
    if counts_N is None:
        return F.cross_entropy(logits_NV, gold_N, reduction="sum", label_smoothing=smoothing)
    return (counts_N * F.cross_entropy(logits_NV, gold_N, reduction="none", label_smoothing=smoothing)).sum()


def sampled_token_nll(
    states_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor,
    gold_N: Tensor,
    head: int,
    sample: int,
    counts_N: Tensor | None = None,
) -> Tensor:
    """Summed cross-entropy whose normaliser is exact over the `head` commonest words and estimated over the rest
    from `sample` of them, drawn uniformly and weighted up (complementary sum sampling, Botev et al. 2017).

    Needs ids ordered by frequency. For training only: perplexity is always measured with `token_nll`.
    """
    vocabulary = weight_VD.shape[0]
    tail = vocabulary - head
    if tail <= sample:
        return token_nll(states_ND, weight_VD, bias_V, gold_N, counts_N=counts_N)
    device = gold_N.device
    drawn = head + torch.randperm(tail, device=device)[:sample]
    rare, place_N = gold_N.clamp(min=head).unique(return_inverse=True)
    ids = torch.cat([torch.arange(head, device=device), drawn, rare])  # gathered once: its gradient is V × D
    logits = F.linear(states_ND, weight_VD[ids], bias_V[ids]).float()
    common, estimate, own_rare = logits.split([head, sample, len(rare)], dim=1)
    own_rare_N = own_rare.gather(1, place_N[:, None])[:, 0]
    own_N = torch.where(gold_N < head, common.gather(1, gold_N.clamp(max=head - 1)[:, None])[:, 0], own_rare_N)
    # A rare gold word stands exactly once, by itself, never also as a drawn one.
    again_NS = drawn[None, :] == gold_N[:, None]
    estimate = (estimate + math.log(tail / sample)).masked_fill(again_NS, float("-inf"))
    rest_N = torch.logaddexp(common.logsumexp(1), estimate.logsumexp(1))
    total_N = torch.where(gold_N < head, rest_N, torch.logaddexp(rest_N, own_rare_N))
    nll_N = total_N - own_N
    return (nll_N if counts_N is None else counts_N * nll_N).sum()


class Face(nn.Module):
    """Frequency-aware cross-entropy (Jiang et al. 2019): how much each word of the vocabulary counts in a loss, from 0
    for the commonest word to a little over 1 for those that nobody says.

    `counts_V` is kept with the weights, so that a run that goes on counts on. Ids of `Vocabulary`: neither the padding
    nor the end of a reply is a word.
    """

    def __init__(self, vocabulary: int, end: int = 2) -> None:
        super().__init__()
        self.end = end
        self.counts_V: Tensor
        self.register_buffer("counts_V", torch.zeros(vocabulary))

    def count(self, replies: Iterable[Sequence[int]]) -> None:
        """Take the frequencies of these replies, in place of all counted before."""
        ids_N = torch.tensor([word for reply in replies for word in reply])
        self._set(torch.bincount(ids_N, minlength=len(self.counts_V)))

    @torch.no_grad()
    def listen(self, states_ND: Tensor, weight_VD: Tensor, bias_V: Tensor) -> None:
        """Add the likeliest word of each state: what the model would say."""
        said_N = F.linear(states_ND, weight_VD, bias_V).argmax(1)
        self._set(self.counts_V + torch.bincount(said_N, minlength=len(self.counts_V)))

    def weights(self) -> Tensor:
        """w = 1 − FQ / max FQ, scaled to a mean of 1 (IMAGINE eqs. 20-21); all 1 before anything is counted."""
        most = self.counts_V.max()
        weights_V = 1 - self.counts_V / most.clamp(min=1)
        return weights_V / weights_V.mean()

    def _set(self, counts_V: Tensor) -> None:
        self.counts_V.copy_(counts_V)
        self.counts_V[[0, self.end]] = 0


def gaussian_kl(mean_q: Tensor, logvar_q: Tensor, mean_p: Tensor, logvar_p: Tensor) -> Tensor:
    """KL[q ‖ p] of diagonal Gaussians, one number per row."""
    ratio = (logvar_q - logvar_p).exp() + (mean_q - mean_p).square() * (-logvar_p).exp()
    return 0.5 * (ratio - 1 - logvar_q + logvar_p).sum(-1)
