from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from decoding_toys import END, FIRST_WORD, SPECIALS, ToyTransformer, contexts
from hypothesis import given, settings
from hypothesis import strategies as st

from empathia.decoding.constraints import repeats
from empathia.decoding.contract import Decoding
from empathia.decoding.search import candidates, decode

METHODS = [
    Decoding(max_length=30),
    Decoding(method="beam", keep=5, max_length=30),
    Decoding(method="sample", max_length=30),
]


def grams(words: tuple[int, ...], n: int) -> list[tuple[int, ...]]:
    return [words[i : i + n] for i in range(len(words) - n + 1)]


@pytest.mark.parametrize("decoding", METHODS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_ngram_comes_twice(decoding: Decoding, n: int) -> None:
    model, memory = ToyTransformer(vocabulary=FIRST_WORD + 4, end_bias=-30.0), contexts(6)
    for found in candidates(model, memory, SPECIALS, replace(decoding, block_ngrams=n)):
        for reply in found:
            assert len(set(grams(reply.tokens, n))) == len(grams(reply.tokens, n))
    free = [h.tokens for c in candidates(model, memory, SPECIALS, decoding) for h in c]
    assert any(len(set(grams(words, n))) < len(grams(words, n)) for words in free)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=9, max_size=9), min_size=1, max_size=4), st.integers(1, 5))
def test_repeats_against_plain_python(rows: list[list[int]], n: int) -> None:
    found = set(zip(*(t.tolist() for t in repeats(torch.tensor(rows), n)), strict=True))
    wanted = {
        (r, word)
        for r, row in enumerate(rows)
        for word in range(4)
        if (*row[len(row) - n + 1 :], word) in grams(tuple(row), n)
    }
    assert found == wanted


@pytest.mark.parametrize("decoding", METHODS, ids=str)
def test_a_row_with_nothing_left_to_say_ends(decoding: Decoding) -> None:
    """Four words, none twice, yet five are asked for: the reply ends after the fourth."""
    model = ToyTransformer(vocabulary=FIRST_WORD + 4)
    asked = replace(decoding, block_ngrams=1, min_length=5)
    for found in candidates(model, contexts(3), SPECIALS, asked):
        assert all(sorted(h.tokens) == list(range(FIRST_WORD, FIRST_WORD + 4)) and h.finished for h in found)


@pytest.mark.parametrize("decoding", METHODS, ids=str)
@pytest.mark.parametrize("least", [1, 5, 30])
def test_minimum_length(decoding: Decoding, least: int) -> None:
    model, memory = ToyTransformer(end_bias=8.0), contexts(6)
    assert any(not h.tokens for h in decode(model, memory, SPECIALS, decoding))
    replies = decode(model, memory, SPECIALS, replace(decoding, min_length=least))
    assert all(len(h.tokens) >= least and END not in h.tokens for h in replies)
    assert any(len(h.tokens) == least for h in replies)
