"""BLEU, Distinct, variety, similarity, and the scorer that runs them all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from empathia.core.errors import BadInput
from empathia.core.replies import SystemReply
from empathia.core.types import Context, Score
from empathia.evaluation.bleu import bleu, bleu_raw_reference, bleu_rows, bleu_statistic
from empathia.evaluation.distinct import distinct
from empathia.evaluation.normalise import normalised
from empathia.evaluation.scorer import score_replies
from empathia.evaluation.significance import paired_bootstrap
from empathia.evaluation.similarity import cosines, similarity
from empathia.evaluation.variety import variety

GOLD = [
    "Oh no, I'm so sorry! Did the vet find out what it was?",
    "That's wonderful. How long did you practise for it?",
    "I don't blame you, my landlord was just the same.",
    "What a kind thing for a neighbour to do.",
]
REPLIES = [
    "oh no , i am so sorry . what did the vet say ?",
    "that is wonderful . you must be proud of it !",
    "i do not blame you at all .",
    "what a kind thing to do .",
]


def by_name(scores: Sequence[Score]) -> dict[str, Score]:
    return {score.name: score for score in scores}


def multi_bleu(replies: list[str], gold: list[str]) -> float:
    """What Moses' multi-bleu.perl computes for BLEU-4 of one reference, from its definition."""
    logs, reply_length, gold_length = 0.0, 0, 0
    for order in range(1, 5):
        matched = possible = 0
        for reply, reference in zip(replies, gold, strict=True):
            have, want = (
                Counter(zip(*(words[i:] for i in range(order)), strict=False))
                for words in (reply.split(), reference.split())
            )
            matched, possible = matched + sum((have & want).values()), possible + sum(have.values())
        logs += math.log(matched / possible) / 4
    reply_length = sum(len(r.split()) for r in replies)
    gold_length = sum(len(g.split()) for g in gold)
    return 100 * math.exp(logs + min(0.0, 1 - gold_length / reply_length))


def test_bleu_4_is_moses_multi_bleu_of_normalised_text() -> None:
    scores = by_name(bleu(REPLIES, GOLD))
    assert scores["bleu_4"].value == pytest.approx(multi_bleu(normalised(REPLIES), normalised(GOLD)))


def test_bleu_is_sacrebleus_and_signed_by_it() -> None:
    for order in (1, 2, 4):
        reference = sacrebleu.BLEU(tokenize="none", smooth_method="none", max_ngram_order=order)
        wanted = reference.corpus_score(normalised(REPLIES), [normalised(GOLD)]).score
        found = by_name(bleu(REPLIES, GOLD, "split:tiny"))[f"bleu_{order}"]
        assert found.value == pytest.approx(wanted)
    assert found.signature.startswith("split:tiny|nrefs:1|case:lc|eff:no|tok:none|smooth:none|version:")
    assert found.signature.endswith("|n:4|text:empathia-tokens")


def test_bleu_1_by_hand() -> None:
    # "i am sorry" against "i am so sorry !": 3 of 3 words, brevity exp(1 - 5/3)
    (first, *_) = bleu(["i am sorry"], ["I'm so sorry!"], resamples=0)
    assert first.value == pytest.approx(100 * math.exp(1 - 5 / 3))


def test_against_raw_references_capitals_and_glued_punctuation_do_not_match() -> None:
    # "Oh", "no," and "sorry!" as typed match no token of the reply; «so» alone does
    score = bleu_raw_reference(["oh no , i am so sorry !"], ["Oh no, I'm so sorry!"], resamples=0)
    assert score.name == "bleu_1_raw_reference"
    assert score.value == pytest.approx(100 / 8)
    assert "case:mixed" in score.signature and "raw reference" in score.signature


@given(st.permutations(range(4)))
@settings(max_examples=10, deadline=None)
def test_order_of_the_replies_changes_nothing(order: list[int]) -> None:
    shuffled = [REPLIES[i] for i in order], [GOLD[i] for i in order]
    assert [s.value for s in bleu(*shuffled, resamples=0)] == pytest.approx(
        [s.value for s in bleu(REPLIES, GOLD, resamples=0)]
    )
    assert [s.value for s in distinct(shuffled[0])] == [s.value for s in distinct(REPLIES)]


words = st.text("abc ?!", max_size=12)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_all_shares_stay_between_0_and_100(pairs: list[tuple[str, str]]) -> None:
    replies, gold = [a for a, _ in pairs], [b for _, b in pairs]
    scores = bleu(replies, gold, resamples=5) + distinct(replies) + variety(replies, resamples=5)
    for score in scores:
        assert math.isfinite(score.value)
        if score.name != "length":
            assert -1e-9 <= score.value <= 100 + 1e-9


def test_bleu_interval_and_paired_test() -> None:
    score = by_name(bleu(REPLIES * 20, GOLD * 20))["bleu_2"]
    assert score.low is not None and score.high is not None
    assert score.low < score.value < score.high
    same = bleu_rows(GOLD * 20, GOLD * 20)
    found = paired_bootstrap(same, bleu_rows(REPLIES * 20, GOLD * 20), bleu_statistic(2))
    assert found.difference == pytest.approx(100 - score.value)
    assert found.p < 0.01


def test_distinct_by_hand_with_both_denominators() -> None:
    scores = by_name(distinct(["a b a b", "a b c"]))
    assert scores["distinct_1_per_ngram"].value == pytest.approx(100 * 3 / 7)
    assert scores["distinct_2_per_ngram"].value == pytest.approx(100 * 3 / 5)  # ab ba bc of ab ba ab ab bc
    assert scores["distinct_2_per_token"].value == pytest.approx(100 * 3 / 7)


def test_replies_of_one_word_have_no_pairs() -> None:
    assert by_name(distinct(["yes", "no"]))["distinct_2_per_ngram"].value == 0.0


def test_a_constant_reply_shows_in_variety_and_distinct() -> None:
    constant, varied = ["i am sorry to hear that ."] * 40, [f"reply number {i} , friend ?" for i in range(40)]
    flat, rich = by_name(variety(constant) + distinct(constant)), by_name(variety(varied) + distinct(varied))
    assert flat["commonest_share"].value == flat["ten_commonest_share"].value == 100.0
    assert flat["distinct_1_per_ngram"].value == pytest.approx(100 * 7 / 280)
    assert flat["question_share"].value == 0.0 and flat["length"].value == 7.0
    assert rich["commonest_share"].value == 2.5 and rich["ten_commonest_share"].value == 25.0
    assert rich["question_share"].value == 100.0
    assert rich["distinct_1_per_ngram"].value > 5 * flat["distinct_1_per_ngram"].value


def letters(texts: Sequence[str]) -> np.ndarray:
    """A tiny encoder: how often each letter stands in the text."""
    return np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=float)


def test_similarity_is_the_mean_cosine_of_normalised_texts() -> None:
    assert cosines(["A", "ab", "a"], ["a", "a", "b"], letters).tolist() == pytest.approx([1, 0.5**0.5, 0])
    score = similarity("ses", ["a", "a"], ["a", "b"], letters, "split:tiny")
    assert score.value == 0.5
    assert score.signature == "split:tiny|n:2|text:empathia-tokens|encoder:letters"
    assert cosines([""], ["a"], letters).tolist() == [0.0]


def corpus(replies: Sequence[str], gold: Sequence[str | None]) -> list[SystemReply]:
    return [
        SystemReply(str(i), "toy", Context.of("my cat is ill"), reply, g)
        for i, (reply, g) in enumerate(zip(replies, gold, strict=True))
    ]


def test_the_scorer_names_every_figure_once() -> None:
    names = [s.name for s in score_replies(corpus(REPLIES, GOLD), embed=letters, bootstrap=10)]
    assert names == [
        "bleu_1", "bleu_2", "bleu_4", "bleu_1_raw_reference",
        "distinct_1_per_ngram", "distinct_2_per_ngram", "distinct_2_per_token",
        "length", "question_share", "commonest_share", "ten_commonest_share", "ses", "rel",
    ]  # fmt: skip


def test_the_scorer_without_gold_or_encoder() -> None:
    names = {s.name for s in score_replies(corpus(REPLIES, [None] * 4), bootstrap=0)}
    assert "bleu_4" not in names and "ses" not in names and "length" in names
    assert "rel" in {s.name for s in score_replies(corpus(REPLIES, [None] * 4), embed=letters, bootstrap=0)}
    with pytest.raises(BadInput, match="reply '1' has no gold reply"):
        score_replies(corpus(REPLIES[:2], [GOLD[0], None]))
    with pytest.raises(BadInput, match="no replies"):
        score_replies([])


def test_odd_replies_are_scored() -> None:
    odd = ["", "   ", "🙂🙂", "ﷺ ‮ \x00", "ok " * 10_000]
    scores = score_replies(corpus(odd, ["fine ."] * 5), embed=letters, bootstrap=10)
    assert all(math.isfinite(score.value) for score in scores)


def test_mismatched_lists_are_refused() -> None:
    with pytest.raises(BadInput, match="one gold reply per reply"):
        bleu(["a"], [])
    with pytest.raises(BadInput, match="one target per reply"):
        cosines(["a"], [], letters)
    for metric in (distinct, variety):
        with pytest.raises(BadInput, match="at least one reply"):
            metric([])
