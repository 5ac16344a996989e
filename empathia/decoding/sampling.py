"""One word after another: the likeliest (greedy) or a drawn one (top-k, nucleus).

Shapes: R rows at the start, L live rows, T steps, V vocabulary, K kept words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from .constraints import Constraints
from .contract import Decodable, Decoding, Hypothesis, Memory, Specials
from .scores import largest, next_scores, speechless

NUCLEUS = 64  # words looked at first; rows whose nucleus is larger look again, at eight times as many

Pick = Callable[[Tensor, Tensor, int], Tensor]


def greedy(
    model: Decodable, memory: Memory, specials: Specials, decoding: Decoding, device: torch.device | str
) -> list[list[Hypothesis]]:
    def pick(scores_LV: Tensor, live_L: Tensor, step: int) -> Tensor:
        return largest(scores_LV, 1)[1][:, 0]

    return [[reply] for reply in _walk(model, memory, specials, decoding, pick, device)]


def sample(
    model: Decodable,
    memory: Memory,
    specials: Specials,
    decoding: Decoding,
    device: torch.device | str,
    seeds: Sequence[int],
) -> list[list[Hypothesis]]:
    """`decoding.keep` draws per sample, best first; each draw has its own stream of random numbers."""
    keep = decoding.keep
    uniform_RT = torch.stack(
        [_uniform(decoding.max_length, decoding.seed, own, draw) for own in seeds for draw in range(keep)]
    ).to(device)
    if keep > 1:
        memory = memory.select(torch.arange(len(memory), device=device).repeat_interleave(keep))

    def pick(scores_LV: Tensor, live_L: Tensor, step: int) -> Tensor:
        return draw(scores_LV, uniform_RT[live_L, step], decoding.top_k, decoding.top_p, decoding.temperature)

    replies = _walk(model, memory, specials, decoding, pick, device)
    groups = [replies[i : i + keep] for i in range(0, len(replies), keep)]
    return [sorted(group, key=lambda reply: -reply.score) for group in groups]


def draw(scores_RV: Tensor, uniform_R: Tensor, top_k: int = 0, top_p: float = 1.0, temperature: float = 1.0) -> Tensor:
    """The word whose share of the cumulative probability holds `uniform_R`, in (0, 1]."""
    if top_k:
        scores_RK, ids_RK = largest(scores_RV, min(top_k, scores_RV.shape[1]))
        weights_RK = ((scores_RK - scores_RK[:, :1]) / temperature).exp()
        if top_p < 1:
            weights_RK = _nucleus(weights_RK / weights_RK.sum(-1, keepdim=True), top_p)
        return ids_RK.gather(1, _invert(weights_RK, uniform_R))[:, 0]
    if top_p < 1:
        tempered_RV = scores_RV if temperature == 1 else scores_RV / temperature
        return _draw_nucleus(tempered_RV, tempered_RV.logsumexp(-1), uniform_R, top_p, NUCLEUS)
    return _invert(((scores_RV - scores_RV.amax(-1, keepdim=True)) / temperature).exp(), uniform_R)[:, 0]


def _draw_nucleus(scores_RV: Tensor, total_R: Tensor, uniform_R: Tensor, top_p: float, width: int) -> Tensor:
    width = min(width, scores_RV.shape[1])
    scores_RK, ids_RK = largest(scores_RV, width)
    probability_RK = (scores_RK - total_R[:, None]).exp()
    chosen_R = ids_RK.gather(1, _invert(_nucleus(probability_RK, top_p), uniform_R))[:, 0]
    short_R = probability_RK.sum(-1) < top_p
    if width < scores_RV.shape[1] and short_R.any():
        # Row by row, so that a batch-mate's wider nucleus cannot reorder this row's ties.
        chosen_R[short_R] = _draw_nucleus(scores_RV[short_R], total_R[short_R], uniform_R[short_R], top_p, width * 8)
    return chosen_R


def _nucleus(probability_RK: Tensor, top_p: float) -> Tensor:
    """Sorted probabilities, zero past the smallest set that holds `top_p`."""
    before_RK = probability_RK.cumsum(-1) - probability_RK
    return probability_RK.masked_fill(before_RK >= top_p, 0)


def _invert(weights_RK: Tensor, uniform_R: Tensor) -> Tensor:
    """The first index whose cumulative weight reaches uniform x total; as that is above 0, never a weight of 0."""
    cumulative_RK = weights_RK.cumsum(-1)
    found_R1 = torch.searchsorted(cumulative_RK, uniform_R[:, None] * cumulative_RK[:, -1:])
    return found_R1.clamp_(max=weights_RK.shape[1] - 1)  # past the last only where no weight is a number


def _uniform(steps: int, *key: int) -> Tensor:
    """Numbers in (0, 1] that depend on `key` alone; drawn on the CPU, so every device says the same."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest, "big", signed=True))
    return 1 - torch.rand(steps, generator=generator)


def _walk(
    model: Decodable,
    memory: Memory,
    specials: Specials,
    decoding: Decoding,
    pick: Pick,
    device: torch.device | str,
) -> list[Hypothesis]:
    rules = Constraints.of(decoding, specials, device)
    rows, steps = len(memory), decoding.max_length
    tokens_RT = torch.empty(rows, steps, dtype=torch.long, device=device)
    logprobs_RT = torch.empty(rows, steps, device=device)
    length_R = torch.full((rows,), steps, device=device)
    live_L = torch.arange(rows, device=device)
    last_L = torch.full((rows,), specials.start, device=device)
    cache = model.start_cache()
    for step in range(steps):
        scores_LV = next_scores(model, memory, last_L, cache)
        rules.apply_(scores_LV, tokens_RT[live_L, :step])
        last_L = pick(scores_LV, live_L, step)
        tokens_RT[live_L, step] = last_L
        logprob_L = scores_LV.gather(1, last_L[:, None])[:, 0]
        if (logprob_L == -torch.inf).any():
            raise speechless()
        logprobs_RT[live_L, step] = logprob_L
        ended_L = last_L == specials.end
        if ended_L.any():
            length_R[live_L[ended_L]] = step + 1
            stay = (~ended_L).nonzero()[:, 0]
            if not len(stay):
                break
            live_L, last_L = live_L[stay], last_L[stay]
            memory = memory.select(stay)
            cache.select(stay)
    return [
        _reply(tokens[:length], logprobs[:length], specials.end, decoding)
        for tokens, logprobs, length in zip(tokens_RT.tolist(), logprobs_RT.tolist(), length_R.tolist(), strict=True)
    ]


def _reply(tokens: list[int], logprobs: list[float], end: int, decoding: Decoding) -> Hypothesis:
    words = tokens[:-1] if tokens[-1] == end else tokens
    return Hypothesis(tuple(words), decoding.score(tuple(logprobs)), tuple(logprobs))
