from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from decoding_toys import SPECIALS, ToyTransformer, contexts
from hypothesis import given, settings
from hypothesis import strategies as st

from empathia.decoding.contract import Decoding
from empathia.decoding.sampling import draw
from empathia.decoding.scores import largest
from empathia.decoding.search import candidates, decode

SAMPLING = Decoding(method="sample", max_length=12, seed=5)


def said(decoding: Decoding, seeds: list[int] | None = None) -> list[tuple[int, ...]]:
    return [h.tokens for h in decode(ToyTransformer(), contexts(8), SPECIALS, decoding, seeds)]


def test_the_same_seed_says_the_same_and_another_does_not() -> None:
    assert said(SAMPLING) == said(SAMPLING)
    assert said(SAMPLING) != said(replace(SAMPLING, seed=6))
    assert said(SAMPLING, list(range(8))) == said(SAMPLING) != said(SAMPLING, list(range(8, 16)))


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    torch.manual_seed(0)
    model, memory = ToyTransformer(), contexts(3)
    before = torch.get_rng_state()
    decode(model, memory, SPECIALS, SAMPLING)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_longer_limit_leaves_the_beginning_alone() -> None:
    short, long = said(SAMPLING), said(replace(SAMPLING, max_length=40))
    assert [reply[:12] for reply in long] == short


def test_draws_of_one_sample_differ_and_the_single_one_is_among_them() -> None:
    model, memory = ToyTransformer(), contexts(4)
    single = decode(model, memory, SPECIALS, SAMPLING)
    for alone, several in zip(single, candidates(model, memory, SPECIALS, replace(SAMPLING, keep=5)), strict=True):
        assert len(several) == 5 and len({h.tokens for h in several}) > 2
        assert alone.tokens in {h.tokens for h in several}
        assert [h.score for h in several] == sorted((h.score for h in several), reverse=True)


def test_top_k_of_one_is_greedy() -> None:
    assert said(replace(SAMPLING, top_k=1)) == said(Decoding(max_length=12))
    assert said(replace(SAMPLING, top_p=1e-9)) == said(Decoding(max_length=12))


def test_draws_follow_the_probabilities() -> None:
    probability_V = torch.tensor([0.1, 0.0, 0.4, 0.3, 0.2])
    scores_RV = probability_V.log().expand(20_000, -1)
    uniform_R = (torch.arange(20_000) + 1) / 20_000
    for temperature in (0.5, 1.0, 2.0):
        wanted_V = (scores_RV[0] / temperature).softmax(-1)
        for top_k, top_p in ((0, 1.0), (5, 1.0), (0, 0.99999), (5, 0.99999)):
            drawn_R = draw(scores_RV, uniform_R, top_k, top_p, temperature)
            torch.testing.assert_close(drawn_R.bincount(minlength=5) / 20_000, wanted_V, atol=2e-3, rtol=0)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    vocabulary=st.sampled_from([1, 2, 7, 300, 2000]),
    sharpness=st.sampled_from([0.01, 1.0, 8.0]),
    top_k=st.integers(0, 12),
    top_p=st.one_of(st.just(1.0), st.floats(0.01, 0.999)),
    temperature=st.sampled_from([0.3, 1.0, 2.5]),
)
def test_top_k_and_top_p_restrict_the_support(
    seed: int, vocabulary: int, sharpness: float, top_k: int, top_p: float, temperature: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores_RV = (torch.randn(64, vocabulary, generator=generator) * sharpness).log_softmax(-1)
    if vocabulary > 2:
        scores_RV[:, ::2] = -torch.inf
    uniform_R = 1 - torch.rand(64, generator=generator)
    uniform_R[:2] = torch.tensor([1.0, 2.0**-24])
    drawn_R = draw(scores_RV, uniform_R, top_k, top_p, temperature)

    drawn_score_R1 = scores_RV.gather(1, drawn_R[:, None])
    assert (drawn_score_R1 > -torch.inf).all()
    above_R = (scores_RV > drawn_score_R1).sum(-1)
    if top_k:
        assert (above_R < top_k).all()
        scores_RV = scores_RV.masked_fill(scores_RV < scores_RV.topk(min(top_k, vocabulary)).values[:, -1:], -torch.inf)
    probability_RV = (scores_RV / temperature).softmax(-1)
    mass_above_R = probability_RV.masked_fill(scores_RV <= drawn_score_R1, 0).sum(-1)
    assert (mass_above_R < top_p + 1e-5).all()


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), vocabulary=st.integers(1, 3000), k=st.integers(1, 12))
def test_largest_is_topk(seed: int, vocabulary: int, k: int) -> None:
    scores_RV = torch.randn(5, vocabulary, generator=torch.Generator().manual_seed(seed))
    scores_RV[:, : vocabulary // 3] = -torch.inf
    values, ids = largest(scores_RV, min(k, vocabulary))
    wanted = scores_RV.topk(min(k, vocabulary))
    assert torch.equal(values, wanted.values)
    assert torch.equal(scores_RV.gather(1, ids), values)
    assert all(len(set(row)) == len(row) for row in ids.tolist())


@pytest.mark.parametrize("vocabulary", [24_000, 24_001, 24_063])
def test_largest_finds_the_tail_of_a_real_vocabulary(vocabulary: int) -> None:
    scores_RV = torch.zeros(2, vocabulary)
    scores_RV[:, [0, 63, 64, vocabulary - 1]] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert largest(scores_RV, 4)[1].tolist() == [[vocabulary - 1, 64, 63, 0]] * 2
