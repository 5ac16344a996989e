"""Beam search over many samples at once.

Shapes: S live samples, K live beams of each, R = S x K rows, T words so far, V vocabulary, W words looked at
per row, C candidates of a sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .constraints import Constraints
from .contract import Decodable, Decoding, Hypothesis, Memory, Specials
from .scores import largest, next_scores, speechless


@dataclass(frozen=True, slots=True)
class Beams:
    """The live beams of the live samples, best first; a total of -inf marks an empty place."""

    samples_S: Tensor  # places in the batch
    totals_SK: Tensor
    tokens_SKT: Tensor
    logprobs_SKT: Tensor

    @classmethod
    def start(cls, samples: int, device: torch.device | str) -> Beams:
        nothing = torch.zeros(samples, 1, 0, device=device)
        return cls(torch.arange(samples, device=device), nothing.sum(-1), nothing.long(), nothing)

    def extended(self, totals_SC: Tensor, parents_SC: Tensor, words_SC: Tensor, logprobs_SC: Tensor) -> Beams:
        sample_S1 = torch.arange(len(self.samples_S), device=parents_SC.device)[:, None]
        tokens = torch.cat([self.tokens_SKT[sample_S1, parents_SC], words_SC[..., None]], -1)
        logprobs = torch.cat([self.logprobs_SKT[sample_S1, parents_SC], logprobs_SC[..., None]], -1)
        return Beams(self.samples_S, totals_SC, tokens, logprobs)

    def select(self, keep_S: Tensor) -> Beams:
        return Beams(self.samples_S[keep_S], self.totals_SK[keep_S], self.tokens_SKT[keep_S], self.logprobs_SKT[keep_S])


def beam(
    model: Decodable, memory: Memory, specials: Specials, decoding: Decoding, device: torch.device | str
) -> list[list[Hypothesis]]:
    """Up to `decoding.keep` hypotheses per sample, best first; unfinished ones only where finished are too few."""
    samples = len(memory)
    kept: list[list[Hypothesis]] = [[] for _ in range(samples)]
    worst_S = torch.full((samples,), -torch.inf, device=device)  # of the whole batch, as `kept`
    room_S = torch.full((samples,), decoding.beam, device=device)  # likewise
    rules = Constraints.of(decoding, specials, device)
    cache = model.start_cache()
    beams = Beams.start(samples, device)
    last_R = torch.full((samples,), specials.start, device=device)
    for step in range(1, decoding.max_length + 1):
        scores_RV = next_scores(model, memory, last_R, cache)
        rules.apply_(scores_RV, beams.tokens_SKT.flatten(0, 1))
        ranked, parents_SC = _candidates(scores_RV, beams, decoding.beam)
        ends_SC = ranked.tokens_SKT[:, :, -1] == specials.end
        here_S = beams.samples_S
        if decoding.stop == "top":
            live, parents_SK = _first(ranked, parents_SC, decoding.beam)
            done_S = ends_SC[:, 0]
            _keep_cut(kept, live.select(done_S), specials.end, decoding)
        else:
            rank_C = torch.arange(ends_SC.shape[1], device=device)
            accepted_SC = ends_SC & (rank_C < room_S[here_S, None]) & (ranked.totals_SK > -torch.inf)
            _keep_finished(kept, worst_S, ranked, accepted_SC, decoding)
            ranked.totals_SK.masked_fill_(ends_SC, -torch.inf)
            live, parents_SK = _first(ranked, parents_SC, decoding.beam)
            if decoding.stop == "shrink":
                room_S[here_S] -= accepted_SC.sum(-1)
                places_K = torch.arange(live.totals_SK.shape[1], device=device)
                live.totals_SK.masked_fill_(places_K >= room_S[here_S, None], -torch.inf)
                done_S = live.totals_SK[:, 0] == -torch.inf
            else:
                # A total only falls and max_length is the kindest divisor, so this is the most a beam can reach.
                reachable_S = live.totals_SK[:, 0] / decoding.max_length**decoding.length_penalty
                done_S = reachable_S <= worst_S[here_S]
        stay = (~done_S).nonzero()[:, 0]
        beams, before_K, now_K = live.select(stay), scores_RV.shape[0] // len(here_S), live.totals_SK.shape[1]
        if not len(stay) or step == decoding.max_length:
            break
        last_R = beams.tokens_SKT[:, :, -1].flatten()
        rows_R = (stay[:, None] * before_K + parents_SK[stay]).flatten()
        cache.select(rows_R)
        if len(stay) < len(here_S) or now_K != before_K:
            memory = memory.select(rows_R)
    _keep_cut(kept, beams, specials.end, decoding)
    if not all(kept):
        raise speechless()
    return kept


def _candidates(scores_RV: Tensor, beams: Beams, beam: int) -> tuple[Beams, Tensor]:
    """The best beams one word longer, best first, and the beam each came from.

    A row ends in one way only, so `beam` + 1 words of each row and then the 2 x `beam` best of a sample are enough
    for `beam` that go on and for every end mark that ranks among the `beam` best.
    """
    width = min(beam + 1, scores_RV.shape[1])
    logprobs_RW, words_RW = largest(scores_RV, width)
    totals_SC = (beams.totals_SK.flatten()[:, None] + logprobs_RW).view(len(beams.samples_S), -1)
    totals_SC, order_SC = _sorted(totals_SC, 2 * beam)
    parents_SC = order_SC // width
    words_SC = words_RW.view(len(order_SC), -1).gather(1, order_SC)
    logprobs_SC = logprobs_RW.view(len(order_SC), -1).gather(1, order_SC)
    return beams.extended(totals_SC, parents_SC, words_SC, logprobs_SC), parents_SC


def _first(ranked: Beams, parents_SC: Tensor, beam: int) -> tuple[Beams, Tensor]:
    """The beam best of the candidates and their parents."""
    totals_SK, places_SK = _sorted(ranked.totals_SK, beam)
    sample_S1 = torch.arange(len(places_SK), device=places_SK.device)[:, None]
    tokens, logprobs = ranked.tokens_SKT[sample_S1, places_SK], ranked.logprobs_SKT[sample_S1, places_SK]
    return Beams(ranked.samples_S, totals_SK, tokens, logprobs), parents_SC.gather(1, places_SK)


def _sorted(totals_SC: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """At most so many totals, largest first and ties in order, and where they stood."""
    ordered = torch.sort(totals_SC, dim=-1, descending=True, stable=True)
    return ordered.values[:, :most], ordered.indices[:, :most]


def _keep_finished(
    kept: list[list[Hypothesis]], worst_S: Tensor, ranked: Beams, accepted_SC: Tensor, decoding: Decoding
) -> None:
    """Add the accepted candidates, which end with the end mark, to the best `decoding.keep` of their samples."""
    for place, row in accepted_SC.nonzero().tolist():
        sample = int(ranked.samples_S[place])
        logprobs = tuple(ranked.logprobs_SKT[place, row].tolist())
        words = tuple(ranked.tokens_SKT[place, row, :-1].tolist())
        found = [*kept[sample], Hypothesis(words, decoding.score(logprobs), logprobs)]
        kept[sample] = sorted(found, key=lambda hypothesis: -hypothesis.score)[: decoding.keep]
        if len(kept[sample]) == decoding.keep:
            worst_S[sample] = kept[sample][-1].score


def _keep_cut(kept: list[list[Hypothesis]], beams: Beams, end: int, decoding: Decoding) -> None:
    """Fill up with live beams in their order, each cut after its first end mark."""
    for place, sample in enumerate(beams.samples_S.tolist()):
        for total, tokens, logprobs in zip(
            beams.totals_SK[place].tolist(),
            beams.tokens_SKT[place].tolist(),
            beams.logprobs_SKT[place].tolist(),
            strict=True,
        ):
            if total == -torch.inf or len(kept[sample]) == decoding.keep:
                break
            length = tokens.index(end) if end in tokens else len(tokens)
            said = tuple(logprobs[: length + 1])
            kept[sample].append(Hypothesis(tuple(tokens[:length]), decoding.score(said), said))
