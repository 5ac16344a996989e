"""Labelled rows of the corpora. A conversation is always a `core.types.Dialogue`; labels stand beside it."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.types import Dialogue


@dataclass(frozen=True, slots=True)
class LabelledUtterance:
    """One utterance and one of the 41 emotions and intents."""

    id: str
    text: str
    label: str


@dataclass(frozen=True, slots=True)
class MechanismPair:
    """A post, a response to it, and how strongly (0, 1, 2) the response shows one mechanism of empathy."""

    id: str
    seeker: str
    response: str
    mechanism: str
    level: int
    rationales: tuple[str, ...]  # the parts of the response that show it, as the annotators copied them


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an utterance carries its emotion: a span of some turn, or (`turn` None) something left unsaid."""

    turn: int | None
    span: str


@dataclass(frozen=True, slots=True)
class CauseDialogue:
    """A dialogue with, per turn, its emotion and the causes of that emotion."""

    dialogue: Dialogue
    emotions: tuple[str, ...]
    causes: tuple[tuple[Cause, ...], ...]


@dataclass(frozen=True, slots=True)
class DialogueCauses:
    """Which turns of an EmpatheticDialogues conversation (by its id) cause the speaker's emotion."""

    id: str
    emotion: str
    words: tuple[tuple[str, ...], ...]  # the turns as the annotators tokenised them
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KnowledgeTuple:
    """«head relation tail», as in ATOMIC and ConceptNet."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True, slots=True)
class ActDialogue:
    """A dialogue with a communicative act and an emotion per turn."""

    dialogue: Dialogue
    acts: tuple[str, ...]
    emotions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SupportDialogue:
    """A conversation between a help seeker (speaker) and a supporter (listener), a strategy per supporter turn."""

    dialogue: Dialogue
    feeling: str  # the seeker's, in the corpus' own words
    problem: str
    strategies: tuple[str | None, ...]  # per turn; None for the seeker's


@dataclass(frozen=True, slots=True)
class EmotionWord:
    word: str
    value: int | None  # 0, 1 or 2 as published
