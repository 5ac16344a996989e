"""How a conversation is read for retrieval: turn by turn, and how much each turn counts.

LEMPEx' retriever often finds for a whole conversation what it finds for the first utterance: that one tells the story
and is the longest, and a vector of the joined text follows it. Reading the turns together and pooling them turn by turn
was tried first and, after a short training, collapsed as much; attention may carry the story into every turn's pieces.
So each turn is read by itself, and a conversation is the sum of its turns, the last counting 1, the one before `FADE`,
then `FADE`², however long they are.

A turn's vector depends on its text and on who says it, nothing else. A reply is a listener's turn, and has the same
vector when it has become part of a later context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.types import Context, Turn
from ..perception.tokens import Reader, Tokens

Array = NDArray[np.float32]

#: how much a turn counts beside the one after it; un-tuned recall is flat from .5 to 1, collapse falls with it
FADE = 0.7
#: turns of a context that are read, the first among them, and word pieces of a turn, marks included
TURNS, PIECES = 5, 48
#: what a turn is to the reply that is looked for
KINDS = ("last", "earlier", "listener")
SIGNATURE = f"{TURNS}-{PIECES}-{FADE:g}"


@dataclass(frozen=True, slots=True)
class Parts:
    """Contexts in parts: distinct turns, and for each use of one which context uses it, as what, and how much."""

    turns: tuple[Turn, ...]
    turn_U: NDArray[np.int64]
    context_U: NDArray[np.int64]
    kind_U: NDArray[np.int64]
    weight_U: Array


def parts(contexts: Sequence[Context], more: Sequence[Turn] = ()) -> Parts:
    """The parts of some contexts; `more` are turns that are read too, whoever uses them."""
    numbers: dict[Turn, int] = {}
    which, place, kind, weight = [], [], [], []
    for i, context in enumerate(contexts):
        kept = _kept(context)
        which += [numbers.setdefault(turn, len(numbers)) for turn in kept]
        place += [i] * len(kept)
        kind += [*(2 if turn.speaker == "listener" else 1 for turn in kept[:-1]), 0]
        weight += recency(len(kept)).tolist()
    for turn in more:
        numbers.setdefault(turn, len(numbers))
    turn_U, context_U, kind_U = (np.array(column, dtype=np.int64) for column in (which, place, kind))
    return Parts(tuple(numbers), turn_U, context_U, kind_U, np.array(weight, dtype=np.float32))


def read_turns(reader: Reader, turns: Sequence[Turn]) -> list[Tokens]:
    """Word pieces of each turn by itself."""
    return reader.contexts([Context((turn,)) for turn in turns], PIECES - 2, PIECES)


def recency(turns: int) -> Array:
    """What each of so many turns counts; together 1."""
    counts = np.float32(FADE) ** np.arange(turns, dtype=np.float32)[::-1]
    return np.asarray(counts / counts.sum(), dtype=np.float32)


def _kept(context: Context) -> tuple[Turn, ...]:
    """The first turn and the last few; nothing said is one empty turn."""
    turns = context.turns or (Turn("speaker", ""),)
    return turns if len(turns) <= TURNS else (turns[0], *turns[1 - TURNS :])
