"""One step of a model as log-probabilities, and the largest of them. Shapes: R rows, V vocabulary, K kept."""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.errors import EmpathiaError
from .contract import Cache, Decodable, Memory

BLOCK = 64  # words
PIECE = 16  # rows


def next_scores(model: Decodable, memory: Memory, last_R: Tensor, cache: Cache) -> Tensor:
    """log p of every word after `last_R`, as a tensor the caller may overwrite."""
    scores_RV = model.step(memory, last_R[:, None], cache)[:, -1].float()
    # log_softmax is fused on the CPU and faster than logsumexp alone; in pieces that fit a processor's cache it
    # needs no second tensor of this size.
    for piece in torch.split(scores_RV, PIECE):
        piece.copy_(piece.log_softmax(-1))
    if scores_RV[:, 0].isnan().any():  # one NaN or +inf anywhere in a row makes all of it NaN
        raise EmpathiaError("the model's scores are not numbers", "its weights are damaged; restore or retrain them")
    return scores_RV


def speechless() -> EmpathiaError:
    return EmpathiaError("the model gives every allowed word a probability of zero", "check its weights and 'banned'")


def largest(scores_RV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`topk` along the vocabulary, sorted: values_RK and ids_RK.

    The k largest values lie in the k blocks with the largest maxima, and finding maxima is one fast pass;
    at a vocabulary of 24,000 this is three to four times faster than `topk` itself.
    """
    vocabulary = scores_RV.shape[1]
    blocks = vocabulary // BLOCK
    if k * 4 > blocks:
        values_RK, ids_RK = scores_RV.topk(k, -1)
        return values_RK, ids_RK
    blocks_RNB = scores_RV[:, : blocks * BLOCK].view(-1, blocks, BLOCK)
    chosen_RK = blocks_RNB.amax(-1).topk(k, -1).indices
    inside_RKB = blocks_RNB.gather(1, chosen_RK[:, :, None].expand(-1, -1, BLOCK))
    tail_R_ = scores_RV[:, blocks * BLOCK :]
    values_RK, places_RK = torch.cat([inside_RKB.flatten(1), tail_R_], 1).topk(k, -1)
    from_block_RK = chosen_RK.gather(1, (places_RK // BLOCK).clamp(max=k - 1)) * BLOCK + places_RK % BLOCK
    from_tail_RK = places_RK + (blocks - k) * BLOCK
    return values_RK, torch.where(places_RK < k * BLOCK, from_block_RK, from_tail_RK)
