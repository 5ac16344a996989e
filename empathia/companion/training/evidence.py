"""What a lesson may tell beside the annotated emotion: exemplars, mechanisms and commonsense, found once and kept in
the run.

Exemplars come from conversations that no lesson uses, and from the project's own bank; nearest by MiniLM's cosine of
the last three turns, a little nearer with the same emotion. So no lesson is told its own reply.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ...core.errors import MissingFile
from ...core.files import read_json, write_json
from ...core.types import Context, Dialogue, Evidence, Example
from ...exemplars.pairs import Bank
from ...knowledge import store
from ...perception import Perception
from ...perception.perception import levels
from ...text.sentence_encoder import SentenceEncoder
from ..knows import inferences, said

#: shares of the replies that get exemplars and mechanisms at all, and exemplars of each
WITH_EXEMPLARS, WITH_MECHANISMS, WITH_KNOWS, EXEMPLARS = 0.5, 0.7, 0.4, 3
SAME_EMOTION, OWN = 0.1, 0.05
BANK = 7000
FEWEST_WORDS, MOST_WORDS = 5, 25


@dataclass(frozen=True, slots=True)
class Known:
    """By `CONVERSATION#TURN`; `strangers` are replies to anything at all."""

    exemplars: dict[str, list[str]]
    mechanisms: dict[str, dict[str, int]]
    strangers: list[str]
    knows: dict[str, list[str]] = field(default_factory=dict)


def gather(
    lessons: Sequence[Dialogue],
    others: Sequence[Dialogue],
    own: Bank,
    encoder: SentenceEncoder,
    path: Path,
    say: Callable[[str], None],
) -> Known:
    """From `path` if it is there; else found, and written there."""
    if path.exists():
        return Known(**read_json(path))
    examples = [example for dialogue in lessons for example in dialogue.examples()]
    found, strangers = exemplars(examples, others, own, encoder)
    known = Known(found, mechanisms(examples), strangers, knows(examples, say))
    write_json(path, asdict(known))
    return known


def exemplars(
    examples: Sequence[Example], others: Sequence[Dialogue], own: Bank, encoder: SentenceEncoder
) -> tuple[dict[str, list[str]], list[str]]:
    bank = [
        (e.context, e.gold.reply, e.gold.emotion)
        for dialogue in others
        for e in dialogue.examples()
        if len(e.context.turns) <= 3 and FEWEST_WORDS <= len(e.gold.reply.split()) <= MOST_WORDS
    ]
    random.Random(2).shuffle(bank)
    bank = bank[:BANK] + [(pair.context, pair.reply, pair.emotion) for pair in own.pairs]
    is_own = np.array([i >= len(bank) - len(own) for i in range(len(bank))])
    emotions = np.array([emotion for _, _, emotion in bank])
    chance = random.Random(3)
    asked = [e for e in examples if chance.random() < WITH_EXEMPLARS]
    bank_ND, asked_ND = encoder([_text(c) for c, _, _ in bank]), encoder([_text(e.context) for e in asked])
    found = {}
    for example, vector in zip(asked, asked_ND, strict=True):
        score = bank_ND @ vector + SAME_EMOTION * (emotions == example.gold.emotion) + OWN * is_own
        found[example.id] = [bank[i][1] for i in np.argsort(-score)[:EXEMPLARS]]
    return found, [reply for _, reply, _ in bank]


def mechanisms(examples: Sequence[Example]) -> dict[str, dict[str, int]]:
    """As perception sees them in the replies that were given."""
    chance = random.Random(5)
    asked = [e for e in examples if chance.random() < WITH_MECHANISMS]
    seen = Perception().mechanisms([e.context for e in asked], [e.gold.reply for e in asked])
    return {e.id: levels(p) for e, p in zip(asked, seen, strict=True)}


def knows(examples: Sequence[Example], say: Callable[[str], None]) -> dict[str, list[str]]:
    """As the companion would be told it; nothing where no tuples are on this machine."""
    chance = random.Random(7)
    asked = [e for e in examples if chance.random() < WITH_KNOWS]
    try:
        inferrer = store(say)
    except MissingFile as problem:
        say(f"teaching without commonsense: {problem}")
        return {}
    found = inferences(inferrer, [e.context for e in asked], [Evidence()] * len(asked))
    return {e.id: [said(one) for one in own] for e, own in zip(asked, found, strict=True) if own}


def _text(context: Context) -> str:
    return " ".join(turn.text for turn in context.turns[-3:])
