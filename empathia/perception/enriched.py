"""Dialogues with everything perception says about them: `enriched.jsonl`, what later systems train on.

A line is a dialogue as `dialogues.jsonl` has it (`id`, `turns` of `speaker` and `text`, and where known `emotion` and
`situation`), with, in each turn, `label` (one of the 41) and `sentiment`; in a listener's answer `mechanisms`; in a
turn that waits for an answer `evidence`, about the conversation up to it; and, for the whole line, `perception`, the
version of the weights that said so. docs/perception.md describes it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core.errors import BadFile
from ..core.files import existing, read_jsonl
from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, MECHANISMS
from ..core.types import Dialogue, Evidence, Example, Turn

#: smaller probabilities are left out of the file, and read as 0
_LEAST = 0.001


@dataclass(frozen=True, slots=True)
class EnrichedDialogue:
    dialogue: Dialogue
    labels: tuple[str, ...]  # per turn
    sentiments: tuple[float, ...]  # per turn
    mechanisms: tuple[Mapping[str, int] | None, ...]  # per turn; None where it answers nobody
    evidence: tuple[Evidence | None, ...]  # per turn, of the conversation up to it; None where no answer is awaited
    perception: str = ""

    def examples(self) -> Iterator[Example]:
        """As `Dialogue.examples`, with what was perceived of the context, and of the reply as gold."""
        for example in self.dialogue.examples():
            i = len(example.context.turns)
            gold = replace(
                example.gold, intent=self.labels[i], mechanisms=self.mechanisms[i], sentiment=self.sentiments[i]
            )
            yield replace(example, gold=gold, evidence=self.evidence[i - 1] or Evidence())

    def as_dict(self) -> dict[str, Any]:
        row = as_dict(self.dialogue)
        for i, turn in enumerate(row["turns"]):
            turn |= {"label": self.labels[i], "sentiment": self.sentiments[i]}
            if (shown := self.mechanisms[i]) is not None:
                turn["mechanisms"] = dict(shown)
            if (seen := self.evidence[i]) is not None:
                turn["evidence"] = _short(seen)
        return row | {"perception": self.perception}


def as_dict(dialogue: Dialogue) -> dict[str, Any]:
    """A line of `dialogues.jsonl`."""
    row: dict[str, Any] = {"id": dialogue.id}
    row |= {name: value for name in ("emotion", "situation") if (value := getattr(dialogue, name)) is not None}
    return row | {"turns": [{"speaker": turn.speaker, "text": turn.text} for turn in dialogue.turns]}


def read_dialogues(path: Path) -> list[Dialogue]:
    """A `dialogues.jsonl`; a missing field, an empty turn or an id twice is an error with its line."""
    found: list[Dialogue] = []
    lines: dict[str, int] = {}
    for line, row in read_jsonl(path):
        dialogue = _dialogue(path, line, row)
        if dialogue.id in lines:
            raise BadFile(path, f"id '{dialogue.id}' is also on line {lines[dialogue.id]}", line=line, column="id")
        lines[dialogue.id] = line
        found.append(dialogue)
    if not found:
        raise BadFile(path, "holds no dialogues", hint='a line is {"id": "1", "turns": [{"speaker": "speaker", …')
    return found


def read_enriched(path: Path) -> Iterator[EnrichedDialogue]:
    """The lines of an `enriched.jsonl`, one by one."""
    for line, row in read_jsonl(existing(path, "make it with: empathia enrich dialogues.jsonl")):
        dialogue, turns = _dialogue(path, line, row), row["turns"]
        for turn in turns:
            for key, kind in (("label", str), ("sentiment", float | int)):
                if not isinstance(turn.get(key), kind):
                    raise BadFile(path, f"a turn has no '{key}'", line=line, column=key, hint="is it enriched?")
        yield EnrichedDialogue(
            dialogue,
            tuple(turn["label"] for turn in turns),
            tuple(float(turn["sentiment"]) for turn in turns),
            tuple(turn.get("mechanisms") for turn in turns),
            tuple(_evidence(turn["evidence"]) if "evidence" in turn else None for turn in turns),
            str(row.get("perception", "")),
        )


def _dialogue(path: Path, line: int, row: Mapping[str, Any]) -> Dialogue:
    hint = 'a line is {"id": "1", "turns": [{"speaker": "speaker", "text": "…"}, {"speaker": "listener", "text": "…"}]}'
    if not isinstance(row.get("id"), str):
        raise BadFile(path, "field 'id' must be a string", line=line, column="id", hint=hint)
    for key in ("emotion", "situation"):
        if not isinstance(row.get(key, ""), str | None):
            raise BadFile(path, f"field '{key}' must be a string", line=line, column=key)
    turns = row.get("turns")
    if not isinstance(turns, list) or not turns:
        raise BadFile(path, "field 'turns' must be a list of turns", line=line, column="turns", hint=hint)
    for i, turn in enumerate(turns, 1):
        who, text = (turn.get("speaker"), turn.get("text")) if isinstance(turn, dict) else (None, None)
        if who not in ("speaker", "listener") or not isinstance(text, str):
            problem = f"turn {i} needs 'speaker' (speaker or listener) and 'text'"
            raise BadFile(path, problem, line=line, column="turns", hint=hint)
        if is_blank(text):
            raise BadFile(path, f"turn {i} is empty", line=line, column="turns", hint="leave it out")
    said = tuple(Turn(turn["speaker"], turn["text"]) for turn in turns)
    return Dialogue(row["id"], said, row.get("emotion"), row.get("situation"))


def is_blank(text: str) -> bool:
    """Whether nothing can be read in it: only spaces and invisible characters."""
    return all(unicodedata.category(character)[0] in "CZ" for character in text)


def _short(evidence: Evidence) -> dict[str, Any]:
    """Plain data, four digits, the unlikeliest classes left out."""
    row = evidence.as_dict()
    for key in ("emotion", "intent"):
        row[key] = {name: round(p, 4) for name, p in row[key].items() if p >= _LEAST}
    row["polarity"] = round(row["polarity"], 4)
    if "mechanisms" in row:
        row["mechanisms"] = {name: round(level, 4) for name, level in row["mechanisms"].items()}
    return row


def _evidence(row: Mapping[str, Any]) -> Evidence:
    return Evidence(
        emotion={name: row["emotion"].get(name, 0.0) for name in EMOTIONS},
        polarity=row["polarity"],
        causes=tuple(row["causes"]),
        cause_words=tuple((turn, first, last) for turn, first, last in row["cause_words"]),
        sentiment=row["sentiment"],
        intent={name: row["intent"].get(name, 0.0) for name in EMOTIONS_AND_INTENTS},
        mechanisms={n: row["mechanisms"][n] for n in MECHANISMS} if "mechanisms" in row else None,
    )
