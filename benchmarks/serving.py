"""How the server holds up: latency and replies a second with many users, and ten times more than it can serve.

    python benchmarks/serving.py [--model NAME] [--minutes 5] [--record]

Starts `empathia serve` itself, in a process of its own. First 1, 4, 16 and 64 users at once, each asking again as soon
as answered; the queue is long enough for all. Then a server with a short queue is asked ten times as often as it
was just found to answer, for `--minutes`: how soon refusals come, how the memory grows, how soon it answers again
afterwards. The load is made on the same machine, so the figures are a lower bound.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from empathia.core.machine import cores
from empathia.evaluation import board
from empathia.evaluation.board import Figure

USERS = (1, 4, 16, 64)
TIMES = 10
#: waiting places under overload: few, so that most requests are refused
SHORT = 4
MESSAGES = (
    "My neighbour's dog kept me awake all night and I have an exam today.",
    "We finally got the keys to our new flat!",
    "The old clock of my grandmother has stopped, and nobody here can repair it.",
    "I think I upset my best friend at dinner yesterday.",
)


@dataclass(frozen=True)
class Server:
    url: str
    pid: int

    def megabytes(self) -> float:
        """Resident memory, all workers included."""
        return sum(_resident(pid) for pid in (self.pid, *_children(self.pid))) / 2**20


@contextmanager
def serving(options: Sequence[str]) -> Iterator[Server]:
    command = [sys.executable, "-m", "empathia", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = next((m for line in process.stdout if (m := re.search(r"http://\S+", line))), None)
        if found is None:
            raise SystemExit("the server did not start")
        server = Server(found.group(), process.pid)
        deadline = time.monotonic() + 600
        while _status(server.url) != 200:
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit("the server is not ready after ten minutes, or has ended")
            time.sleep(0.2)
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


@dataclass
class Seen:
    """What came back of many requests: status and seconds of each, in order of arrival."""

    answers: list[tuple[int, float]]
    seconds: float

    def of(self, status: int) -> list[float]:
        return [seconds for found, seconds in self.answers if found == status]


async def users(url: str, count: int, seconds: float) -> Seen:
    """So many people, each asking again as soon as answered."""
    seen = Seen([], seconds)
    end = time.perf_counter() + seconds

    async def person(http: httpx.AsyncClient, number: int) -> None:
        turn = number
        while time.perf_counter() < end:
            seen.answers.append(await ask(http, turn))
            turn += 1

    started = time.perf_counter()
    async with client(url) as http:
        await asyncio.gather(*(person(http, number) for number in range(count)))
    seen.seconds = time.perf_counter() - started
    return seen


async def flood(url: str, a_second: float, seconds: float) -> Seen:
    """Requests at a steady rate, whether the earlier ones are answered or not."""
    seen = Seen([], seconds)
    tasks: set[asyncio.Task[None]] = set()

    async def one(http: httpx.AsyncClient, number: int) -> None:
        seen.answers.append(await ask(http, number))

    async with client(url) as http:
        started = time.perf_counter()
        number = 0
        while (now := time.perf_counter() - started) < seconds:
            due = number / a_second
            if due > now:
                await asyncio.sleep(due - now)
            task = asyncio.create_task(one(http, number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            number += 1
        await asyncio.gather(*tasks)
    return seen


async def ask(http: httpx.AsyncClient, number: int) -> tuple[int, float]:
    started = time.perf_counter()
    body = {"messages": [{"role": "user", "content": MESSAGES[number % len(MESSAGES)]}]}
    try:
        response = await http.post("/v1/reply", json=body)
        status = response.status_code
        if status == 200 and response.json()["guard"]["replaces_reply"]:
            raise SystemExit(f"the guard answers '{body['messages'][0]['content']}': choose another message")
    except httpx.HTTPError:
        status = 0
    return status, time.perf_counter() - started


def client(url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=2000, max_keepalive_connections=2000)
    return httpx.AsyncClient(base_url=url, timeout=600, limits=limits, trust_env=False)


def recovery(url: str) -> float:
    """Seconds until an ordinary request is answered again."""
    started = time.perf_counter()

    async def until_answered() -> None:
        async with client(url) as http:
            while (await ask(http, 0))[0] != 200:
                await asyncio.sleep(0.05)

    asyncio.run(until_answered())
    return time.perf_counter() - started


def p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def measure(options: Sequence[str], seconds: float, minutes: float, note: str) -> Iterator[tuple[str, float, str, str]]:
    """Name, value, unit and signature of each figure, as it is found."""
    capacity = 0.0
    with serving([*options, "--queue", str(2 * max(USERS)), "--timeout", "600"]) as server:
        asyncio.run(users(server.url, 1, min(seconds, 5)))  # warm up
        for count in USERS:
            seen = asyncio.run(users(server.url, count, seconds))
            well = seen.of(200)
            if len(well) < len(seen.answers) or not well:
                raise SystemExit(f"{len(seen.answers) - len(well)} of {len(seen.answers)} requests failed")
            capacity = max(capacity, len(well) / seen.seconds)
            signature = f"users:{count}|replies:{len(well)}|{note}"
            yield f"serving/{count}_users_p50", 1000 * statistics.median(well), "ms", signature
            yield f"serving/{count}_users_p95", 1000 * p95(well), "ms", signature
            yield f"serving/{count}_users_throughput", len(well) / seen.seconds, "replies/s", signature
    with serving([*options, "--queue", str(SHORT)]) as server:
        asyncio.run(users(server.url, SHORT, min(seconds, 5)))
        before = server.megabytes()
        asyncio.run(flood(server.url, TIMES * capacity, min(10, 10 * minutes)))
        settled = server.megabytes()
        seen = asyncio.run(flood(server.url, TIMES * capacity, 60 * minutes))
        back = recovery(server.url)
        after = server.megabytes()
    refused, well = seen.of(503), seen.of(200)
    others = len(seen.answers) - len(refused) - len(well)
    signature = f"load:{TIMES}x|minutes:{minutes:g}|a_second:{TIMES * capacity:.1f}|requests:{len(seen.answers)}|{note}"
    yield "serving/overload_other_answers", float(others), "", signature
    if refused:
        yield "serving/overload_refusal_p50", 1000 * statistics.median(refused), "ms", signature
        yield "serving/overload_refusal_p95", 1000 * p95(refused), "ms", signature
        yield "serving/overload_refusal_longest", 1000 * max(refused), "ms", signature
    yield "serving/overload_throughput", len(well) / (60 * minutes), "replies/s", signature
    yield "serving/overload_memory_before", before, "MB", signature
    yield "serving/overload_memory_growth", after - settled, "MB", signature
    yield "serving/overload_recovery", back, "s", signature


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="who answers (default: the server's own choice)")
    parser.add_argument("--backend", help="another server generates, as for empathia serve")
    parser.add_argument("--parallel", type=int, default=1, help="replies written at once")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=30, help="for each number of users")
    parser.add_argument("--minutes", type=float, default=5, help="of overload")
    parser.add_argument("--record", action="store_true", help="put the figures on the board, topic serving")
    given = parser.parse_args(argv)
    if given.record and (given.seconds < 20 or given.minutes < 5):
        parser.error("so short a run is nothing worth recording: at least --seconds 20 --minutes 5")
    options = ["--parallel", str(given.parallel), "--workers", str(given.workers)]
    options += ["--model", given.model] if given.model else []
    options += ["--backend", given.backend] if given.backend else []
    who = given.model or ("backend" if given.backend else "default")
    note = f"model:{who}|parallel:{given.parallel}|workers:{given.workers}|cores:{cores()}"
    found = []
    for name, value, unit, signature in measure(options, given.seconds, given.minutes, note):
        print(f"{name:34} {value:10.2f} {unit:9} {signature}  (load {os.getloadavg()[0]:.1f})", flush=True)
        found.append((name, value, unit, signature))
    if given.record:
        command, commit = board.running_command(), board.commit_of()
        path = board.record_all("serving", [Figure(n, v, u, _lasting(s), command, commit) for n, v, u, s in found])
        print(f"recorded in {path}")


def _lasting(signature: str) -> str:
    """A signature without what differs from run to run, so that a new figure replaces the old one."""
    return "|".join(part for part in signature.split("|") if not re.match(r"replies:|requests:|a_second:", part))


def _status(url: str) -> int:
    try:
        return httpx.get(f"{url}/health", timeout=30, trust_env=False).status_code
    except httpx.HTTPError:
        return 0


def _resident(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0.0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


if __name__ == "__main__":
    main()
