"""What annotators read: scales, instructions, comprehension check and practice, from `texts.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Scale:
    key: str
    name: str
    question: str
    levels: tuple[str, ...]  # worst first; the first is level 1


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    question: str
    options: tuple[str, ...]
    correct: int


@dataclass(frozen=True, slots=True)
class PracticeItem:
    turns: tuple[str, ...]
    replies: tuple[str, ...]
    expected: Mapping[str, Any]
    feedback: str


@dataclass(frozen=True, slots=True)
class DesignTexts:
    title: str
    instructions: tuple[str, ...]
    check: tuple[CheckQuestion, ...]
    practice: tuple[PracticeItem, ...]


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("texts.toml").read_text(encoding="utf-8"))


def scales() -> dict[str, Scale]:
    rows = _file()["scales"]
    return {key: Scale(key, row["name"], row["question"], tuple(row["levels"])) for key, row in rows.items()}


def texts_of(design: str) -> DesignTexts:
    row = _file()["design"][design]
    return DesignTexts(
        row["title"],
        tuple(row["instructions"]),
        tuple(CheckQuestion(q["question"], tuple(q["options"]), q["correct"]) for q in row["check"]),
        tuple(
            PracticeItem(tuple(p["turns"]), tuple(p["replies"]), p["expected"], p["feedback"]) for p in row["practice"]
        ),
    )
