"""`replies.jsonl`: one system's answers to a set of contexts, the file that scorers and studies read.

One JSON object a line: `id`, `system`, `context` (a list of `{"speaker", "text"}`), `reply`, and where
known `gold` and `emotion`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BadFile
from .files import read_jsonl, write_jsonl
from .types import Context, Turn


@dataclass(frozen=True, slots=True)
class SystemReply:
    id: str
    system: str
    context: Context
    reply: str
    gold: str | None = None
    emotion: str | None = None

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "id": self.id,
            "system": self.system,
            "context": [{"speaker": t.speaker, "text": t.text} for t in self.context.turns],
            "reply": self.reply,
        }
        if self.gold is not None:
            row["gold"] = self.gold
        if self.emotion is not None:
            row["emotion"] = self.emotion
        return row


def write_replies(path: Path, replies: Iterable[SystemReply]) -> int:
    return write_jsonl(path, (r.as_dict() for r in replies))


def read_replies(path: Path) -> list[SystemReply]:
    """All replies of a file; a missing field, a wrong type or an id twice is an error with its line."""
    replies: list[SystemReply] = []
    seen: dict[str, int] = {}
    for line, row in read_jsonl(path):
        for key in ("id", "system", "reply"):
            if not isinstance(row.get(key), str):
                raise BadFile(path, f"field '{key}' must be a string", line=line, column=key)
        for key in ("gold", "emotion"):
            if row.get(key) is not None and not isinstance(row[key], str):
                raise BadFile(path, f"field '{key}' must be a string", line=line, column=key)
        if row["id"] in seen:
            raise BadFile(path, f"id '{row['id']}' is also on line {seen[row['id']]}", line=line, column="id")
        seen[row["id"]] = line
        context = Context(_turns(path, line, row.get("context")))
        replies.append(
            SystemReply(row["id"], row["system"], context, row["reply"], row.get("gold"), row.get("emotion"))
        )
    if not replies:
        raise BadFile(path, "holds no replies", hint="write it with: empathia generate RUN")
    return replies


def _turns(path: Path, line: int, value: Any) -> tuple[Turn, ...]:
    if not isinstance(value, list) or not value:
        raise BadFile(path, "'context' must be a non-empty list of turns", line=line, column="context")
    turns = []
    for turn in value:
        good = (
            isinstance(turn, dict)
            and turn.get("speaker") in ("speaker", "listener")
            and isinstance(turn.get("text"), str)
        )
        if not good:
            raise BadFile(
                path, "each turn needs 'speaker' (speaker or listener) and 'text'", line=line, column="context"
            )
        turns.append(Turn(turn["speaker"], turn["text"]))
    return tuple(turns)
