"""A small encoder that needs no weights: texts that share words lie near each other."""

from __future__ import annotations

import hashlib

import numpy as np

from empathia.core.types import Context
from empathia.exemplars.encoder import Queries, Weights, normalised
from empathia.exemplars.pairs import Bank, Pair, plain
from empathia.exemplars.reading import recency

WIDTH = 256


class WordEncoder:
    signature = "words"
    weights = Weights(like=0.5, emotion=0.1, floor=0.2, temperature=0.05)

    def contexts(self, contexts):
        rows = [recency(len(c.turns)) @ self.replies([t.text for t in c.turns]) for c in contexts]
        about = normalised(np.array(rows, dtype=np.float32).reshape(len(contexts), WIDTH))
        return Queries(about, about)

    def replies(self, texts):
        rows = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in plain(text).split():
                row[int(hashlib.md5(word.encode()).hexdigest(), 16) % WIDTH] += 1
        return normalised(rows)


def pair(context: str, reply: str, emotion: str | None = None, dialogue: str = "") -> Pair:
    return Pair(Context.of(context), reply, dialogue or context, "toys", emotion)


BANK = Bank(
    "toys",
    (
        pair("my dog ran away last night", "where did you last see your dog", "sad"),
        pair("my dog won a prize", "what a clever dog you have", "proud"),
        pair("my dog learned to swim", "What a clever dog you have!", "joyful"),
        pair("i lost my job", "that is a heavy blow", "devastated"),
        pair("i got a new job", "congratulations, when do you start", "excited"),
        pair("the neighbours are loud", "have you told them", "annoyed"),
    ),
)
