"""Everything perception can say, from the weights that ship.

Four encoders, each loaded when its question is first asked: `feeling` (the speaker's emotion, and what a listener will
do), `cause`, `utterance` (one of 41 labels) and `mechanisms`. Probabilities are calibrated: each head's logits
are divided by a temperature fitted on validation data (`calibration.json`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import places
from ..core.errors import BadFile, BadInput, MissingFile
from ..core.machine import cores
from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, MECHANISMS
from ..core.types import Context, Evidence, Turn
from .candidates import distances
from .encoder import Array, Encoder, pooled, sigmoid, softmax, where
from .sentiment import sentiment
from .tokens import Reader, Tokens
from .words import Words

#: the name of the correction by which one label is named for the reply to come (training/decision.py)
DECISION = "reply.decision"
#: word pieces of a post or a response, and of both, for the mechanisms (as in training)
PAIR_TURN, PAIR_TOTAL = 96, 176


class Perception:
    """Texts to labels. Safe to share among threads."""

    def __init__(self, folder: Path | None = None, threads: int | None = None) -> None:
        self.folder = folder or places.shipped() / "perception"
        self.threads = threads or cores()
        if not (self.folder / "tokenizer.json").exists():
            raise MissingFile(f"no perception weights in {self.folder}", "get a fresh copy of weights/perception")
        self.reader = Reader(self.folder / "tokenizer.json")
        path = self.folder / "calibration.json"
        try:
            self.calibration: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadFile(path, f"cannot be read: {error}", hint="get a fresh copy of weights/perception") from error

    # What a context says -------------------------------------------------------------------------------------

    def contexts(self, contexts: Sequence[Context], causes: bool = True) -> list[Evidence]:
        """Emotion, polarity, sentiment, causes, and the plan: what a listener would likely do next."""
        for context in contexts:
            if not context.last.strip():
                raise BadInput("the message is empty", "say something")
        found = self._feeling.each(self.reader.contexts(contexts), self._felt)
        if causes:
            found = [e.with_(**c) for e, c in zip(found, self.causes(contexts), strict=True)]
        return [e.with_(sentiment=sentiment(c.last)) for e, c in zip(found, contexts, strict=True)]

    def causes(self, contexts: Sequence[Context]) -> list[dict[str, Any]]:
        """`causes` (turns) and `cause_words` (turn, first and past-last character) of the last turn's emotion."""
        inputs = self.reader.contexts(contexts, turn=64, total=256)
        asked = dict(zip(map(id, inputs), contexts, strict=True))
        return self._cause.each(
            inputs, lambda states, batch: self._caused(states, batch, [asked[id(t)] for t in batch])
        )

    def expected(self, intent: Mapping[str, float]) -> str:
        """The one label to expect of the reply, given an evidence's `intent`; common ones weigh less."""
        correction = self._feeling.heads.get(DECISION, np.zeros(len(EMOTIONS_AND_INTENTS), np.float32))
        scores = [np.log(max(intent[label], 1e-9)) for label in EMOTIONS_AND_INTENTS] + correction
        return EMOTIONS_AND_INTENTS[int(np.argmax(scores))]

    # What an utterance says ----------------------------------------------------------------------------------

    def utterances(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """For each text, the probability of each of the 41 emotions and intents."""

        def answer(states: Array, batch: Sequence[Tokens]) -> list[dict[str, float]]:
            return _named(EMOTIONS_AND_INTENTS, self._classes(self._utterance, "label", states, where(batch)))

        return self._utterance.each(self.reader.utterances(texts), answer)

    def mechanisms(self, contexts: Sequence[Context], replies: Sequence[str]) -> list[dict[str, tuple[float, ...]]]:
        """For each reply to its context, the probability of levels 0, 1, 2 of each mechanism."""
        pairs = [
            Context((Turn("speaker", _post(c)), Turn("listener", r))) for c, r in zip(contexts, replies, strict=True)
        ]

        def answer(states: Array, batch: Sequence[Tokens]) -> list[dict[str, tuple[float, ...]]]:
            response = where(batch, 1)
            levels = {n: self._classes(self._mechanisms, n, states, response) for n in MECHANISMS}
            return [{n: tuple(map(float, levels[n][i])) for n in MECHANISMS} for i in range(len(batch))]

        return self._mechanisms.each(self.reader.contexts(pairs, PAIR_TURN, PAIR_TOTAL), answer)

    # Heads ---------------------------------------------------------------------------------------------------

    def _classes(self, encoder: Encoder, head: str, states: Array, pieces: NDArray[np.bool_]) -> Array:
        """Softmax of one head, at its temperature."""
        logits = self._logits(encoder, head, states, pieces)
        return softmax(logits / self.calibration.get(head, 1.0))

    def _logits(self, encoder: Encoder, head: str, states: Array, pieces: NDArray[np.bool_]) -> Array:
        h = encoder.heads
        made: Array = (
            pooled(states, h[f"{head}.pool.query"], pieces) @ h[f"{head}.out.weight"].T + h[f"{head}.out.bias"]
        )
        return made

    def _felt(self, states: Array, batch: Sequence[Tokens]) -> list[Evidence]:
        everywhere = where(batch)
        emotion = _named(EMOTIONS, self._classes(self._feeling, "emotion", states, everywhere))
        reply = _named(EMOTIONS_AND_INTENTS, self._classes(self._feeling, "reply", states, everywhere))
        logit = self._logits(self._feeling, "polarity", states, everywhere)[:, 0]
        polarity = sigmoid(logit / self.calibration.get("polarity", 1.0))
        levels = np.arange(3, dtype=np.float32)
        planned = {
            n: self._classes(self._feeling, f"reply_{n}", states, everywhere) @ levels
            for n in MECHANISMS
            if f"reply_{n}.out.weight" in self._feeling.heads
        }
        return [
            Evidence(
                emotion=emotion[i],
                polarity=float(polarity[i]),
                intent=reply[i],
                mechanisms={n: float(p[i]) for n, p in planned.items()} or None,
            )
            for i in range(len(batch))
        ]

    def _caused(self, states: Array, batch: Sequence[Tokens], contexts: Sequence[Context]) -> list[dict[str, Any]]:
        h = self._cause.heads
        made: list[dict[str, Any]] = []
        for state, tokens, context in zip(states, batch, contexts, strict=True):
            places, distance, kept = distances(tokens, context)
            if not kept:  # nothing but marks and invisible characters
                made.append({"causes": (), "cause_words": ()})
                continue
            rank = np.array(places)
            turns = np.stack(
                [
                    pooled(state[None, : len(rank)], h["cause.pool.query"], (rank == i)[None])[0]
                    for i in range(len(kept))
                ]
            )
            target = np.broadcast_to(turns[-1], turns.shape)
            both = np.concatenate([turns, target, turns * target, h["cause.distance.weight"][distance]], -1)
            hidden = _gelu(both @ h["cause.mix.weight"].T + h["cause.mix.bias"])
            turn_p = sigmoid((hidden @ h["cause.out.weight"].T + h["cause.out.bias"])[:, 0])
            chosen = [
                turn for turn, p in zip(kept, turn_p, strict=True) if p >= self.calibration.get("cause_threshold", 0.5)
            ]
            word_p = sigmoid((state[: len(rank)] @ h["cause.word.weight"].T + h["cause.word.bias"])[:, 0])
            words = _spans(tokens, word_p, set(chosen), self.calibration.get("cause_word_threshold", 0.5))
            made.append({"causes": tuple(chosen), "cause_words": words})
        return made

    # Encoders, each when first needed ------------------------------------------------------------------------

    @cached_property
    def _words(self) -> Words:
        return Words(self.folder)

    @cached_property
    def _feeling(self) -> Encoder:
        return Encoder(self.folder, "feeling", self._words, self.threads)

    @cached_property
    def _utterance(self) -> Encoder:
        return Encoder(self.folder, "utterance", self._words, self.threads)

    @cached_property
    def _mechanisms(self) -> Encoder:
        return Encoder(self.folder, "mechanisms", self._words, self.threads)

    @cached_property
    def _cause(self) -> Encoder:
        return Encoder(self.folder, "cause", self._words, self.threads)


@cache
def load() -> Perception:
    """The shipped weights, once per process."""
    return Perception()


def levels(probabilities: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """The likeliest level of each mechanism."""
    return {name: int(np.argmax(p)) for name, p in probabilities.items()}


def _named(names: Sequence[str], probabilities: Array) -> list[dict[str, float]]:
    return [dict(zip(names, map(float, row), strict=True)) for row in probabilities]


def _post(context: Context) -> str:
    """What a reply answers: the speaker's turns since the listener last spoke, as one post."""
    last: list[str] = []
    for turn in reversed(context.turns):
        if turn.speaker == "listener":
            break
        last.append(turn.text)
    return " ".join(reversed(last)) or context.last


def _spans(tokens: Tokens, chance: Array, turns: set[int], threshold: float) -> tuple[tuple[int, int, int], ...]:
    """Neighbouring likely pieces of cause turns, joined; a gap of one piece is closed. A cause turn without any
    likely piece gives none."""
    found: list[tuple[int, int, int]] = []
    previous = -2
    for i, (turn, (start, end)) in enumerate(zip(tokens.turns, tokens.spans, strict=True)):
        if turn in turns and chance[i] >= threshold:
            if found and found[-1][0] == turn and i - previous <= 2:
                found[-1] = (turn, found[-1][1], end)
            else:
                found.append((turn, start, end))
            previous = i
    return tuple(found)


def _gelu(x: Array) -> Array:
    from scipy.special import ndtr

    made: Array = x * ndtr(x).astype(np.float32)
    return made
