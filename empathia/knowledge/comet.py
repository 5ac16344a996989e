"""COMET (Bosselut et al., 2019): a language model that has read the tuples and writes tails of its own.

Two of them behind one class. **Ours** is a LoRA adapter on SmolLM2-135M-Instruct (`training/`); it reads an event and a
relation in plain words, «X loses X's job ⏎ feels», and writes up to the end of the line. The **published** COMET-BART
(Hwang et al., 2021) reads «PersonX loses PersonX's job xReact [GEN]». How continuations are drawn is handed in
(`Draw`): by beam search with transformers (`beams`), or by llama.cpp without torch (`commands/inferrers.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.types import Inference
from .relations import SAID
from .tails import best, tidy

#: A tail is short.
LONGEST = 16
#: Continuations that are drawn for each tail wanted, so that some may say the same.
SPARE = 2


@dataclass(frozen=True, slots=True)
class Drawn:
    """One continuation and its probability: the geometric mean over its tokens."""

    text: str
    score: float


#: Prompts, and how many continuations of each → continuations by prompt.
Draw = Callable[[Sequence[str], int], list[list[Drawn]]]
#: An event and a relation as a model wants to be asked.
Ask = Callable[[str, str], str]


class Comet:
    """An `Inferrer` that writes."""

    def __init__(self, name: str, signature: str, ask: Ask, draw: Draw) -> None:
        self.name, self.signature = name, signature
        self._ask, self._draw = ask, draw

    def tails(self, events: Sequence[str], relations: Sequence[str], most: int = 5) -> list[list[Inference]]:
        found: list[list[Inference]] = []
        for event in events:
            own: list[Inference] = []
            drawn = self._draw([self._ask(event, relation) for relation in relations], SPARE * most)
            for relation, continuations in zip(relations, drawn, strict=True):
                scores: dict[str, float] = {}
                for one in continuations:
                    tail = tidy(one.text.split("\n")[0])
                    if tail:
                        scores[tail] = max(one.score, scores.get(tail, 0.0))
                own += best(relation, scores, most)
            found.append(own)
        return found


def ask_ours(event: str, relation: str) -> str:
    return lettered(event) + asked(relation)


def lettered(event: str) -> str:
    """People as single letters: short, and the same word wherever the same person is meant."""
    said = re.sub(r"\bperson([xyz])\b", lambda found: found[1].upper(), event.lower())
    return " ".join(said.replace(" 's", "'s").replace("___", "something").split())


def asked(relation: str) -> str:
    """How our own COMET is asked for a relation, after the event: two tokens, mostly, and a line that reads on."""
    return f"\n {SAID[relation]}"


def ask_published(event: str, relation: str) -> str:
    """As COMET-ATOMIC-2020's own code asks its BART."""
    head = re.sub(r"\bperson([xyz])\b", lambda found: f"Person{found[1].upper()}", event.lower())
    return f"{head} {relation} [GEN]"
