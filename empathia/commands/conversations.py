"""Conversations as a user gives them to a command: as arguments, from files, on standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..core.errors import BadFile, BadInput
from ..core.files import json_line
from ..core.types import Context, Turn

_LINE = 'a line is "text", {"messages": ["text", …]} or {"turns": [{"speaker": "speaker", "text": "…"}, …]}'


@dataclass(frozen=True, slots=True)
class Asked:
    """One conversation, perhaps with the reply that somebody gave, and an id to know it by."""

    context: Context
    reply: str | None = None
    id: str | None = None


def given(messages: Sequence[str], files: Sequence[Path], jsonl: bool, reply: str | None = None) -> Iterator[Asked]:
    """The turns of one conversation, or what files or standard input hold. A mistake shows when it is come to."""
    if messages and (files or jsonl):
        raise BadInput("give messages or files, not both")
    return _messages(messages, reply) if messages else _sources(files, jsonl, reply)


def _messages(texts: Sequence[str], reply: str | None) -> Iterator[Asked]:
    from ..perception.enriched import is_blank

    if is_blank(texts[-1]):
        command = click.get_current_context().command_path
        raise BadInput("the message is empty", f'say something: {command} "I lost my job today."')
    yield Asked(Context.of(*texts), reply)


def _sources(files: Sequence[Path], jsonl: bool, reply: str | None) -> Iterator[Asked]:
    """Conversations from files or, without any, from standard input."""
    sources = [(str(path), _bytes(path), path.suffix == ".jsonl") for path in files]
    for name, raw, lines in sources or [("standard input", sys.stdin.buffer.read(), jsonl)]:
        if not lines:
            yield from _messages([raw.decode("utf-8", errors="replace")], reply)
            continue
        if not raw.strip():
            raise BadInput(f"{name} is empty", _LINE)
        for number, line in enumerate(raw.split(b"\n"), 1):
            if line.strip():
                yield _line(name, number, line, reply)


def _bytes(path: Path) -> bytes:
    from ..core.files import existing

    try:
        return existing(path).read_bytes()
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror or error}") from error


def _line(name: str, number: int, raw: bytes, reply: str | None) -> Asked:
    """A message, or a conversation, from one line of JSON."""
    from ..perception.enriched import is_blank

    value = json_line(name, number, raw)
    row = {"messages": [value]} if isinstance(value, str) else value
    context = _conversation(row) if isinstance(row, dict) else None
    if context is None:
        raise BadFile(name, "neither a message nor a conversation", line=number, hint=_LINE)
    if is_blank(context.last):
        raise BadFile(name, "the message is empty", line=number)
    own, id = row.get("reply", reply), row.get("id")
    if own is not None and (not isinstance(own, str) or is_blank(own)):
        raise BadFile(name, "'reply' must be a text", line=number, column="reply")
    return Asked(context, own, None if id is None else str(id))


def _conversation(row: dict[str, Any]) -> Context | None:
    texts, turns = row.get("messages"), row.get("turns")
    if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
        return Context.of(*texts)
    if isinstance(turns, list) and turns and all(_is_turn(turn) for turn in turns):
        return Context(tuple(Turn(turn["speaker"], turn["text"]) for turn in turns))
    return None


def _is_turn(turn: Any) -> bool:
    return (
        isinstance(turn, dict) and turn.get("speaker") in ("speaker", "listener") and isinstance(turn.get("text"), str)
    )
