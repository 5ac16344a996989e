"""Corpus BLEU through sacrebleu, and the variants published tables hold.

`bleu_1`, `bleu_2` and `bleu_4` score normalised replies against normalised gold with no smoothing:
on such text sacrebleu's count is that of Moses' `multi-bleu.perl -lc`, the BLEU of MoEL and MIME
(BLEU-4), and of the corpus BLEU-1/2 given for KEMP. LEMPEx's table holds BLEU-1 of lower-cased,
tokenised outputs against references as people typed them: `bleu_1_raw_reference`. IMAGINE's BLEU-2
(1.3 for every system) is no corpus BLEU-2 (FACTS section 12), and its paper gives no computation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from ..core.errors import BadInput
from ..core.types import Score
from .normalise import FORM, normalised
from .signature import sign
from .significance import Array, Statistic, bootstrap, bounded

_ORDERS = 4


def bleu(replies: Sequence[str], gold: Sequence[str], conditions: str = "", resamples: int = 1000) -> list[Score]:
    """`bleu_1`, `bleu_2`, `bleu_4` of replies against one gold reply each, both normalised, in percent."""
    rows = bleu_rows(replies, gold)
    signature = sign(conditions, _sacrebleu_signature("lc"), n=len(rows), text=FORM)
    return [_score(f"bleu_{order}", rows, order, signature, resamples) for order in (1, 2, 4)]


def bleu_raw_reference(
    replies: Sequence[str], gold: Sequence[str], conditions: str = "", resamples: int = 1000
) -> Score:
    """`bleu_1_raw_reference`: normalised replies against gold as typed, split at spaces only (LEMPEx)."""
    rows = _rows(normalised(replies), gold)
    signature = sign(conditions, _sacrebleu_signature("mixed"), n=len(rows), text=f"{FORM} reply, raw reference")
    return _score("bleu_1_raw_reference", rows, 1, signature, resamples)


def bleu_rows(replies: Sequence[str], gold: Sequence[str]) -> Array:
    """One row per reply: its length, its reference's, and matched and possible n-grams of each order.

    Column sums over any set of replies give `bleu_statistic` all it needs, so resampling is cheap.
    """
    return _rows(normalised(replies), normalised(gold))


def bleu_statistic(order: int) -> Statistic:
    """BLEU-`order` of column sums of `bleu_rows`, for `significance.bootstrap` and `paired_bootstrap`."""

    def statistic(sums: Array) -> Array:
        return np.array([_of_sums(row, order) for row in sums])

    return statistic


def _score(name: str, rows: Array, order: int, signature: str, resamples: int) -> Score:
    score = Score(name, _of_sums(rows.sum(0), order), signature)
    return bounded(score, bootstrap(rows, bleu_statistic(order), resamples)) if resamples else score


def _rows(replies: Sequence[str], gold: Sequence[str]) -> Array:
    if len(replies) != len(gold) or not replies:
        raise BadInput(f"BLEU needs one gold reply per reply: {len(replies)} and {len(gold)}")
    scorer = BLEU(tokenize="none", smooth_method="none", max_ngram_order=_ORDERS, effective_order=True)
    rows = []
    for reply, reference in zip(replies, gold, strict=True):
        found = scorer.sentence_score(reply, [reference])
        rows.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
    return np.array(rows, dtype=np.float64)


def _of_sums(sums: Array, order: int) -> float:
    counts = sums.astype(int).tolist()
    score = BLEU.compute_bleu(
        correct=counts[2 : 2 + order],
        total=counts[2 + _ORDERS : 2 + _ORDERS + order],
        sys_len=counts[0],
        ref_len=counts[1],
        smooth_method="none",
        max_ngram_order=order,
    )
    return float(score.score)


def _sacrebleu_signature(case: str) -> str:
    """sacrebleu's own signature of this count; `case:lc` where normalising has lower-cased both sides."""
    scorer = BLEU(tokenize="none", smooth_method="none", lowercase=case == "lc")
    scorer.corpus_score(["a"], [["a"]])
    return str(scorer.get_signature())
