"""The one SQLite file of a study: opened in WAL with synchronous=FULL, written in short transactions.

A commit that returned is on the disk, so an acknowledged click survives a killed server and a power cut.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from ..core.errors import BadFile, BadInput
from ..core.files import existing
from .sampling import Item
from .settings import FILE as SETTINGS_FILE
from .settings import Settings, read_settings, write_settings

FILE = "study.sqlite"
#: Written into the file's header, so that another SQLite file is not taken for a study.
APPLICATION_ID = 0x656D7061
SCHEMA_VERSION = 1


class Store:
    """A connection shared by a server's threads, one at a time."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.now = clock
        self._lock = threading.RLock()
        self._db = _connect(path)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start; committed at the end, undone on any error."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent picture of the file."""
        with self._lock:
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("ROLLBACK")

    def meta(self, key: str) -> str:
        with self.reading() as db:
            return str(db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()["value"])

    def set_meta(self, key: str, value: str) -> None:
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def close(self) -> None:
        with self._lock:
            self._db.close()


class Study:
    """A study's folder: its settings and its open store."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = Path(folder)
        self.settings = read_settings(self.folder)
        self.store = Store(existing(self.folder / FILE, "the study's folder has lost its database"), clock)
        made_as = json.loads(self.store.meta("made_as"))
        now = _frozen(self.settings)
        for key, value in made_as.items():
            if now[key] != value:
                raise BadFile(
                    self.folder / SETTINGS_FILE,
                    f"'{key}' is {now[key]!r}, but the study was made with {value!r}",
                    hint="put it back, or make a new study",
                )

    def close(self) -> None:
        self.store.close()


def create_study(folder: Path, settings: Settings, tasks: Sequence[Sequence[Item]]) -> None:
    """Write a new study's folder; an existing one is never touched."""
    folder = Path(folder)
    if (folder / FILE).exists() or (folder / SETTINGS_FILE).exists():
        raise BadInput(f"{folder} already holds a study", "choose another name, or delete that folder")
    if not tasks:
        raise BadInput("no items to judge", "check the reply files and the sampling")
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{FILE}.new"
    unfinished.unlink(missing_ok=True)
    db = _connect(unfinished, new=True)
    try:
        db.execute("BEGIN IMMEDIATE")
        for key, value in {
            "made_as": json.dumps(_frozen(settings)),
            "secret": secrets.token_hex(32),
            "admin_key": secrets.token_urlsafe(24),
            "paused": "",
            "created": str(time.time()),
        }.items():
            db.execute("INSERT INTO meta VALUES (?, ?)", (key, value))
        for items in tasks:
            add_task(db, items, settings.annotators)
        db.execute("COMMIT")
    finally:
        db.close()
    write_settings(folder, settings)
    unfinished.replace(folder / FILE)


def add_task(db: sqlite3.Connection, items: Sequence[Item], quota: int) -> int:
    """A new task of these items; returns its id."""
    task = db.execute("INSERT INTO tasks (quota) VALUES (?)", (quota,)).lastrowid
    assert task is not None
    for item in items:
        turns = json.dumps([[t.speaker, t.text] for t in item.turns], ensure_ascii=False)
        candidates = json.dumps([[c.system, c.reply] for c in item.candidates], ensure_ascii=False)
        db.execute(
            "INSERT INTO items (task, context_id, emotion, turns, candidates, gold) VALUES (?, ?, ?, ?, ?, ?)",
            (task, item.context_id, item.emotion, turns, candidates, item.gold),
        )
    return task


def _frozen(settings: Settings) -> dict[str, object]:
    return {
        "design": settings.design,
        "attributes": list(settings.attributes),
        "annotators": settings.annotators,
        "seed": settings.seed,
    }


def _connect(path: Path, new: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.row_factory = sqlite3.Row
    try:
        if new:
            db.executescript(files(__package__).joinpath("schema.sql").read_text(encoding="utf-8"))
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        kind, version = (db.execute(f"PRAGMA {p}").fetchone()[0] for p in ("application_id", "user_version"))
        if (kind, version) != (APPLICATION_ID, SCHEMA_VERSION):
            raise BadFile(path, "is not a study of this version", hint="open it with the empathia that made it")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
    except sqlite3.DatabaseError as error:
        db.close()
        raise BadFile(path, f"cannot be opened: {error}", hint="restore the file from a copy") from error
    except BadFile:
        db.close()
        raise
    return db
