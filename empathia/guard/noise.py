"""Cheap, honest variety for training: the same sentence, typed in haste or in the middle of other talk."""

from __future__ import annotations

import random
from collections.abc import Sequence

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def typed(text: str, chance: random.Random) -> str:
    """Plain text with a slip or two of the keyboard, or without its stops and commas."""
    if chance.random() < 0.2:
        text = text.replace(" . ", " ").replace(" , ", " ")
    words = text.split()
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
        place = chance.randrange(len(words))
        if len(words[place]) > 3:
            words[place] = _slip(words[place], chance)
    return " ".join(words)


def _slip(word: str, chance: random.Random) -> str:
    i = chance.randrange(1, len(word) - 1)
    return chance.choice(
        (
            word[:i] + word[i + 1 :],
            word[:i] + word[i + 1] + word[i] + word[i + 2 :],
            word[:i] + word[i] + word[i:],
            word[:i] + chance.choice(_LETTERS) + word[i + 1 :],
        )
    )


def amid(text: str, talk: Sequence[str], chance: random.Random) -> str:
    """The text after, before or between ordinary things to say."""
    before, after = chance.choice(((1, 0), (0, 1), (1, 0), (0, 1), (1, 1)))
    parts = [*chance.sample(talk, before), text, *chance.sample(talk, after)]
    return " . ".join(part.strip(" .") for part in parts)
