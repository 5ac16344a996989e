"""How much likeness of contexts, fitness of the reply and emotion should count: tried out on validation dialogues.

A bank is good if what it finds is near what the listener really said. So each setting is judged by the mean cosine
(un-tuned MiniLM, a judge that took no part in training) between the exemplars found and the reply that was given in a
validation dialogue.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..core.types import Context, Dialogue
from ..corpora.registry import corpus
from ..text import sentence_encoder
from .encoder import DialogueEncoder, TunedEncoder, Weights
from .index import Emotions, Index, query_vectors
from .pairs import Bank, Pair, from_dialogues, own_bank
from .reading import Array

LIKE = (0.0, 0.25, 0.5, 0.75, 1.0)
EMOTION = (0.0, 0.1, 0.2, 0.3, 0.5)
_SHOWN = 3  # exemplars that are judged
_BINS = 20

Perceive = Callable[[Sequence[Context]], Sequence[Emotions]]
Judge = Callable[[Sequence[str]], Array]


@dataclass(frozen=True, slots=True)
class Tuned:
    weights: Weights
    nearness: dict[tuple[float, float], float]  # (like, emotion) → mean cosine of exemplars and given replies


def tune(
    index: Index, encoder: DialogueEncoder, asked: Sequence[Pair], emotions: Sequence[Emotions], judge: Judge
) -> Tuned:
    """The weights that find, for the contexts of `asked`, exemplars nearest to their replies; among those within one
    standard error of the best, the ones that heed emotion most (a bank of other people's topics has to teach tone)."""
    queries = encoder.contexts([pair.context for pair in asked])
    given_ND, theirs_MD = judge([p.reply for p in asked]), judge([p.reply for p in index.bank.pairs])
    settings = [Weights(like, weight) for like in LIKE for weight in EMOTION]
    if all(emotion is None for emotion in emotions):  # then its weight would add the same to every pair
        settings = [Weights(like, Weights().emotion) for like in LIKE]
    tried = {}
    for weights in settings:
        scores, found = index.search(query_vectors(queries, emotions, weights), _SHOWN)
        near = np.einsum("nd,nkd->nk", given_ND, theirs_MD[found])
        tried[weights] = (float(near.mean()), scores, near)
    likeliest = max(tried, key=lambda weights: tried[weights][0])
    _, scores, near = tried[likeliest]
    enough = tried[likeliest][0] - float(near.std()) / near.size**0.5
    best = max(tried, key=lambda weights: (tried[weights][0] >= enough, weights.emotion, tried[weights][0]))
    _, scores, near = tried[best]
    chance = float((given_ND @ theirs_MD.mean(0)).mean())  # how near a random reply would be
    tuned = replace(best, floor=floor_of(scores.ravel(), near.ravel() - chance))
    return Tuned(tuned, {(weights.like, weights.emotion): score for weights, (score, _, _) in tried.items()})


def floor_of(scores: np.ndarray, help_given: np.ndarray) -> float:
    """The score below which exemplars help less than half as much as exemplars do on average."""
    order = np.argsort(scores)
    floor = float(scores[order[0]])
    for part in np.array_split(order, _BINS):
        if not len(part) or help_given[part].mean() >= help_given.mean() / 2:
            break
        floor = float(scores[part[-1]])
    return floor


def tune_encoder(
    encoder: DialogueEncoder, bank: Bank, name: str = "empathetic-dialogues", contexts: int = 400,
    perceive: Perceive | None = None, seed: int = 1,
) -> Tuned:  # fmt: skip
    """`tune` a bank for contexts of a corpus' validation split; `perceive` predicts what the speakers feel."""
    asked = _sample(corpus(name).load("valid"), name, contexts, seed)
    emotions = perceive([pair.context for pair in asked]) if perceive else [None] * len(asked)
    return tune(Index.build(bank, encoder), encoder, asked, emotions, sentence_encoder.load())


def tune_folder(folder: Path, perceive: Perceive | None = None) -> Tuned:
    """Tune the encoder that was trained in `folder` for the bank that ships, and put the weights on its card."""
    from .export import set_weights

    tuned = tune_encoder(TunedEncoder(folder), own_bank(), perceive=perceive)
    set_weights(folder, tuned.weights)
    return tuned


def _sample(dialogues: Sequence[Dialogue], source: str, most: int, seed: int) -> list[Pair]:
    pairs = list(from_dialogues(dialogues, source))
    return random.Random(seed).sample(pairs, min(most, len(pairs)))
