"""The seam between the companion and a language model: a prompt and how to sample in, text out.

A prompt has one of two forms. A `str` is continued as it stands, which is what a model tuned to our own format
wants (`Engine.tuned`). A tuple of `Message`s is put into the model's own chat template; so a model that has never
seen our format gets the same plan and evidence as plain instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from ...core.errors import BadInput, EmpathiaError
from ...core.types import Stop

#: Tokens of prompt and reply: enough for a long conversation with its evidence, and light on memory.
CONTEXT = 2048


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


Prompt = str | tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn: penalty, temperature, then `top_k`, `top_p`, `min_p`. Temperature 0 takes the
    likeliest token, whatever else is set.

    Candidate i of a call is drawn with `seed + i`, so a single reply is the first candidate of its seed.
    """

    temperature: float = 0.8
    top_p: float = 0.95  # the likeliest tokens that hold this much probability; 1 keeps all
    top_k: int = 0  # the likeliest so many; 0 keeps all
    min_p: float = 0.0  # tokens at least this likely, relative to the likeliest; 0 keeps all
    repeat_penalty: float = 1.0  # above 1, tokens among the last 64 become less likely
    seed: int = 0
    max_tokens: int = 64
    stop: tuple[str, ...] = ()  # the text ends before the first of these

    def __post_init__(self) -> None:
        rules = {
            "temperature": (self.temperature >= 0, "0 or more"),
            "top_p": (0 < self.top_p <= 1, "above 0, at most 1"),
            "top_k": (self.top_k >= 0, "0 or more"),
            "min_p": (0 <= self.min_p <= 1, "between 0 and 1"),
            "repeat_penalty": (self.repeat_penalty > 0, "above 0"),
            "seed": (0 <= self.seed < 2**31, "between 0 and 2147483647"),
            "max_tokens": (self.max_tokens >= 1, "1 or more"),
        }
        for name, (kept, rule) in rules.items():
            if not kept:
                raise BadInput(f"{name} cannot be {getattr(self, name)}", f"it must be {rule}")


@dataclass(frozen=True, slots=True)
class Generated:
    """One continuation, whole."""

    text: str
    tokens: int
    #: Sum over its tokens, in nats, by the model itself (temperature 1, nothing cut off); None if unknown.
    log_probability: float | None = None
    #: The model or a stop string ended it; else it was cut at `max_tokens` or at the end of the context.
    ended: bool = True


class Engine(Protocol):
    """A language model. Calls may come from several threads; each gets its own text."""

    name: str
    #: Everything about the model that changes a reply, in one word: for records and caches.
    signature: str
    #: The model knows our own prompt format: give it a `str`. Else give it messages.
    tuned: bool
    #: Tokens of prompt and reply together.
    context: int

    def generate(self, prompt: Prompt, sampling: Sampling, stop: Stop | None = None) -> Iterator[str | Generated]:
        """Pieces of text as they are made and, last, the whole. After `stop` is set, or when the iterator is closed,
        the engine stops within a token and there is no `Generated`."""
        ...

    def candidates(self, prompt: Prompt, n: int, sampling: Sampling, stop: Stop | None = None) -> list[Generated]:
        """`n` continuations, drawn together; none after `stop` is set."""
        ...

    def count(self, prompt: Prompt) -> int:
        """Tokens of a prompt, or a careful guess from above where the engine cannot be asked."""
        ...

    def close(self) -> None:
        """Let go of memory and threads. A closed engine answers no more; closing twice is fine."""
        ...


class EngineFailed(EmpathiaError):
    """The language model could not be started, reached or used."""

    exit_code = 6


class PromptTooLong(BadInput):
    """The prompt leaves no room for a reply; the caller may drop the oldest turns (`Engine.count`) and ask again."""

    def __init__(self, tokens: int, context: int) -> None:
        super().__init__(
            f"a prompt of {tokens} tokens leaves no room for a reply in {context}", "shorten the conversation"
        )
        self.tokens = tokens


def is_set(stop: Stop | None) -> bool:
    return stop is not None and stop.is_set()
