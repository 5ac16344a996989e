"""The server killed with SIGKILL at random moments under writes: no acknowledged click is lost or doubled."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from study_people import Person, Refused, make_study

from empathia.study.designs import ATTRIBUTES
from empathia.study.store import FILE, Study
from empathia.study.texts import scales

LEVELS = {name: len(scale.levels) for name, scale in scales().items()}


class Writer(threading.Thread):
    """Clicks without pause; a click that got no answer is sent again under its key, as the page's outbox does."""

    def __init__(self, port: int, secret: str, name: str, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.name, self.stop = name, stop
        self.person = Person(port, secret, name)
        self.rng = random.Random(name)
        self.acknowledged: dict[str, tuple[int, dict[str, int]]] = {}
        self.problem: Exception | None = None

    def run(self) -> None:
        try:
            self.insist("/api/begin", {})
            items: list[int] = []
            for click in self.clicks(items):
                if self.insist("/api/answers", click) is None:
                    return
                self.acknowledged[click["key"]] = (click["item"], click["value"])
        except Exception as error:
            self.problem = error

    def insist(self, path: str, body: Any) -> Any:
        """The server's answer, however long it takes; `None` when the test is over."""
        while not self.stop.is_set():
            try:
                return self.person.post(path, body)
            except Refused as refused:
                if refused.status < 500:
                    raise
            except (OSError, http.client.HTTPException):
                self.person.hang_up()
                time.sleep(0.02)
        return None

    def clicks(self, items: list[int]) -> Iterator[dict[str, Any]]:
        """First each item as a person would rate it, then changes of earlier answers for ever."""
        while (found := self.insist("/api/next", {})) is not None and found["state"] == "work":
            item = found["items"][0]["item"]
            value: dict[str, int] = {}
            for name in ATTRIBUTES:
                value = {**value, name: self.rng.randint(1, LEVELS[name])}
                yield self.click(item, value, done=False)
            yield self.click(item, value, done=True)
            items.append(item)
        while True:
            value = {name: self.rng.randint(1, LEVELS[name]) for name in ATTRIBUTES}
            yield self.click(self.rng.choice(items), value, done=False)

    def click(self, item: int, value: dict[str, int], done: bool) -> dict[str, Any]:
        return {"key": uuid.uuid4().hex, "item": item, "value": value, "done": done, "seconds": 1.0}


def kill_often(folder: Path, kills: int, seed: int = 0) -> int:
    """Start, disturb and kill a server so many times; returns how many clicks were acknowledged."""
    study = Study(folder)
    secret = study.store.meta("secret")
    study.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stop = threading.Event()
    writers = [Writer(port, secret, f"writer-{i}", stop) for i in range(3)]
    command = [sys.executable, str(Path(__file__).with_name("study_forks.py")), str(folder), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forks:
        try:
            _kill_each(forks, folder, writers, kills, random.Random(seed))
        finally:
            stop.set()
            assert forks.stdin is not None
            forks.stdin.close()
    for writer in writers:
        writer.join(60)
        assert writer.problem is None
    return _nothing_lost(folder, writers)


def _kill_each(
    forks: subprocess.Popen[str], folder: Path, writers: list[Writer], kills: int, rng: random.Random
) -> None:
    assert forks.stdin is not None and forks.stdout is not None
    for i in range(kills):
        print(file=forks.stdin, flush=True)
        server = int(forks.stdout.readline())
        try:
            if i == 0:
                for writer in writers:
                    writer.start()
            _wait_for_a_click(writers)
            time.sleep(rng.uniform(0, 0.08))
        finally:
            os.kill(server, signal.SIGKILL)
        assert _integrity(folder) == "ok"


def _wait_for_a_click(writers: list[Writer]) -> None:
    """Until the server that has just started has acknowledged something."""
    before = sum(len(w.acknowledged) for w in writers)
    deadline = time.monotonic() + 60
    while sum(len(w.acknowledged) for w in writers) == before:
        assert not [w.problem for w in writers if w.problem], "a writer failed"
        assert time.monotonic() < deadline, "the server did not come back"
        time.sleep(0.002)


def _integrity(folder: Path) -> str:
    with sqlite3.connect(folder / FILE) as db:
        answer: str = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    return answer


def _nothing_lost(folder: Path, writers: list[Writer]) -> int:
    db = sqlite3.connect(folder / FILE)
    for writer in writers:
        rows = db.execute(
            "SELECT key, item, value FROM clicks WHERE annotator = ? ORDER BY rowid", (writer.name,)
        ).fetchall()
        saved = {key: (item, json.loads(value)) for key, item, value in rows}
        assert len(saved) == len(rows)
        assert {key: saved.get(key) for key in writer.acknowledged} == writer.acknowledged
        assert len(saved) - len(writer.acknowledged) <= 1, "at most the click under way when the test stopped"
        standing = {item: json.loads(value) for _, item, value in rows}
        for item, value in db.execute("SELECT item, value FROM answers WHERE annotator = ?", (writer.name,)):
            assert json.loads(value) == standing[item]
    quotas = db.execute("SELECT quota, (SELECT COUNT(*) FROM assignments WHERE task = t.id) FROM tasks t")
    assert all(taken <= quota for quota, taken in quotas)
    db.close()
    return sum(len(w.acknowledged) for w in writers)


def test_fifty_kills(tmp_path: Path) -> None:
    folder = make_study(tmp_path, "ratings", check=False, practice=False)
    assert kill_often(folder, 50) >= 50


@pytest.mark.slow
def test_a_thousand_kills(tmp_path: Path) -> None:
    folder = make_study(tmp_path, "ratings", per_emotion=4, check=False, practice=False)
    assert kill_often(folder, 1000, seed=1) >= 1000
