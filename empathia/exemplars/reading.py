"""How a conversation is read for retrieval: word pieces, and how much each counts in the conversation's vector.

LEMPEx' retriever often finds for a whole conversation what it finds for the first utterance: that one is the
longest, and a mean over pieces follows the longest. Here all turns are read together, so that each knows the
others, but pooled turn by turn: the last turn counts 1, the one before `FADE`, then `FADE`², however long they are.

A single turn's pieces all count the same, [CLS] and [SEP] included, which is all-MiniLM-L6-v2's own mean. A reply is
read as a listener's turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.types import Context, Turn
from ..perception.tokens import Reader, Tokens

Array = NDArray[np.float32]

#: how much a turn counts beside the one after it; un-tuned recall is flat from .5 to 1, collapse falls with it
FADE = 0.7
#: word pieces of a context and of a reply, marks included; of one turn among several (first and last always fit)
CONTEXT, REPLY, TURN = 64, 32, 30
PIECES = f"{CONTEXT}-{REPLY}-{TURN}"


def read_contexts(reader: Reader, contexts: Sequence[Context]) -> list[Tokens]:
    """The pieces of each context; a single turn may fill all the room."""
    found: dict[int, Tokens] = {}
    for alone, turn in ((True, CONTEXT - 2), (False, TURN)):
        places = [i for i, context in enumerate(contexts) if (len(context.turns) == 1) is alone]
        found |= dict(zip(places, reader.contexts([contexts[i] for i in places], turn, CONTEXT), strict=True))
    return [found[i] for i in range(len(contexts))]


def read_replies(reader: Reader, texts: Sequence[str]) -> list[Tokens]:
    return reader.contexts([Context((Turn("listener", text),)) for text in texts], REPLY - 2, REPLY)


def recency(turns: int) -> Array:
    """What each of so many turns counts; together 1."""
    counts = np.float32(FADE) ** np.arange(turns, dtype=np.float32)[::-1]
    return np.asarray(counts / max(counts.sum(), 1e-9), dtype=np.float32)


def pool_weights(tokens: Tokens) -> Array:
    """What each piece counts; together 1. A turn's [SEP] belongs to the turn, [CLS] to the last one."""
    places = np.array(tokens.turns)
    kept = np.unique(places[places >= 0])
    if not len(kept):  # no text at all
        return np.full(len(tokens), 1 / len(tokens), dtype=np.float32)
    for i in range(1, len(places)):
        if places[i] < 0:
            places[i] = places[i - 1]
    places[places < 0] = kept[-1]
    weights = np.zeros(len(tokens), dtype=np.float32)
    for place, share in zip(kept, recency(len(kept)), strict=True):
        weights[places == place] = share / (places == place).sum()
    return weights
