"""Sentiment by VADER's lexicon and rules: compound, from −1 to 1."""

from __future__ import annotations

from functools import cache
from typing import Any

#: VADER walks every word against every other; a long text's sentiment does not need all of it
LONGEST = 4000


def sentiment(text: str) -> float:
    return float(_analyser().polarity_scores(text[:LONGEST].replace("\0", " "))["compound"])


@cache
def _analyser() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()
