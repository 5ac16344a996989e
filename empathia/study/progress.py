"""How a study stands right now: for `study status` and the admin page."""

from __future__ import annotations

import sqlite3
from typing import Any

from .settings import Settings


def progress(db: sqlite3.Connection, settings: Settings, now: float) -> dict[str, Any]:
    """Counts by task: finished places of all wanted ones, leases under way, annotators by where they are."""
    places = db.execute(
        "SELECT (SELECT coalesce(sum(quota), 0) FROM tasks) AS wanted, "
        "(SELECT COUNT(*) FROM tasks) AS tasks, (SELECT COUNT(*) FROM items) AS items, "
        "count(CASE WHEN a.finished IS NOT NULL THEN 1 END) AS finished, "
        "count(CASE WHEN a.finished IS NULL AND a.expires > :now THEN 1 END) AS under_way, "
        "count(CASE WHEN a.finished IS NULL AND a.expires <= :now THEN 1 END) AS expired "
        "FROM assignments a JOIN annotators n ON n.id = a.annotator WHERE n.excluded IS NULL",
        {"now": now},
    ).fetchone()
    complete = db.execute(
        "SELECT COUNT(*) FROM tasks t WHERE quota <= (SELECT COUNT(*) FROM assignments a JOIN annotators n "
        "ON n.id = a.annotator WHERE a.task = t.id AND a.finished IS NOT NULL AND n.excluded IS NULL)"
    ).fetchone()[0]
    people = db.execute(
        "SELECT COUNT(*) AS joined, count(began) AS began, count(excluded) AS excluded, "
        "count(CASE WHEN passed IS NULL AND tries >= 2 THEN 1 END) AS screened FROM annotators"
    ).fetchone()
    clicks = db.execute("SELECT COUNT(*) AS n, max(received) AS last FROM clicks").fetchone()
    extra = db.execute("SELECT COUNT(*) FROM tasks WHERE quota > ?", (settings.annotators,)).fetchone()[0]
    return {
        **dict(places),
        "complete_tasks": complete,
        "extra": extra if settings.design == "ab" else 0,
        "people": dict(people),
        "clicks": clicks["n"],
        "last_click": clicks["last"],
    }
