"""What the language model reads: the conversation, and notes on how to answer its last turn.

Our adapter learned a compact form: SmolLM2's own chat marks, and before a reply a system turn with one short
line per kind of evidence. Each line can be missing; training dropped each at random. Any other chat model gets the
same notes as plain instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..core.taxonomy import INTENTS, MECHANISMS
from ..core.types import Context, Turn
from .engines.contract import Message

BEGIN, END = "<|im_start|>", "<|im_end|>"
_ROLE: dict[str, Literal["user", "assistant"]] = {"speaker": "user", "listener": "assistant"}
_SHORT = dict(zip(MECHANISMS, ("react", "interpret", "explore"), strict=True))

#: turns and characters that reach the model: the last ones, and the beginning of each
TURNS, CHARACTERS = 9, 800


@dataclass(frozen=True, slots=True)
class Notes:
    """The evidence as the model is told it. Empty parts are not mentioned."""

    feeling: tuple[str, ...] = ()  # likeliest first
    cause: str = ""
    knows: tuple[str, ...] = ()  # commonsense inferences
    exemplars: tuple[str, ...] = ()  # replies to similar messages, nearest first
    answer: str = ""  # one of the 41 labels
    mechanisms: Mapping[str, int] | None = None

    def lines(self) -> Iterator[str]:
        if self.feeling:
            yield "feels " + " or ".join(self.feeling)
        if self.cause:
            yield "because " + self.cause
        if self.knows:
            yield "so " + "; ".join(self.knows)
        for exemplar in self.exemplars:
            yield "like: " + exemplar
        plan = [self.answer] if self.answer else []
        plan += [f"{_SHORT[name]} {level}" for name, level in (self.mechanisms or {}).items()]
        if plan:
            yield "answer " + ", ".join(plan)


def chat_turn(role: str, text: str) -> str:
    return f"{BEGIN}{role}\n{plain(text)}{END}\n"


def opening(notes: Notes | None = None) -> str:
    """From the end of the last message to where the reply begins."""
    lines = list(notes.lines()) if notes else []
    return (chat_turn("system", "\n".join(lines)) if lines else "") + f"{BEGIN}assistant\n"


def prompt(context: Context, notes: Notes | None = None) -> str:
    """The raw text that our tuned model continues with a reply."""
    turns = "".join(chat_turn(_ROLE[turn.speaker], turn.text) for turn in _recent(context))
    return turns + opening(notes)


def messages(context: Context, notes: Notes | None = None) -> tuple[Message, ...]:
    """The same for a chat model that never saw our notes."""
    asked = Message("system", "\n".join(_instructions(notes or Notes())))
    return asked, *(Message(_ROLE[turn.speaker], plain(turn.text)) for turn in _recent(context))


def _instructions(notes: Notes) -> Iterator[str]:
    yield "You are a kind listener in a chat. Answer the last message in one or two short, natural sentences."
    if notes.feeling:
        yield (
            f"The person seems to feel {' or '.join(notes.feeling)}"
            + (f", because: {notes.cause}" if notes.cause else "")
            + "."
        )
    if notes.knows:
        yield "What probably also holds: " + "; ".join(notes.knows) + "."
    if notes.exemplars:
        yield "Good listeners answered similar messages like this (use them only if they fit):"
        yield from (f"- {exemplar}" for exemplar in notes.exemplars)
    if notes.answer:
        yield _ANSWER.get(notes.answer, f"Let your answer sound {notes.answer}.")
    for name, level in (notes.mechanisms or {}).items():
        yield _HOW_MUCH[name][level]
    yield "Do not repeat the person's words, and do not ask for what they already told you."


_ANSWER = dict(
    zip(
        INTENTS,
        (
            "Agree with the person.",
            "Acknowledge what the person said.",
            "Encourage the person.",
            "Console the person.",
            "Show sympathy.",
            "Suggest one small thing they could do.",
            "Ask one question about it.",
            "Wish the person well.",
        ),
        strict=True,
    )
)
_HOW_MUCH = {
    MECHANISMS[0]: ("Keep your own feelings out of it.", "Show a little warmth.", "Say warmly how it moves you."),
    MECHANISMS[1]: (
        "Do not interpret.",
        "Show that you understand.",
        "Say in your own words what this may mean to them.",
    ),
    MECHANISMS[2]: ("Do not ask anything.", "You may ask something general.", "Ask about one particular of it."),
}


def _recent(context: Context) -> Sequence[Turn]:
    """The last turns, beginning with the speaker's."""
    turns = context.turns[-TURNS:]
    return turns[1:] if len(turns) > 1 and turns[0].speaker == "listener" else turns


def plain(text: str) -> str:
    """Text that cannot pretend to be a mark of the chat."""
    return text[:CHARACTERS].replace("<|", "< |").replace("\0", " ").strip()
