"""The entry to every search: encoded contexts in, replies as ids out."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .beam import beam
from .contract import Decodable, Decoding, Hypothesis, Memory, Specials
from .sampling import greedy, sample


def decode(
    model: Decodable,
    memory: Memory,
    specials: Specials,
    decoding: Decoding,
    seeds: Sequence[int] | None = None,
    device: torch.device | str = "cpu",
) -> list[Hypothesis]:
    """The best reply to each context; `candidates` gives the runners-up too."""
    return [replies[0] for replies in candidates(model, memory, specials, decoding, seeds, device)]


@torch.inference_mode()
def candidates(
    model: Decodable,
    memory: Memory,
    specials: Specials,
    decoding: Decoding,
    seeds: Sequence[int] | None = None,
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """Up to `decoding.keep` replies to each context, best first.

    `seeds`, one number per context (by default its place in the batch), joins `decoding.seed`: a context with
    the same two numbers draws the same reply whatever stands beside it.
    """
    if seeds is None:
        seeds = range(len(memory))
    if len(seeds) != len(memory):
        raise ValueError(f"{len(seeds)} seeds for {len(memory)} contexts")
    if not len(memory):
        return []
    if decoding.method == "greedy":
        return greedy(model, memory, specials, decoding, device)
    if decoding.method == "beam":
        return beam(model, memory, specials, decoding, device)
    return sample(model, memory, specials, decoding, device, seeds)
