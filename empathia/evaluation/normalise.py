"""The one form in which replies, gold replies and user turns are compared.

Published systems write «i am» where people write «I'm», and split off punctuation; scoring both sides
after the same lower-casing, contraction expansion and tokenisation keeps a system's formatting out of
its score. Uses `text.tokenize`, the only thing this room takes from outside `core`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..text.tokenize import tokenize

#: How signatures name this form.
FORM = "empathia-tokens"


def normalise(text: str) -> str:
    """Lower-case, contractions expanded, tokens separated by one space."""
    return " ".join(tokenize(text))


def normalised(texts: Iterable[str]) -> list[str]:
    return [normalise(text) for text in texts]
