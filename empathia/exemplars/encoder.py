"""Contexts and replies to vectors, without torch.

`TunedEncoder` runs what `training.py` made: MiniLM's six layers in int8, with perception's run time and the table of
word vectors that all encoders share. `PlainEncoder` is MiniLM as it comes, turn by turn, and works before anything
is trained. `JoinedEncoder` reads the turns as one text, as LEMPEx does; it is there to be measured against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from ..core import places
from ..core.config import build
from ..core.errors import BadFile
from ..core.files import existing, read_json
from ..core.machine import cores
from ..core.types import Context, Turn
from ..perception.encoder import Encoder
from ..perception.tokens import Reader, Tokens
from ..perception.words import WORDS, Words
from ..text import sentence_encoder
from ..text.sentence_encoder import WIDTH, SentenceEncoder
from .reading import KINDS, SIGNATURE, Array, Parts, parts, read_turns

#: the encoder's files (`exemplars.onnx`, `exemplars.safetensors`), its run, and its folder among the shipped weights
NAME = "exemplars"
CARD, TOKENIZER = "card.json", "tokenizer.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """How a pair is scored for a context. `tuning.py` finds them for a trained encoder; the defaults were chosen by
    reading what MiniLM as it comes finds in the own bank: a small bank teaches tone, so emotion counts.

    score = `like` · cosine of the contexts + (1 − `like`) · cosine of context and reply + `emotion` · P(pair's emotion)
    """

    like: float = 0.5
    emotion: float = 0.3
    floor: float = 0.35  # a pair below it is no help
    temperature: float = 0.05  # of the softmax that says how much each exemplar counts


@dataclass(frozen=True, slots=True)
class Queries:
    """Where contexts lie among contexts (`about`) and where their replies are to be looked for (`answer`)."""

    about_ND: Array
    answer_ND: Array


class DialogueEncoder(Protocol):
    """Rows of length one; `signature` changes whenever vectors do."""

    signature: str
    weights: Weights

    def contexts(self, contexts: Sequence[Context]) -> Queries: ...

    def replies(self, texts: Sequence[str]) -> Array: ...


def load(announce: Callable[[str], None] | None = None) -> DialogueEncoder:
    """The tuned encoder where one was trained or is shipped, else MiniLM as it comes."""
    for folder in (places.runs() / NAME, places.shipped() / NAME):
        if (folder / CARD).exists():
            return TunedEncoder(folder)
    return PlainEncoder(sentence_encoder.load(announce))


class PlainEncoder:
    """MiniLM as it comes, turn by turn. Replies are looked for with the speaker's turns alone: with the listener's too,
    what was said already would fit best (`measure.py: repeats`)."""

    weights = Weights()

    def __init__(self, sentences: SentenceEncoder) -> None:
        self._sentences = sentences
        self.signature = f"{sentences.signature}/turns-{SIGNATURE}"

    def contexts(self, contexts: Sequence[Context]) -> Queries:
        split = parts(contexts)
        turns_ND = self._sentences([turn.text for turn in split.turns])
        about_ND = summed(split, turns_ND, len(contexts))
        answer_ND = about_ND - summed(split, turns_ND, len(contexts), only=KINDS.index("listener"))
        return Queries(normalised(about_ND), normalised(answer_ND))

    def replies(self, texts: Sequence[str]) -> Array:
        return self._sentences(texts)


class JoinedEncoder:
    """MiniLM as it comes, all turns as one text."""

    weights = Weights()

    def __init__(self, sentences: SentenceEncoder) -> None:
        self._sentences = sentences
        self.signature = f"{sentences.signature}/joined"

    def contexts(self, contexts: Sequence[Context]) -> Queries:
        about_ND = self._sentences([" ".join(turn.text for turn in context.turns) for context in contexts])
        return Queries(about_ND, about_ND)

    def replies(self, texts: Sequence[str]) -> Array:
        return self._sentences(texts)


class TunedEncoder:
    """The trained bi-encoder. One text at a time: int8 scales are taken over the whole input, so a batch-mate would
    change a text's vector; texts run side by side instead, one thread each."""

    def __init__(self, folder: Path) -> None:
        card = read_json(folder / CARD)
        if not isinstance(card, dict) or not isinstance(card.get("signature"), str):
            raise BadFile(folder / CARD, "not a card of an encoder", hint="export the encoder again")
        self.signature = f"{card['signature']}/{SIGNATURE}"
        self.weights = build(Weights, card.get("weights", {}), "weights")
        shared = folder if (folder / WORDS).exists() else places.shipped() / "perception"
        self._reader = Reader(existing(shared / TOKENIZER, "get a fresh copy of weights/"))
        self._layers = Encoder(folder, NAME, Words(shared), threads=1)
        self._answer = {kind: self._layers.heads[f"answer.{kind}"] for kind in KINDS}

    def contexts(self, contexts: Sequence[Context]) -> Queries:
        split = parts(contexts)
        turns_ND = self._turns(split.turns)
        about_ND = summed(split, turns_ND, len(contexts))
        answer_ND = about_ND.copy()
        for number, kind in enumerate(KINDS):
            moved_ND = turns_ND @ self._answer[kind].T
            answer_ND += summed(split, moved_ND, len(contexts), only=number)
        return Queries(normalised(about_ND), normalised(answer_ND))

    def replies(self, texts: Sequence[str]) -> Array:
        return self._turns([Turn("listener", text) for text in texts])

    def _turns(self, turns: Sequence[Turn]) -> Array:
        def vector(tokens: Tokens) -> Array:
            mean: Array = self._layers.states([tokens])[0].mean(0)
            return mean

        with ThreadPoolExecutor(cores()) as threads:
            rows = list(threads.map(vector, read_turns(self._reader, turns)))
        return normalised(np.array(rows, dtype=np.float32).reshape(len(rows), WIDTH))


def summed(split: Parts, turns_ND: Array, contexts: int, only: int | None = None) -> Array:
    """The weighted sum of each context's turns, or of those of one kind."""
    mine = slice(None) if only is None else split.kind_U == only
    total = np.zeros((contexts, turns_ND.shape[1]), dtype=np.float32)
    np.add.at(total, split.context_U[mine], split.weight_U[mine][:, None] * turns_ND[split.turn_U[mine]])
    return total


def normalised(rows_ND: Array) -> Array:
    """Rows of length one."""
    return np.asarray(rows_ND / np.maximum(np.linalg.norm(rows_ND, axis=1, keepdims=True), 1e-9), dtype=np.float32)
