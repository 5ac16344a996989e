"""An annotator's way through a study: welcome, comprehension check, practice, work, thanks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.errors import BadInput
from .settings import Settings
from .texts import texts_of

TRIES = 2


@dataclass(frozen=True, slots=True)
class CheckResult:
    passed: bool
    tries_left: int
    right: tuple[bool, ...]


def join(db: sqlite3.Connection, annotator: str, now: float, address: Mapping[str, str] | None = None) -> None:
    """Remember who came, and by what address; coming again changes nothing."""
    db.execute(
        "INSERT OR IGNORE INTO annotators (id, joined, address) VALUES (?, ?, ?)",
        (annotator, now, json.dumps(dict(address or {}))),
    )


def row_of(db: sqlite3.Connection, annotator: str) -> sqlite3.Row:
    row: sqlite3.Row = db.execute("SELECT * FROM annotators WHERE id = ?", (annotator,)).fetchone()
    return row


def stage(row: sqlite3.Row, settings: Settings) -> str:
    """welcome, check, practice or work; `screened` after two failed checks, `excluded` by the admin."""
    if row["excluded"] is not None:
        return "excluded"
    if row["began"] is None:
        return "welcome"
    if settings.check and row["passed"] is None:
        return "check" if row["tries"] < TRIES else "screened"
    if settings.practice and row["practised"] is None:
        return "practice"
    return "work"


def begin(db: sqlite3.Connection, annotator: str, now: float) -> None:
    db.execute("UPDATE annotators SET began = coalesce(began, ?) WHERE id = ?", (now, annotator))


def practised(db: sqlite3.Connection, annotator: str, now: float) -> None:
    db.execute("UPDATE annotators SET practised = coalesce(practised, ?) WHERE id = ?", (now, annotator))


def take_check(
    db: sqlite3.Connection, annotator: str, answers: Sequence[int], settings: Settings, now: float
) -> CheckResult:
    """One try at the comprehension check. Which answers were wrong is told, which are right is not."""
    questions = texts_of(settings.design).check
    if len(answers) != len(questions):
        raise BadInput(f"the check has {len(questions)} questions")
    row = row_of(db, annotator)
    if stage(row, settings) != "check":
        raise BadInput("the check is already over")
    right = tuple(given == question.correct for given, question in zip(answers, questions, strict=True))
    tries = row["tries"] + 1
    passed = now if all(right) else None
    db.execute("UPDATE annotators SET tries = ?, passed = ? WHERE id = ?", (tries, passed, annotator))
    return CheckResult(all(right), max(0, TRIES - tries), right)
