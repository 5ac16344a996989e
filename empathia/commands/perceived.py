"""All that perception says of one conversation: computed in batches, as JSON, and on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..core.types import Context, Evidence
from .conversations import Asked

if TYPE_CHECKING:
    from ..perception import Perception

#: conversations that are perceived together
_BATCH = 256
#: characters of a turn that are shown
_SHOWN = 1000
_LEVELS = ("none", "weak", "strong")


@dataclass(frozen=True, slots=True)
class Act:
    """What a given reply does."""

    text: str
    labels: Mapping[str, float]  # over the 41
    mechanisms: Mapping[str, tuple[float, ...]]  # levels 0, 1, 2
    sentiment: float

    def as_dict(self) -> dict[str, Any]:
        mechanisms = {name: list(chances) for name, chances in self.mechanisms.items()}
        return {
            "text": self.text,
            "labels": dict(self.labels),
            "mechanisms": mechanisms,
            "sentiment": self.sentiment,
        }


@dataclass(frozen=True, slots=True)
class Perceived:
    asked: Asked
    evidence: Evidence
    labels: Mapping[str, float]  # of the last turn, over the 41
    expected: str  # the one label to expect of the reply
    act: Act | None = None

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {} if self.asked.id is None else {"id": self.asked.id}
        row["turns"] = [{"speaker": turn.speaker, "text": turn.text} for turn in self.asked.context.turns]
        row |= self.evidence.as_dict() | {"labels": dict(self.labels), "expected": self.expected}
        return row if self.act is None else row | {"reply": self.act.as_dict()}


def perceived(perception: Perception, asked: Iterable[Asked]) -> Iterator[Perceived]:
    """Everything about each conversation, a batch at a time."""
    rest = iter(asked)
    while batch := list(islice(rest, _BATCH)):
        evidence = perception.contexts([one.context for one in batch])
        labels = perception.utterances([one.context.last for one in batch])
        acts = iter(_acts(perception, [(one.context, one.reply) for one in batch if one.reply is not None]))
        for one, seen, said in zip(batch, evidence, labels, strict=True):
            expected = perception.expected(seen.intent or {})
            yield Perceived(one, seen, said, expected, None if one.reply is None else next(acts))


def _acts(perception: Perception, pairs: list[tuple[Context, str]]) -> list[Act]:
    from ..perception.sentiment import sentiment

    if not pairs:
        return []
    contexts, replies = zip(*pairs, strict=True)
    shown, labels = perception.mechanisms(contexts, replies), perception.utterances(replies)
    return [Act(r, said, m, sentiment(r)) for r, said, m in zip(replies, labels, shown, strict=True)]


# On the terminal -----------------------------------------------------------------------------------------------


def show(found: Perceived, console: Console | None = None) -> None:
    """The conversation with its cause words marked, then bars."""
    console = console or Console()
    evidence = found.evidence
    for i, turn in enumerate(found.asked.context.turns):
        console.print(Text(f"{turn.speaker:>8}  ", style="dim"), _marked(i, turn.text, evidence), sep="")
    table = Table(box=None, show_header=False, padding=(0, 1))
    _bars(table, "feels", evidence.emotion or {}, 5)
    if evidence.polarity is not None:
        table.add_row("feels good", "", _bar(evidence.polarity, "green"), f"{evidence.polarity:.0%}")
    if evidence.sentiment is not None:
        table.add_row("sentiment", "", "", f"{evidence.sentiment:+.2f}")
    _bars(table, "last turn", found.labels, 1)
    _bars(table, "a listener", evidence.intent or {}, 3)
    table.add_row("expect", found.expected, "", "")
    for name, level in (evidence.mechanisms or {}).items():
        table.add_row("", name.replace("_", " "), _bar(level / 2, "magenta"), f"{level:.1f} of 2")
    if (act := found.act) is not None:
        table.add_row()
        _bars(table, "the reply", act.labels, 2)
        for name, chances in act.mechanisms.items():
            level = max(range(3), key=chances.__getitem__)
            table.add_row("", name.replace("_", " "), _LEVELS[level], f"{chances[level]:.0%}")
        table.add_row("", "sentiment", "", f"{act.sentiment:+.2f}")
    console.print(table)


def _marked(place: int, text: str, evidence: Evidence) -> Text:
    """A turn with its cause words marked; a cause without certain words is marked as a whole."""
    spans = [(first, last) for turn, first, last in evidence.cause_words or () if turn == place]
    if not spans and place in (evidence.causes or ()):
        spans = [(0, len(text))]
    made = Text(text.replace("\0", " "))
    for first, last in spans:
        made.stylize("bold yellow underline", first, last)
    if len(made) > _SHOWN:
        made = made[:_SHOWN] + Text(" …", style="dim")
    return made


def _bars(table: Table, title: str, chances: Mapping[str, float], count: int) -> None:
    for name, chance in sorted(chances.items(), key=lambda pair: -pair[1])[:count]:
        table.add_row(title, name, _bar(chance, "cyan"), f"{chance:.0%}")
        title = ""


def _bar(share: float, colour: str) -> Text:
    return Text("█" * max(1, round(24 * share)), style=colour)
