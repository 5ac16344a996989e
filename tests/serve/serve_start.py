"""`empathia serve` as a person starts it: its own process, a free port, what it prints."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from serve_house import until

ROOT = Path(__file__).parents[2]


class Started:
    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process, self.log = process, log
        self.url = ""

    def printed(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def stop(self, how: int = signal.SIGINT) -> float:
        """Press Ctrl-C; returns the seconds until it has ended."""
        started = time.perf_counter()
        self.process.send_signal(how)
        self.process.wait(30)
        return time.perf_counter() - started

    def children(self) -> list[int]:
        found = []
        for place in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = place.read_text().rpartition(")")[2].split()[:2]
                command = (place.parent / "cmdline").read_text()
            except OSError:
                continue
            if int(parent) == self.process.pid and state != "Z" and "spawn_main" in command:
                found.append(int(place.parent.name))
        return found


def soon(seconds: float) -> float:
    """`seconds` on an idle machine; more on one so busy that even an empty program takes long."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return seconds + 30 * (time.perf_counter() - started)


@contextmanager
def started(folder: Path, *options: str, code: str = "", ready: bool = True) -> Iterator[Started]:
    """The command with `options`, or Python `code` that ends in starting a server."""
    command = ["-c", code] if code else ["-m", "empathia", "serve", "--port", "0"]
    log = folder / "serve.log"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'tests' / 'serve'}:{ROOT}", "PYTHONUNBUFFERED": "1"}
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, *command, *options], stdout=out, stderr=subprocess.STDOUT, text=True, env=environment
        )
    server = Started(process, log)
    try:
        until(lambda: "http://" in server.printed() or process.poll() is not None, 300)
        found = re.search(r"http://\S+:\d+", server.printed())
        assert found, server.printed()
        server.url = found.group()
        if ready:
            until(lambda: _healthy(server.url), 300)
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", verify=False, timeout=60).status_code == 200
    except httpx.HTTPError:
        return False
