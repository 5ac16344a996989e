from __future__ import annotations

import math

import pytest

from empathia.core.errors import BadInput
from empathia.evaluation.perplexity import perplexity, perplexity_macro


def test_token_and_macro_average_by_hand() -> None:
    # two responses: one token at ln 100, and nine tokens at ln 2 each
    pairs = [(math.log(100), 1), (9 * math.log(2), 9)]
    assert perplexity(pairs).value == pytest.approx((100 * 2**9) ** (1 / 10))  # 2.96
    assert perplexity_macro(pairs).value == pytest.approx((100 * 2) ** 0.5)  # 14.1: the short one weighs as much


def test_signatures_tell_them_apart() -> None:
    pairs = [(1.0, 2), (2.0, 2)]
    token, macro = perplexity(pairs, "split:test"), perplexity_macro(pairs, "split:test")
    assert token.signature == "split:test|n:2|averaging:tokens"
    assert macro.signature == "split:test|n:2|averaging:responses"
    assert token.low is not None and token.high is not None
    assert token.low <= token.value <= token.high


def test_equal_responses_give_equal_averages_and_no_spread() -> None:
    pairs = [(6.0, 3)] * 5
    for score in (perplexity(pairs), perplexity_macro(pairs)):
        assert score.value == score.low == score.high == pytest.approx(math.exp(2))


@pytest.mark.parametrize("pairs", [[], [(1.0, 0)], [(math.inf, 3)], [(math.nan, 3)]])
def test_impossible_sums_are_refused(pairs: list[tuple[float, int]]) -> None:
    with pytest.raises(BadInput):
        perplexity(pairs)
    with pytest.raises(BadInput):
        perplexity_macro(pairs)
