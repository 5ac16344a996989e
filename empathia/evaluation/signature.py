"""Signatures: the conditions of a number in one line, as sacrebleu writes them (`key:value|key:value`)."""

from __future__ import annotations


def sign(*conditions: str, **parts: object) -> str:
    """Conditions first (split, decoder, seed: whatever the caller knows), then what the metric itself fixes.

    >>> sign("split:test", "", n=5255, averaging="tokens")
    'split:test|n:5255|averaging:tokens'
    """
    return "|".join([c for c in conditions if c] + [f"{key}:{value}" for key, value in parts.items()])
