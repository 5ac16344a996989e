"""What an annotator's browser is told. Never a system's name, never anyone else's answer."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from . import annotators
from .assignment import answered_items, lease_next, open_places
from .settings import Settings
from .texts import scales, texts_of


def session(db: sqlite3.Connection, annotator: str, settings: Settings) -> dict[str, Any]:
    """Everything about the study and how far this annotator has come."""
    texts = texts_of(settings.design)
    row = annotators.row_of(db, annotator)
    known = scales()
    return {
        "title": settings.title or texts.title,
        "design": settings.design,
        "contact": settings.contact,
        "stage": annotators.stage(row, settings),
        "instructions": texts.instructions,
        "check": [{"question": q.question, "options": q.options} for q in texts.check],
        "tries_left": annotators.TRIES - row["tries"],
        "practice": [_practice(settings, i) for i in range(len(texts.practice))],
        "scales": [
            {"key": s.key, "name": s.name, "question": s.question, "levels": s.levels}
            for s in (known[name] for name in settings.attributes)
        ],
        "screened_url": settings.screened_url,
        "task_size": settings.task_size,
    }


def _practice(settings: Settings, number: int) -> dict[str, Any]:
    item = texts_of(settings.design).practice[number]
    last = len(item.turns) - 1
    turns = [["speaker" if (last - i) % 2 == 0 else "listener", text] for i, text in enumerate(item.turns)]
    return {"item": number, "turns": turns, "replies": item.replies}


def next_work(db: sqlite3.Connection, annotator: str, settings: Settings, now: float, paused: bool) -> dict[str, Any]:
    """The items now leased to this annotator, or why there are none."""
    assignment = None if paused else lease_next(db, annotator, settings, now)
    done = answered_items(db, annotator)
    if assignment is None:
        state = "paused" if paused else ("thanks" if done else "full")
        return {"state": state, "items": [], **_thanks(db, annotator, settings, done)}
    rows = db.execute(f"{_PLACED} WHERE p.assignment = ? ORDER BY p.position", (assignment,)).fetchall()
    waiting = sum(row["done"] is None for row in rows)
    total = done + waiting + open_places(db, annotator, now)
    if settings.per_annotator:
        total = min(total, max(settings.per_annotator, done + waiting))
    return {"state": "work", "items": [_item(row) for row in rows], "done": done, "total": total}


_PLACED = (
    "SELECT p.position, p.layout, i.id, i.turns, i.candidates, w.value, w.done, w.seconds, a.finished "
    "FROM placements p JOIN items i ON i.id = p.item JOIN assignments a ON a.id = p.assignment "
    "LEFT JOIN answers w ON w.item = p.item AND w.annotator = p.annotator"
)


def placed_item(db: sqlite3.Connection, annotator: str, position: int) -> dict[str, Any] | None:
    """An earlier item of this annotator, to look at again and change."""
    row = db.execute(f"{_PLACED} WHERE p.annotator = ? AND p.position = ?", (annotator, position)).fetchone()
    return None if row is None else _item(row)


def _item(row: sqlite3.Row) -> dict[str, Any]:
    candidates = json.loads(row["candidates"])
    return {
        "item": row["id"],
        "position": row["position"],
        "turns": json.loads(row["turns"]),
        "replies": [candidates[index][1] for index in json.loads(row["layout"])],
        "value": json.loads(row["value"]) if row["value"] else {},
        "done": row["done"] is not None,
        "finished": row["finished"] is not None,
        "seconds": row["seconds"] or 0,
    }


def _thanks(db: sqlite3.Connection, annotator: str, settings: Settings, done: int) -> dict[str, Any]:
    points = db.execute(
        "SELECT coalesce(sum(a.bonus), 0) AS earned, "
        "(SELECT COUNT(*) FROM items i JOIN assignments b ON b.task = i.task "
        "WHERE b.annotator = :who AND b.finished IS NOT NULL AND i.gold IS NOT NULL) AS possible "
        "FROM assignments a WHERE a.annotator = :who AND a.finished IS NOT NULL",
        {"who": annotator},
    ).fetchone()
    return {
        "done": done,
        "total": done,
        "bonus": points["earned"],
        "bonus_possible": points["possible"],
        "completion_url": settings.completion_url if done else "",
    }
