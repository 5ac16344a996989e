"""Perplexity, averaged over tokens, and averaged as the released code averages it.

The released code takes exp of the mean over *batches* of the batch's token mean; with its test batch of
one that is a macro average over responses (FACTS: MoEL, MIME, EmpDG, CEM, KEMP), in which a word of a
short response weighs more. Both count the end-of-sentence token and leave label smoothing out: that is
up to whoever hands over the sums.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..core.errors import BadInput
from ..core.types import Score
from .signature import sign
from .significance import Array, bootstrap, bounded, ratio


def perplexity(pairs: Iterable[tuple[float, int]], conditions: str = "", resamples: int = 1000) -> Score:
    """exp(total negative log-likelihood / total tokens); `pairs` holds (nll sum, tokens) per response."""
    return _score("perplexity", _table(pairs), "tokens", conditions, resamples)


def perplexity_macro(pairs: Iterable[tuple[float, int]], conditions: str = "", resamples: int = 1000) -> Score:
    """exp(mean over responses of the response's mean negative log-likelihood): the published figure."""
    table = _table(pairs)
    means = np.stack([table[:, 0] / table[:, 1], np.ones(len(table))], axis=1)
    return _score("perplexity_macro", means, "responses", conditions, resamples)


def _score(name: str, rows: Array, averaging: str, conditions: str, resamples: int) -> Score:
    """exp of the mean that rows of (sum, count) have together."""
    value = float(_exp_ratio(rows.sum(0, keepdims=True))[0])
    score = Score(name, value, sign(conditions, n=len(rows), averaging=averaging))
    return bounded(score, bootstrap(rows, _exp_ratio, resamples)) if resamples else score


def _exp_ratio(sums: Array) -> Array:
    exponential: Array = np.exp(ratio(sums))
    return exponential


def _table(pairs: Iterable[tuple[float, int]]) -> Array:
    table = np.asarray(list(pairs), dtype=np.float64).reshape(-1, 2)
    if not len(table):
        raise BadInput("perplexity needs at least one response")
    if (table[:, 1] < 1).any():
        raise BadInput("perplexity needs at least one token in every response")
    if not np.isfinite(table).all():
        raise BadInput("a negative log-likelihood is not a finite number")
    return table
