"""ESConv (Liu et al., 2021): emotional support conversations, a strategy per supporter turn.

Read from `SPLIT.txt` (one JSON object a line) or from the authors' `ESConv.json`, which is cut as the
authors' own code cuts it: shuffled with seed 13, then 15 % valid, 15 % test, the rest train.

Either side may open, and both often send several messages in a row. Messages stay as published, each with
its own strategy; the seeker is the speaker, the supporter the listener. The seeker's feeling is in the
corpus' own words (anxiety, depression, …), which are not the 32 emotions, so `Dialogue.emotion` stays empty.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import BadFile
from ..core.files import read_json
from ..core.types import Dialogue, Role, Turn
from .base import Corpus, Files, Refuse, Source
from .counts import of_dialogues
from .rows import json_lines
from .types import SupportDialogue

WHOLE = "ESConv.json"
ROLES: dict[str, Role] = {"usr": "speaker", "seeker": "speaker", "sys": "listener", "supporter": "listener"}


def read(files: Files, split: str, refuse: Refuse) -> list[SupportDialogue]:
    flat = files.find(f"{split}.txt")
    whole = None if flat is not None else files.find(WHOLE)
    path = flat or whole or files.need(f"{split}.txt")
    rows: Iterable[tuple[int, Any]] = json_lines(path, refuse) if path is not whole else _cut(path, split)
    dialogues = []
    for number, row in rows:
        try:
            dialogues.append(_dialogue(f"{split}:{number}", row, path, number if path is not whole else None))
        except BadFile as problem:
            refuse(problem)
    return dialogues


def _cut(path: Path, split: str) -> Iterator[tuple[int, Any]]:
    rows = read_json(path)
    if not isinstance(rows, list):
        raise BadFile(path, "must be one JSON list of conversations")
    random.Random(13).shuffle(rows)
    part = int(0.15 * len(rows))
    bounds = {"valid": (0, part), "test": (part, 2 * part), "train": (2 * part, len(rows))}
    yield from enumerate(rows[slice(*bounds[split])], 1)


def _dialogue(name: str, row: Any, path: Path, line: int | None) -> SupportDialogue:
    for key in ("emotion_type", "problem_type", "situation"):
        if not isinstance(row, dict) or not isinstance(row.get(key), str):
            raise BadFile(path, f"{name} lacks this text", line=line, column=key)
    messages = row.get("dialog")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise BadFile(path, f"{name} lacks its list of messages", line=line, column="dialog")
    turns, strategies = [], []
    for i, message in enumerate(messages, 1):
        role = ROLES.get(str(message.get("speaker")))
        text = message.get("text", message.get("content"))
        if role is None or not isinstance(text, str) or not text.strip():
            raise BadFile(path, f"message {i} needs a known 'speaker' and a 'text'", line=line, column="dialog")
        strategy = message.get("strategy", _annotated(message))
        if role == "listener" and not isinstance(strategy, str):
            raise BadFile(path, f"message {i} lacks its strategy", line=line, column="dialog")
        turns.append(Turn(role, " ".join(text.split())))
        strategies.append(strategy if role == "listener" else None)
    dialogue = Dialogue(name, tuple(turns), situation=row["situation"].strip())
    return SupportDialogue(dialogue, row["emotion_type"], row["problem_type"], tuple(strategies))


def _annotated(message: dict[str, Any]) -> Any:
    annotation = message.get("annotation")
    return annotation.get("strategy") if isinstance(annotation, dict) else None


def measures(rows: list[SupportDialogue]) -> Mapping[str, float]:
    return {
        **of_dialogues(row.dialogue for row in rows),
        "feelings": len({row.feeling for row in rows}),
        "problems": len({row.problem for row in rows}),
    }


def labels(row: SupportDialogue) -> Iterable[str]:
    return (strategy for strategy in row.strategies if strategy)


CORPUS = Corpus(
    name="esconv",
    title="ESConv",
    citation="Liu et al. (2021), Towards Emotional Support Dialog Systems, ACL",
    licence="CC BY-NC 4.0",
    folder="esconv",
    splits=("train", "valid", "test"),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="strategy",
    sources=(Source(WHOLE, f"https://raw.githubusercontent.com/thu-coai/Emotional-Support-Conversation/main/{WHOLE}"),),
    instead=("train.txt", "valid.txt", "test.txt"),
)
