from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from decoding_toys import END, FIRST_WORD, SPECIALS, Table, ToyMemory, ToyTransformer, contexts, every_reply

from empathia.decoding.contract import Decoding
from empathia.decoding.search import candidates, decode

A, B, C = FIRST_WORD, FIRST_WORD + 1, FIRST_WORD + 2
ONE = ToyMemory(torch.zeros(1, 1))


@pytest.mark.parametrize(
    "plain", [Decoding(max_length=15), Decoding(max_length=15, min_length=4), Decoding(max_length=15, block_ngrams=2)]
)
@pytest.mark.parametrize("stop, alpha", [("bound", 0.0), ("shrink", 0.0), ("shrink", 1.0), ("top", 0.0), ("top", 1.0)])
def test_beam_of_one_is_greedy(plain: Decoding, stop: str, alpha: float) -> None:
    model, memory = ToyTransformer(vocabulary=30, end_bias=1.0), contexts(20)
    one = replace(plain, method="beam", beam=1, stop=stop, length_penalty=alpha)
    wanted = decode(model, memory, SPECIALS, plain)
    found = decode(model, memory, SPECIALS, one)
    assert [h.tokens for h in found] == [h.tokens for h in wanted]
    assert [h.logprobs for h in found] == [pytest.approx(h.logprobs, abs=1e-5) for h in wanted]
    assert len({h.tokens for h in wanted}) > 5


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_true_best(alpha: float, seed: int) -> None:
    vocabulary = FIRST_WORD + 3
    decoding = Decoding(method="beam", beam=400, keep=5, max_length=5, length_penalty=alpha)
    model, memory = ToyTransformer(vocabulary, seed=seed), contexts(2, seed=seed)
    for sample, found in enumerate(candidates(model, memory, SPECIALS, decoding)):
        wanted = every_reply(model, memory.select(torch.tensor([sample])), vocabulary, decoding)[:5]
        assert [h.tokens for h in found] == [h.tokens for h in wanted]
        assert [h.score for h in found] == pytest.approx([h.score for h in wanted], abs=1e-4)


def two_ways(said: tuple[int, ...]) -> dict[int, float]:
    """ "A" ends at once with total 0.6 x 0.5 = 0.30; "B C" is 0.4 x 0.9 x 0.8 = 0.288, but longer."""
    return {
        (): {A: 0.6, B: 0.4},
        (A,): {END: 0.5, A: 0.25, B: 0.25},
        (B,): {C: 0.9, END: 0.1},
        (B, C): {END: 0.8, A: 0.2},
    }.get(said, {A: 0.5, B: 0.4, END: 0.1})


def test_length_normalisation_changes_the_pick_as_worked_by_hand() -> None:
    model = Table(FIRST_WORD + 3, two_ways)
    plain = Decoding(method="beam", beam=3, max_length=6)
    (summed,) = decode(model, ONE, SPECIALS, plain)
    assert summed.tokens == (A,)
    assert summed.score == pytest.approx(math.log(0.30), abs=1e-5)
    (averaged,) = decode(model, ONE, SPECIALS, replace(plain, length_penalty=1.0))
    assert averaged.tokens == (B, C)
    assert averaged.score == pytest.approx(math.log(0.288) / 3, abs=1e-5)


def test_best_first_and_unfinished_only_where_finished_are_too_few() -> None:
    model, memory = ToyTransformer(end_bias=1.0), contexts(8)
    for found in candidates(model, memory, SPECIALS, Decoding(method="beam", beam=6, keep=6, max_length=4)):
        assert len(found) == 6
        assert [h.finished for h in found] == sorted((h.finished for h in found), reverse=True)
        for group in (True, False):
            scores = [h.score for h in found if h.finished is group]
            assert scores == sorted(scores, reverse=True)
        assert len({(h.tokens, h.finished) for h in found}) == 6


def test_a_kept_hypothesis_bounds_the_search() -> None:
    """The bound stops early, yet a search that may not stop early finds nothing better."""
    model, memory = ToyTransformer(vocabulary=20, end_bias=2.0), contexts(10)
    quick = Decoding(method="beam", beam=4, max_length=20)
    found = decode(model, memory, SPECIALS, quick)
    rows = sum(model.rows)
    slow = [c[0] for c in candidates(model, memory, SPECIALS, replace(quick, keep=4))]
    assert [h.tokens for h in found] == [h.tokens for h in slow]
    assert rows < sum(model.rows) - rows


def test_shrinking_beam_ends_with_its_last_place() -> None:
    """Both ends rank second of the beam of two; each takes a place, so the third is never looked for."""

    def after(said: tuple[int, ...]) -> dict[int, float]:
        return {A: 0.6, END: 0.4} if len(said) < 2 else {A: 0.01, END: 0.99}

    shrinking = Decoding(method="beam", beam=2, keep=2, max_length=6, stop="shrink")
    (found,) = candidates(Table(FIRST_WORD + 1, after), ONE, SPECIALS, shrinking)
    assert [h.tokens for h in found] == [(), (A, A)]
    assert [h.score for h in found] == pytest.approx([math.log(0.4), math.log(0.36 * 0.99)], abs=1e-5)


def test_released_rule_stops_only_when_the_top_beam_ends() -> None:
    """The end first comes second (0.45 < 0.55), so the released search goes on and answers with a worse reply."""

    def after(said: tuple[int, ...]) -> dict[int, float]:
        return {(): {A: 0.55, END: 0.45}, (A,): {END: 0.6, B: 0.4}}.get(said, {C: 1.0})

    model = Table(FIRST_WORD + 3, after)
    released = Decoding(method="beam", beam=2, max_length=5, stop="top")
    (ours,) = decode(model, ONE, SPECIALS, replace(released, stop="bound"))
    assert ours.tokens == () and ours.finished
    # The ended beam runs on as (END, C, ...) with 0.45, above (A, END) with 0.33, and never ends again.
    (theirs,) = decode(model, ONE, SPECIALS, released)
    assert theirs.tokens == () and theirs.score == pytest.approx(math.log(0.45), abs=1e-5)


def test_released_rule_ends_with_the_top_beam() -> None:
    def after(said: tuple[int, ...]) -> dict[int, float]:
        return {(): {A: 0.9, B: 0.1}, (A,): {END: 0.6, B: 0.4}, (B,): {END: 1.0}}[said]

    model = Table(FIRST_WORD + 2, after)
    (found,) = candidates(model, ONE, SPECIALS, Decoding(method="beam", beam=2, keep=2, max_length=5, stop="top"))
    assert [h.tokens for h in found] == [(A,), (A, B)]
    assert [h.finished for h in found] == [True, False]
