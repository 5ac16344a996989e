"""The seam: events and relations in, scored tails out; and what a whole utterance or conversation gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..core.types import Context, Evidence, Inference
from .events import events
from .relations import RELATIONS, checked
from .tails import best, gathered

#: What may help an answer most: feelings first, then wishes, then what may come of it.
TELLING = ("xReact", "xWant", "xEffect", "xIntent", "xNeed")


class Inferrer(Protocol):
    """Anything that knows what commonly goes with an event: the store, our own COMET, the published one."""

    name: str
    #: Everything that changes its tails, in one line: for records.
    signature: str

    def tails(self, events: Sequence[str], relations: Sequence[str], most: int = 5) -> list[list[Inference]]:
        """For each event (`personx loses personx's job`) at most `most` tails of each relation, best first, each
        with a score between 0 and 1."""
        ...


def infer(inferrer: Inferrer, text: str, relations: Sequence[str] = RELATIONS, most: int = 5) -> tuple[Inference, ...]:
    """The tails of an utterance, by relation and best first: of all its events together, none said twice."""
    [found] = infer_all(inferrer, [text], relations, most)
    return found


def infer_all(
    inferrer: Inferrer, texts: Sequence[str], relations: Sequence[str] = RELATIONS, most: int = 5
) -> list[tuple[Inference, ...]]:
    """`infer` of each text, every event asked for once."""
    told = [events(text) for text in texts]
    asked = list(dict.fromkeys(event for own in told for event in own))
    tails = dict(zip(asked, inferrer.tails(asked, checked(relations), 2 * most), strict=True))
    return [_merged([tail for event in own for tail in tails[event]], checked(relations), most) for own in told]


def _merged(tails: Sequence[Inference], relations: Sequence[str], most: int) -> tuple[Inference, ...]:
    merged: list[Inference] = []
    for relation in relations:
        scores = gathered((tail.text, tail.score) for tail in tails if tail.relation == relation)
        merged += best(relation, {tail: min(1.0, score) for tail, score in scores.items()}, most)
    return tuple(merged)


def evidence(
    inferrer: Inferrer,
    contexts: Sequence[Context],
    seen: Sequence[Evidence],
    most: int = 5,
    floor: float = 0.05,
    allowed: Callable[[str], bool] = lambda tail: True,
) -> list[Evidence]:
    """What is known about conversations, with a few inferences added, most telling relations first.

    `allowed` has the last word on each tail: people's tuples are not always kind.
    """
    texts = [_telling(context, known) for context, known in zip(contexts, seen, strict=True)]
    made = []
    for known, tails in zip(seen, infer_all(inferrer, texts, TELLING), strict=True):
        by_relation: dict[str, list[Inference]] = {}
        for tail in tails:
            if tail.score >= floor and allowed(tail.text):
                by_relation.setdefault(tail.relation, []).append(tail)
        turns = [tail for rank in range(most) for r in TELLING for tail in by_relation.get(r, [])[rank : rank + 1]]
        made.append(known.with_(inferences=tuple(turns[:most])))
    return made


def _telling(context: Context, seen: Evidence) -> str:
    """As in IMAGINE, the turns that cause the feeling if any are named; else the speaker's last that tells of an
    event."""
    own = [i for i, turn in enumerate(context.turns) if turn.speaker == "speaker"]
    causes = [i for i in own if i in (seen.causes or ())]
    told = [i for i in (causes or own[::-1]) if events(context.turns[i].text)]
    return ". ".join(context.turns[i].text for i in (told if causes else told[:1]))
