"""`empathia perceive`: what a message feels like, why, and what a reply to it does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from ..core.errors import BadFile, BadInput
from ..core.types import Context, Turn
from .perceived import Asked, perceived, show

_LINE = 'a line is "text", {"messages": ["text", …]} or {"turns": [{"speaker": "speaker", "text": "…"}, …]}'


@click.command()
@click.argument("messages", nargs=-1)
@click.option("-f", "--file", "files", multiple=True, type=click.Path(path_type=Path), help="Read from a file instead.")
@click.option("--jsonl", is_flag=True, help="Standard input is JSONL; files that end in .jsonl are taken so anyway.")
@click.option("--reply", help="Also say what this reply does.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs; of JSONL, one line each.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads (default: all cores).")
def perceive(
    messages: tuple[str, ...],
    files: tuple[Path, ...],
    jsonl: bool,
    reply: str | None,
    as_json: bool,
    threads: int | None,
) -> None:
    """Say what the speaker feels and why, and what a listener would likely do. Several messages are the turns of one
    conversation, the last one the speaker's; without any, one message is read from standard input.

    A text file is one message. A line of a JSONL file is a message as a string, or an object with "messages" (texts)
    or "turns" (as in dialogues.jsonl), and perhaps "id" and "reply".

    \b
    Examples:
      empathia perceive "I lost my job today."
      empathia perceive "I lost my job today." --reply "I am so sorry. What happened?"
      empathia perceive "My son graduated!" "How lovely." "He is the first of us." --json
      empathia perceive --file letter.txt --file talks.jsonl
      cat talks.jsonl | empathia perceive --jsonl --json
    """
    from ..perception import Perception
    from ..perception.enriched import is_blank

    if messages and (files or jsonl):
        raise BadInput("give messages or files, not both")
    if reply is not None and is_blank(reply):
        raise BadInput("the reply is empty", 'say something: --reply "I am sorry to hear that."')
    asked = _messages(messages, reply) if messages else _sources(files, jsonl, reply)
    first = next(asked)  # a mistake shows before any weights are loaded
    indent = None if jsonl or any(path.suffix == ".jsonl" for path in files) else 2
    for number, found in enumerate(perceived(Perception(threads=threads), chain([first], asked))):
        if as_json:
            click.echo(json.dumps(found.as_dict(), ensure_ascii=False, indent=indent))
            continue
        if number:
            click.echo()
        show(found)


def _messages(texts: Sequence[str], reply: str | None) -> Iterator[Asked]:
    from ..perception.enriched import is_blank

    if is_blank(texts[-1]):
        raise BadInput("the message is empty", 'say something: empathia perceive "I lost my job today."')
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

    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadFile(name, "not UTF-8", line=number, column=error.start + 1) from error
    except json.JSONDecodeError as error:
        raise BadFile(name, f"not JSON: {error.msg}", line=number, column=error.colno) from error
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
