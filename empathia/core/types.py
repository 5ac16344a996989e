"""What travels between the rooms. All frozen: a stage adds evidence by making a new object.

`Context` is what a model may see, `Gold` what it is to predict; they meet only in a loss, never in
`encode`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol

Role = Literal["speaker", "listener"]


@dataclass(frozen=True, slots=True)
class Turn:
    speaker: Role
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The conversation so far, ending with the turn that waits for an answer."""

    turns: tuple[Turn, ...]

    @classmethod
    def of(cls, *texts: str) -> Context:
        """Texts in order, speaker and listener alternating so that the last is the speaker's."""
        last = len(texts) - 1
        return cls(tuple(Turn("speaker" if (last - i) % 2 == 0 else "listener", t) for i, t in enumerate(texts)))

    @property
    def last(self) -> str:
        return self.turns[-1].text if self.turns else ""


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A reply someone once gave in a similar place (LEMPEx)."""

    reply: str
    context: str = ""
    emotion: str | None = None
    score: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Inference:
    """One commonsense tail (IMAGINE): `relation` as in ATOMIC or ConceptNet."""

    relation: str
    text: str
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a context. Every field is optional; a stage fills in its own."""

    emotion: Mapping[str, float] | None = None  # over the 32 emotions
    polarity: float | None = None  # probability that the speaker feels good
    causes: tuple[int, ...] | None = None  # indices of cause turns
    cause_words: tuple[tuple[int, int, int], ...] | None = None  # turn, first and past-last character
    turn_labels: tuple[str, ...] | None = None  # of every turn so far, one of the 41
    sentiment: float | None = None  # VADER compound, -1 to 1
    exemplars: tuple[Exemplar, ...] | None = None
    inferences: tuple[Inference, ...] | None = None
    intent: Mapping[str, float] | None = None  # planned reply, over the 41 labels
    mechanisms: Mapping[str, float] | None = None  # planned reply, each mechanism's expected level

    def with_(self, **found: Any) -> Evidence:
        return replace(self, **found)

    @property
    def top_emotion(self) -> str | None:
        return max(self.emotion, key=self.emotion.__getitem__) if self.emotion else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, unfilled fields left out."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Gold:
    """What really came next, and its labels where someone gave them."""

    reply: str
    emotion: str | None = None  # of the context, as annotated
    intent: str | None = None  # of the reply, one of the 41
    mechanisms: Mapping[str, int] | None = None  # of the reply, levels 0-2
    sentiment: float | None = None  # of the reply


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    context: Context
    gold: Gold
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True, slots=True)
class Dialogue:
    id: str
    turns: tuple[Turn, ...]
    emotion: str | None = None
    situation: str | None = None

    def examples(self) -> Iterator[Example]:
        """One per listener turn that answers someone: all turns before it, and the turn as gold."""
        for i, turn in enumerate(self.turns):
            if i > 0 and turn.speaker == "listener":
                yield Example(f"{self.id}#{i}", Context(self.turns[:i]), Gold(turn.text, self.emotion))


@dataclass(frozen=True, slots=True)
class Wish:
    """What a caller asks of a reply. Unset parts are the responder's own choice."""

    emotion: str | None = None
    intent: str | None = None
    mechanisms: Mapping[str, int] | None = None
    stochastic: bool | None = None
    seed: int | None = None
    length: int | None = None  # at most so many tokens
    temperature: float | None = None
    top_p: float | None = None
    candidates: int | None = None  # replies to weigh before one is chosen
    stop: tuple[str, ...] = ()  # the reply ends before the first of these


@dataclass(frozen=True, slots=True)
class Candidate:
    text: str
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    evidence: Evidence = field(default_factory=Evidence)
    candidates: tuple[Candidate, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)  # seconds by stage

    def as_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "evidence": self.evidence.as_dict(),
            "candidates": [asdict(c) for c in self.candidates],
            "timings": dict(self.timings),
        }


@dataclass(frozen=True, slots=True)
class Score:
    """A number with its conditions: `signature` says split, vocabulary, averaging, decoder, seed…"""

    name: str
    value: float
    signature: str
    low: float | None = None  # bounds of a 95 % bootstrap interval
    high: float | None = None

    def __str__(self) -> str:
        interval = "" if self.low is None else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.name} = {self.value:.4g}{interval} | {self.signature}"


class Responder(Protocol):
    """Everything that can answer: the companion, a trained model, retrieval, a remote model."""

    name: str

    def reply(self, context: Context, wish: Wish | None = None) -> Reply: ...


class Stop(Protocol):
    """Set from another thread when nobody waits for the reply any more; `threading.Event` is one."""

    def is_set(self) -> bool: ...


class Streamer(Responder, Protocol):
    """A responder that can be watched while it writes, and stopped."""

    def stream(self, context: Context, wish: Wish | None = None, stop: Stop | None = None) -> Iterator[str | Reply]:
        """Pieces of text as they are written and, last, the whole `Reply`. With several candidates the pieces come
        once one is chosen. After `stop` is set it ends within a token, without a `Reply`."""
        ...
