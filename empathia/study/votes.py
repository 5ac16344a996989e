"""From chat to study: votes of the side-by-side chat, imported as A/B answers.

`votes.jsonl`, one JSON object a line:

    {"id": "…",                  unique; importing it twice changes nothing
     "session": "…",             who voted, as far as the chat knows (optional)
     "time": 1763200000.0,       seconds since 1970
     "context": [{"speaker": "speaker", "text": "…"}, …],
     "a": {"system": "…", "reply": "…"},    shown on the left
     "b": {"system": "…", "reply": "…"},    shown on the right
     "choice": "a" | "b" | "tie",
     "emotion": "…"}             optional

Votes live in a study of their own: casual votes never mix with an assigned study's quotas.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import BadFile, BadInput
from ..core.files import read_jsonl
from ..core.types import Turn
from . import annotators
from .designs import TIE
from .sampling import Candidate, Item
from .settings import Settings
from .store import FILE, Study, add_task, create_study

SAMPLING = "votes from chat"
_SIDES = {"a": "left", "b": "right", TIE: TIE}


@dataclass(frozen=True, slots=True)
class Vote:
    id: str
    session: str
    time: float
    turns: tuple[Turn, ...]
    a: Candidate
    b: Candidate
    choice: str
    emotion: str | None = None

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "id": self.id,
            "session": self.session,
            "time": self.time,
            "context": [{"speaker": t.speaker, "text": t.text} for t in self.turns],
            "a": {"system": self.a.system, "reply": self.a.reply},
            "b": {"system": self.b.system, "reply": self.b.reply},
            "choice": self.choice,
        }
        return {**row, "emotion": self.emotion} if self.emotion else row


def read_votes(path: Path) -> list[Vote]:
    """All votes of a file, or an error naming line and field."""
    votes: list[Vote] = []
    seen: dict[str, int] = {}
    for line, row in read_jsonl(path):
        vote = _vote(path, line, row)
        if vote.id in seen:
            raise BadFile(path, f"id '{vote.id}' is also on line {seen[vote.id]}", line=line, column="id")
        seen[vote.id] = line
        votes.append(vote)
    if not votes:
        raise BadFile(path, "holds no votes", hint="export them from the side-by-side chat")
    return votes


def _vote(path: Path, line: int, row: dict[str, Any]) -> Vote:
    def need(good: bool, field: str, problem: str) -> None:
        if not good:
            raise BadFile(path, problem, line=line, column=field)

    need(
        isinstance(row.get("id"), str) and 0 < len(row["id"]) <= 60, "id", "'id' must be a string of 1 to 60 characters"
    )
    need(row.get("choice") in _SIDES, "choice", "'choice' must be a, b or tie")
    need(isinstance(row.get("session", ""), str), "session", "'session' must be a string")
    need(type(row.get("time")) in (int, float), "time", "'time' must be a number of seconds since 1970")
    need(row.get("emotion") is None or isinstance(row["emotion"], str), "emotion", "'emotion' must be a string")
    for side in ("a", "b"):
        given = row.get(side)
        good = isinstance(given, dict) and all(isinstance(given.get(k), str) for k in ("system", "reply"))
        need(good, side, f"'{side}' needs 'system' and 'reply'")
    need(row["a"]["system"] != row["b"]["system"], "b", "a vote compares two different systems")
    turns = row.get("context")
    good = (
        isinstance(turns, list)
        and bool(turns)
        and all(
            isinstance(t, dict) and t.get("speaker") in ("speaker", "listener") and isinstance(t.get("text"), str)
            for t in turns
        )
    )
    need(good, "context", "'context' must be a non-empty list of turns with 'speaker' and 'text'")
    return Vote(
        row["id"], row.get("session") or row["id"], float(row["time"]),
        tuple(Turn(t["speaker"], t["text"]) for t in row["context"]),
        Candidate(row["a"]["system"], row["a"]["reply"]), Candidate(row["b"]["system"], row["b"]["reply"]),
        row["choice"], row.get("emotion"),
    )  # fmt: skip


def import_votes(folder: Path, votes: list[Vote], title: str = "Votes from chat") -> int:
    """Add votes to a study made for them, making it first if need be; returns how many were new."""
    if not (folder / FILE).exists():
        systems = sorted({name for vote in votes for name in (vote.a.system, vote.b.system)})
        settings = Settings(title, "ab", 1, sampling=SAMPLING, systems=dict.fromkeys(systems, SAMPLING))
        create_study(folder, settings, [[_item(votes[0])]])
    study = Study(folder)
    try:
        if study.settings.sampling != SAMPLING:
            raise BadInput(f"{folder} is a study with annotators of its own", "import votes into a new name")
        with study.store.writing() as db:
            return sum(_import(db, vote) for vote in votes)
    finally:
        study.close()


def _item(vote: Vote) -> Item:
    """The pair in the order of the systems' names, so that votes shown either way round meet in one item."""
    digest = hashlib.sha256(json.dumps([[t.speaker, t.text] for t in vote.turns]).encode()).hexdigest()
    pair = tuple(sorted((vote.a, vote.b), key=lambda candidate: candidate.system))
    return Item(f"chat-{digest[:16]}", vote.turns, pair, vote.emotion)


def _import(db: sqlite3.Connection, vote: Vote) -> bool:
    # One session may vote twice on one item; an annotator may not, so a second vote stands under its own name.
    item = _item(vote)
    if db.execute("SELECT 1 FROM clicks WHERE key = ?", (vote.id,)).fetchone():
        return False
    candidates = json.dumps([[c.system, c.reply] for c in item.candidates], ensure_ascii=False)
    sql = "SELECT id, task FROM items WHERE context_id = ? AND candidates = ?"
    row = db.execute(sql, (item.context_id, candidates)).fetchone()
    if row is None:
        add_task(db, [item], 0)
        row = db.execute(sql, (item.context_id, candidates)).fetchone()
    who = f"chat:{vote.session}"
    if db.execute("SELECT 1 FROM placements WHERE annotator = ? AND item = ?", (who, row["id"])).fetchone():
        who = f"{who}:{vote.id}"
    annotators.join(db, who, vote.time)
    assignment = db.execute(
        "INSERT INTO assignments (task, annotator, leased, expires, finished) VALUES (?, ?, ?, ?, ?)",
        (row["task"], who, vote.time, vote.time, vote.time),
    ).lastrowid
    layout = [item.candidates.index(vote.a), item.candidates.index(vote.b)]
    position = db.execute("SELECT COUNT(*) FROM placements WHERE annotator = ?", (who,)).fetchone()[0]
    db.execute(
        "INSERT INTO placements VALUES (?, ?, ?, ?, ?)", (assignment, who, row["id"], position, json.dumps(layout))
    )
    value = json.dumps({"choice": _SIDES[vote.choice]})
    db.execute("INSERT INTO clicks VALUES (?, ?, ?, ?, 1, 0, ?)", (who, vote.id, row["id"], value, vote.time))
    db.execute("INSERT INTO answers VALUES (?, ?, ?, ?, 0, ?)", (who, row["id"], value, vote.time, vote.time))
    finished = "SELECT COUNT(*) FROM assignments WHERE task = ? AND finished IS NOT NULL"
    db.execute(f"UPDATE tasks SET quota = ({finished}) WHERE id = ?", (row["task"], row["task"]))
    return True
