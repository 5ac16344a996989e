"""Answers as data: what was shown where, what was answered, and by whom, put back in terms of systems."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..core.taxonomy import EMOTIONS, polarity
from .designs import BINS, TIE, binned_candidates, chosen_candidate
from .settings import Settings

#: A bin as a number, for tests and ordinal agreement.
BIN_SCORES: Mapping[str, int] = {"good": 2, "okay": 1, "bad": 0}


@dataclass(frozen=True, slots=True)
class Record:
    """One annotator's answer to one item."""

    item: int
    task: int
    context_id: str
    emotion: str | None
    candidates: tuple[str, ...]  # systems, in the item's own order
    gold: int | None
    annotator: str
    position: int
    layout: tuple[int, ...]
    value: Mapping[str, Any]
    seconds: float
    answered: float
    task_minutes: float | None  # from lease to finish
    bonus: int | None
    counted: bool  # the task was finished and the annotator is not excluded

    @property
    def polarity(self) -> str | None:
        return polarity(self.emotion) if self.emotion in EMOTIONS else None


@dataclass(frozen=True, slots=True)
class Judgement:
    """One number: how one annotator judged one reply (or, in A/B, one pair) by one question."""

    item: int
    context_id: str
    emotion: str | None
    polarity: str | None
    annotator: str
    position: int
    question: str
    system: str
    other: str | None  # A/B: the system it stood against
    value: str
    score: int
    slot: int  # where the system's reply stood, from 0
    checkpoint: bool
    seconds: float
    answered: float
    counted: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def load_records(db: sqlite3.Connection) -> list[Record]:
    """Every finished answer, oldest first."""
    rows = db.execute(
        "SELECT i.*, p.position, p.layout, w.annotator, w.value, w.seconds, w.done, "
        "a.leased, a.finished, a.bonus, n.excluded FROM answers w "
        "JOIN placements p ON p.item = w.item AND p.annotator = w.annotator "
        "JOIN items i ON i.id = w.item JOIN assignments a ON a.id = p.assignment "
        "JOIN annotators n ON n.id = w.annotator WHERE w.done IS NOT NULL ORDER BY w.done, w.item"
    )
    return [_record(row) for row in rows]


def _record(row: sqlite3.Row) -> Record:
    minutes = None if row["finished"] is None else (row["finished"] - row["leased"]) / 60
    return Record(
        row["id"], row["task"], row["context_id"], row["emotion"],
        tuple(system for system, _ in json.loads(row["candidates"])), row["gold"],
        row["annotator"], row["position"], tuple(json.loads(row["layout"])), json.loads(row["value"]),
        row["seconds"], row["done"], minutes, row["bonus"],
        row["finished"] is not None and row["excluded"] is None,
    )  # fmt: skip


def judgements(records: Iterable[Record], settings: Settings) -> list[Judgement]:
    parts = {"ratings": _ratings, "ab": _preference, "bins": _bins}[settings.design]
    return [judgement for record in records for judgement in parts(record)]


def _judgement(record: Record, question: str, candidate: int, value: str, score: int, other: str | None) -> Judgement:
    return Judgement(
        record.item, record.context_id, record.emotion, record.polarity, record.annotator, record.position,
        question, record.candidates[candidate], other, value, score, record.layout.index(candidate),
        record.gold is not None, record.seconds, record.answered, record.counted,
    )  # fmt: skip


def _ratings(record: Record) -> Iterator[Judgement]:
    for question, level in record.value.items():
        yield _judgement(record, question, 0, str(level), level, None)


def _preference(record: Record) -> Iterator[Judgement]:
    """From the first candidate's side: +1 it was preferred, -1 the other was, 0 a tie."""
    chosen = chosen_candidate(record.value, record.layout)
    value, score = (TIE, 0) if chosen is None else (("win", 1) if chosen == 0 else ("loss", -1))
    yield _judgement(record, "preference", 0, value, score, record.candidates[1])


def _bins(record: Record) -> Iterator[Judgement]:
    for candidate, name in sorted(binned_candidates(record.value, record.layout).items()):
        assert name in BINS
        yield _judgement(record, "bin", candidate, name, BIN_SCORES[name], None)
