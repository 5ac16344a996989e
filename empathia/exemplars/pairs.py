"""Banks: what someone said and how a good listener answered.

The project's own bank is `bank/EMOTION.toml`, a list of `[[pair]]` with `context` (one or three turns, the last the
speaker's), `reply`, `intent`, and where the reply shows a feeling of its own `emotion_shown`. Other banks are made
from dialogues (`from_dialogues`).
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from ..core.errors import BadFile, nearest
from ..core.files import existing, read_jsonl, write_jsonl
from ..core.taxonomy import EMOTIONS, INTENTS, NEUTRAL
from ..core.types import Context, Dialogue, Turn

OWN = Path(__file__).parent / "bank"
#: turns of a context that are kept, and words a reply must have and may have to be worth learning from
TURNS, FEWEST_WORDS, MOST_WORDS = 7, 3, 60

_KEYS = ("context", "reply", "intent", "emotion_shown")


@dataclass(frozen=True, slots=True)
class Pair:
    """A context and the reply it got. `dialogue` is where it comes from: a reply is never shown to its own dialogue."""

    context: Context
    reply: str
    dialogue: str
    source: str
    emotion: str | None = None  # the speaker's
    intent: str | None = None  # the reply's
    emotion_shown: str | None = None  # the reply's, if it shows one

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {"context": [{"speaker": t.speaker, "text": t.text} for t in self.context.turns]}
        rest = {key: getattr(self, key) for key in self.__slots__ if key != "context"}
        return row | {key: value for key, value in rest.items() if value is not None}


@dataclass(frozen=True)
class Bank:
    name: str
    pairs: tuple[Pair, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def fingerprint(self) -> str:
        """Twelve characters that change with any pair."""
        text = json.dumps([pair.as_dict() for pair in self.pairs], ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def save(self, path: Path) -> None:
        write_jsonl(path, (pair.as_dict() for pair in self.pairs))

    @classmethod
    def load(cls, path: Path, name: str) -> Bank:
        return cls(name, tuple(_saved(path, line, row) for line, row in read_jsonl(path)))


def own_bank(folder: Path = OWN) -> Bank:
    """The bank that was written for this project, every file and pair checked."""
    paths = sorted(existing(folder, "this copy of empathia is not whole: install it again").glob("*.toml"))
    return Bank("own", tuple(pair for path in paths for pair in _pairs(path)))


def plain(text: str) -> str:
    """A text without case, punctuation and spacing: two replies that differ only there are one."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def from_dialogues(
    dialogues: Iterable[Dialogue], source: str, crisis: Callable[[str], bool] = lambda text: False
) -> Iterator[Pair]:
    """A pair for each listener turn that answers the speaker.

    Successive messages of one person are one turn. Once a turn is a `crisis`, nothing more of that dialogue is taken:
    a crisis is answered by the guard, never by what someone once said to another.
    """
    for dialogue in dialogues:
        turns = merged(dialogue.turns)
        for place, turn in enumerate(turns):
            if crisis(turn.text):
                break
            fits = FEWEST_WORDS <= len(plain(turn.text).split()) <= MOST_WORDS
            if turn.speaker == "listener" and place > 0 and fits:
                context = Context(turns[max(0, place - TURNS) : place])
                yield Pair(context, turn.text, dialogue.id, source, dialogue.emotion)


def merged(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Turns in which speaker and listener alternate."""
    return tuple(Turn(who, " ".join(t.text for t in said)) for who, said in groupby(turns, lambda turn: turn.speaker))


def read_dialogues(path: Path) -> list[Dialogue]:
    """Dialogues of a `dialogues.jsonl`: `turns` (each `speaker` and `text`), and where known `id` and `emotion`."""
    dialogues = []
    for line, row in read_jsonl(path):
        emotion = row.get("emotion")
        if emotion is not None and emotion not in EMOTIONS:
            raise BadFile(
                path, f"'{emotion}' is no emotion", line=line, column="emotion", hint=nearest(str(emotion), EMOTIONS)
            )
        turns = _turns(path, line, row.get("turns"), "turns")
        dialogues.append(Dialogue(str(row.get("id", f"{path.stem}:{line}")), turns, emotion))
    return dialogues


def _pairs(path: Path) -> Iterator[Pair]:
    emotion = path.stem
    if emotion not in EMOTIONS:
        raise BadFile(path, "the file's name must be an emotion", hint=nearest(emotion, EMOTIONS))
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadFile(path, f"not TOML: {error}") from error
    rows = content.get("pair")
    if content.keys() != {"pair"} or not isinstance(rows, list):
        raise BadFile(path, "must hold a list of [[pair]] and nothing else")
    for number, row in enumerate(rows, 1):
        problem = _problem(row)
        if problem:
            raise BadFile(path, f"pair {number}: {problem}")
        context = Context.of(*(text.strip() for text in row["context"]))
        shown = row.get("emotion_shown")
        yield Pair(context, row["reply"].strip(), f"{emotion}:{number}", "own", emotion, row["intent"], shown)


def _problem(row: Any) -> str:
    """What is wrong with a pair as it stands in a file, if anything is."""
    if not isinstance(row, dict):
        return "is not a table"
    context, reply, intent, shown = (row.get(key) for key in _KEYS)
    unknown = row.keys() - set(_KEYS)
    if unknown:
        return f"unknown key '{min(unknown)}'; {nearest(min(unknown), _KEYS)}"
    if not isinstance(context, list) or len(context) not in (1, 3) or not all(map(_is_text, context)):
        return "'context' must be a list of one or three texts"
    if not _is_text(reply):
        return "'reply' must be a text"
    if intent not in (*INTENTS, NEUTRAL):
        return f"'intent' cannot be {intent!r}; {nearest(str(intent), (*INTENTS, NEUTRAL))}"
    if shown is not None and shown not in EMOTIONS:
        return f"'emotion_shown' cannot be {shown!r}; {nearest(str(shown), EMOTIONS)}"
    return ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _saved(path: Path, line: int, row: Mapping[str, Any]) -> Pair:
    context = Context(_turns(path, line, row.get("context"), "context"))
    for key in ("reply", "dialogue", "source"):
        if not isinstance(row.get(key), str):
            raise BadFile(path, "must be a text", line=line, column=key)
    rest = (row.get(key) for key in ("emotion", "intent", "emotion_shown"))
    return Pair(context, row["reply"], row["dialogue"], row["source"], *rest)


def _turns(path: Path, line: int, value: Any, column: str) -> tuple[Turn, ...]:
    if not isinstance(value, list) or not value:
        raise BadFile(path, "must be a list of turns", line=line, column=column)
    for turn in value:
        if (
            not isinstance(turn, dict)
            or turn.get("speaker") not in ("speaker", "listener")
            or not _is_text(turn.get("text"))
        ):
            raise BadFile(path, "each turn needs 'speaker' (speaker or listener) and 'text'", line=line, column=column)
    return tuple(Turn(turn["speaker"], turn["text"]) for turn in value)
