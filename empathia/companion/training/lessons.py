"""Conversations as the adapter learns them: every turn, notes before each reply, the loss on the replies alone.

Each kind of evidence is dropped at random, and now and then an exemplar is a stranger's, so the model works with any
part missing and learns to pass over an exemplar that does not fit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...core.types import Dialogue
from ..prompt import END, Notes, chat_turn, opening, plain

#: how often a part is left out
DROP = {"all": 0.2, "feeling": 0.3, "cause": 0.5, "knows": 0.5, "exemplars": 0.6, "answer": 0.2, "mechanisms": 0.4}
STRANGER = 0.15


@dataclass(frozen=True, slots=True)
class Lesson:
    """One conversation and what may be told before each of its replies (by turn)."""

    dialogue: Dialogue
    notes: Mapping[int, Notes]


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    learned: bool  # the loss is on this


def pieces(lesson: Lesson, chance: random.Random, strangers: Sequence[str]) -> Iterator[Piece]:
    """The text of a lesson, cut where the loss begins and ends."""
    for i, turn in enumerate(lesson.dialogue.turns):
        if turn.speaker == "speaker" or i == 0:
            yield Piece(chat_turn("user" if turn.speaker == "speaker" else "assistant", turn.text), False)
        else:
            yield Piece(opening(thinned(lesson.notes.get(i, Notes()), chance, strangers)), False)
            yield Piece(plain(turn.text) + END, True)
            yield Piece("\n", False)


def thinned(notes: Notes, chance: random.Random, strangers: Sequence[str]) -> Notes:
    if chance.random() < DROP["all"]:
        return Notes()
    dropped = {part for part, often in DROP.items() if part != "all" and chance.random() < often}
    exemplars = tuple(
        chance.choice(strangers) if chance.random() < STRANGER else e for e in notes.exemplars[: chance.randint(1, 2)]
    )
    kept = replace(notes, exemplars=exemplars)
    empty = Notes()
    return replace(kept, **{part: getattr(empty, part) for part in dropped})
