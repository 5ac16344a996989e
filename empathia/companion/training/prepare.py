"""From a corpus and its labels to lessons.

What a note says in training is known, not guessed: the annotated emotion, the silver label of the reply that came,
its mechanisms. The cause is the speaker's sentence that shares most words with the situation the speaker was asked to
tell; exemplars are other listeners' replies to similar messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...core.types import Dialogue, Turn
from ..prompt import Notes
from .lessons import Lesson

_SENTENCE = re.compile(r"[^.!?]+[.!?]*")
_WORD = re.compile(r"[a-z']{3,}")
CAUSE_WORDS = 24


def lessons(
    dialogues: Sequence[Dialogue],
    labels: Mapping[str, str],
    mechanisms: Mapping[str, Mapping[str, int]],
    exemplars: Mapping[str, Sequence[str]],
    knows: Mapping[str, Sequence[str]],
) -> list[Lesson]:
    """Everything is looked up by `CONVERSATION#TURN`; what is missing is not noted."""
    made = []
    for dialogue in dialogues:
        notes = {}
        for i, turn in enumerate(dialogue.turns):
            if i and turn.speaker == "listener":
                place = f"{dialogue.id}#{i}"
                notes[i] = Notes(
                    feeling=(dialogue.emotion,) if dialogue.emotion else (),
                    cause=told_cause(dialogue.turns[:i], dialogue.situation or ""),
                    knows=tuple(knows.get(place, ())),
                    exemplars=tuple(exemplars.get(place, ())),
                    answer=labels.get(place, ""),
                    mechanisms=mechanisms.get(place),
                )
        made.append(Lesson(dialogue, notes))
    return made


def told_cause(turns: Sequence[Turn], situation: str) -> str:
    """The speaker's sentence nearest to the situation by shared words, cut to a few words; "" if none shares any."""
    wanted = set(_WORD.findall(situation.lower()))
    sentences = [s.strip() for t in turns if t.speaker == "speaker" for s in _SENTENCE.findall(t.text)]

    def shared(sentence: str) -> float:
        words = set(_WORD.findall(sentence.lower()))
        return len(words & wanted) / (1 + len(words | wanted)) if words else 0.0

    best = max(sentences, key=shared, default="")
    return " ".join(best.split()[:CAUSE_WORDS]) if shared(best) > 0 else ""
