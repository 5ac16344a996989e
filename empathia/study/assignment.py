"""Who judges what: leases that expire, quotas that are exact, everyone's own order, the fourth annotator.

All functions here run inside one write transaction, so two annotators can never take the last place of a
task. A place is held by a finished assignment, or by an unfinished one whose lease has not run out.
"""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from dataclasses import dataclass
from typing import Any

from ..core.errors import BadInput, EmpathiaError
from .designs import checked_answer, chosen_candidate, earned_bonus, is_whole, split
from .settings import Settings


class NotYours(EmpathiaError):
    """An answer to an item that this annotator was never given."""


class LeaseExpired(EmpathiaError):
    """The task was left too long and has gone to someone else."""


@dataclass(frozen=True, slots=True)
class Click:
    """One thing an annotator did to one item: the whole answer as it then stood."""

    key: str
    item: int
    value: Any
    done: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Receipt:
    saved: float
    again: bool  # this key had been saved before
    task_finished: bool


_HELD = """
    SELECT COUNT(*) FROM assignments a JOIN annotators n ON n.id = a.annotator
    WHERE a.task = {task} AND n.excluded IS NULL AND (a.finished IS NOT NULL OR a.expires > :now)
"""
_HELD_PLACES = _HELD.format(task=":task")
#: Tasks with a free place that this annotator has not had.
_FREE = f"""
    t.quota > ({_HELD.format(task="t.id")})
    AND NOT EXISTS (SELECT 1 FROM assignments WHERE task = t.id AND annotator = :annotator)
"""


def lease_next(db: sqlite3.Connection, annotator: str, settings: Settings, now: float) -> int | None:
    """The annotator's unfinished assignment if they still have one, else a new one, else `None`."""
    unfinished = db.execute(
        "SELECT id, task, expires FROM assignments WHERE annotator = ? AND finished IS NULL ORDER BY id", (annotator,)
    ).fetchall()
    for row in unfinished:
        if _renew(db, row, settings, now):
            return int(row["id"])
    if settings.per_annotator and answered_items(db, annotator) >= settings.per_annotator:
        return None
    who = {"now": now, "annotator": annotator}
    free = db.execute(f"SELECT id FROM tasks t WHERE {_FREE}", who).fetchall()
    if not free:
        return None
    task = min((int(row["id"]) for row in free), key=lambda t: _lot(settings.seed, annotator, t))
    return _assign(db, task, annotator, settings, now)


def answered_items(db: sqlite3.Connection, annotator: str) -> int:
    sql = "SELECT COUNT(*) FROM answers WHERE annotator = ? AND done IS NOT NULL"
    return int(db.execute(sql, (annotator,)).fetchone()[0])


def open_places(db: sqlite3.Connection, annotator: str, now: float) -> int:
    """Items that could still be given to this annotator."""
    sql = f"SELECT COUNT(*) FROM items i JOIN tasks t ON t.id = i.task WHERE {_FREE}"
    return int(db.execute(sql, {"now": now, "annotator": annotator}).fetchone()[0])


def save(db: sqlite3.Connection, annotator: str, click: Click, settings: Settings, now: float) -> Receipt:
    """Keep one click. The same key again is acknowledged again and changes nothing."""
    place = db.execute(
        "SELECT p.layout, a.* FROM placements p JOIN assignments a ON a.id = p.assignment "
        "WHERE p.annotator = ? AND p.item = ?",
        (annotator, click.item),
    ).fetchone()
    if place is None:
        raise NotYours("this item was not given to you", "open your link again")
    layout = json.loads(place["layout"])
    value = checked_answer(settings.design, click.value, settings.attributes, len(layout))
    before = db.execute("SELECT * FROM clicks WHERE annotator = ? AND key = ?", (annotator, click.key)).fetchone()
    if before is not None:
        if before["item"] != click.item or json.loads(before["value"]) != value:
            raise BadInput("this key was already used for another answer")
        return Receipt(before["received"], True, place["finished"] is not None)
    whole = is_whole(settings.design, value, settings.attributes, len(layout))
    if not whole and (click.done or place["finished"] is not None):
        raise BadInput("something is still unanswered")
    if place["finished"] is None and not _renew(db, place, settings, now):
        raise LeaseExpired("this task was left too long and has gone to someone else", "go on with the next one")
    _write_click(db, annotator, click, value, whole, now)
    finished = place["finished"] is not None or _finish_if_done(db, place["id"], now)
    if finished and settings.design == "ab":
        settle_quota(db, place["task"], settings, now)
    return Receipt(now, False, finished)


def settle_quota(db: sqlite3.Connection, task: int, settings: Settings, now: float) -> None:
    """A/B: one more annotator where the first ones split (MIME 4.3), the plain number elsewhere."""
    rows = db.execute(
        "SELECT w.value, p.layout FROM assignments a JOIN annotators n ON n.id = a.annotator "
        "JOIN placements p ON p.assignment = a.id JOIN answers w ON w.item = p.item AND w.annotator = a.annotator "
        "WHERE a.task = ? AND a.finished IS NOT NULL AND n.excluded IS NULL ORDER BY a.finished, a.id LIMIT ?",
        (task, settings.annotators),
    ).fetchall()
    votes = [chosen_candidate(json.loads(r["value"]), json.loads(r["layout"])) for r in rows]
    needed = settings.annotators
    if len(votes) == settings.annotators and split(votes):
        needed += 1
    held = int(db.execute(_HELD_PLACES, {"task": task, "now": now}).fetchone()[0])
    db.execute("UPDATE tasks SET quota = ? WHERE id = ?", (max(needed, held), task))


def exclude(db: sqlite3.Connection, annotator: str, settings: Settings, now: float, excluded: bool = True) -> None:
    """Leave an annotator's answers out and give their places to others (or take that back)."""
    db.execute("UPDATE annotators SET excluded = ? WHERE id = ?", (now if excluded else None, annotator))
    if settings.design == "ab":
        for row in db.execute("SELECT task FROM assignments WHERE annotator = ?", (annotator,)).fetchall():
            settle_quota(db, row["task"], settings, now)


def _renew(db: sqlite3.Connection, assignment: sqlite3.Row, settings: Settings, now: float) -> bool:
    """Prolong a lease. One that has run out comes back only while its place is still free."""
    if assignment["expires"] <= now:
        held = db.execute(_HELD_PLACES, {"task": assignment["task"], "now": now}).fetchone()[0]
        quota = db.execute("SELECT quota FROM tasks WHERE id = ?", (assignment["task"],)).fetchone()["quota"]
        if held >= quota:
            return False
    expires = now + 60 * settings.lease_minutes
    db.execute("UPDATE assignments SET expires = ? WHERE id = ?", (expires, assignment["id"]))
    return True


def _assign(db: sqlite3.Connection, task: int, annotator: str, settings: Settings, now: float) -> int:
    expires = now + 60 * settings.lease_minutes
    assignment = db.execute(
        "INSERT INTO assignments (task, annotator, leased, expires) VALUES (?, ?, ?, ?)",
        (task, annotator, now, expires),
    ).lastrowid
    assert assignment is not None
    items = db.execute("SELECT id, candidates FROM items WHERE task = ?", (task,)).fetchall()
    items.sort(key=lambda row: _lot(settings.seed, annotator, "item", row["id"]))
    position = db.execute("SELECT COUNT(*) FROM placements WHERE annotator = ?", (annotator,)).fetchone()[0]
    for offset, row in enumerate(items):
        layout = list(range(len(json.loads(row["candidates"]))))
        random.Random(_lot(settings.seed, annotator, "layout", row["id"])).shuffle(layout)
        db.execute(
            "INSERT INTO placements VALUES (?, ?, ?, ?, ?)",
            (assignment, annotator, row["id"], position + offset, json.dumps(layout)),
        )
    return assignment


def _write_click(
    db: sqlite3.Connection, annotator: str, click: Click, value: dict[str, Any], whole: bool, now: float
) -> None:
    text = json.dumps(value)
    db.execute(
        "INSERT INTO clicks VALUES (?, ?, ?, ?, ?, ?, ?)",
        (annotator, click.key, click.item, text, int(click.done), click.seconds, now),
    )
    db.execute(
        "INSERT INTO answers VALUES (:annotator, :item, :value, :done, :seconds, :now) "
        "ON CONFLICT (annotator, item) DO UPDATE SET value = excluded.value, changed = excluded.changed, "
        "seconds = max(seconds, excluded.seconds), "
        "done = CASE WHEN :whole THEN coalesce(done, excluded.done) END",
        {
            "annotator": annotator, "item": click.item, "value": text, "done": now if click.done else None,
            "seconds": click.seconds, "now": now, "whole": whole,
        },
    )  # fmt: skip


def _finish_if_done(db: sqlite3.Connection, assignment: int, now: float) -> bool:
    rows = db.execute(
        "SELECT p.layout, i.gold, w.value, w.done FROM placements p JOIN items i ON i.id = p.item "
        "LEFT JOIN answers w ON w.item = p.item AND w.annotator = p.annotator WHERE p.assignment = ?",
        (assignment,),
    ).fetchall()
    if any(row["done"] is None for row in rows):
        return False
    checkpoints = [row for row in rows if row["gold"] is not None]
    bonus = sum(earned_bonus(json.loads(r["value"]), json.loads(r["layout"]), r["gold"]) for r in checkpoints)
    points = bonus if checkpoints else None
    db.execute("UPDATE assignments SET finished = ?, bonus = ? WHERE id = ?", (now, points, assignment))
    return True


def _lot(*parts: object) -> str:
    """A fixed random draw for these parts: the same on every machine, unrelated for any other parts."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()
