"""One bounded queue before the models: so many slots that work, so many places that wait, and no more.

Work runs in threads and hands its results over one by one. Who stops listening sets the work's `stop`; the slot is
free when the work has really ended, so a model never does more at a time than it was given slots for.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import closing, suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from .errors import Problem

T = TypeVar("T")
Work = Callable[[threading.Event], Generator[T, None, None]]


class Crew:
    """Threads that stay, so that libraries with per-thread state warm up once. They never hold up the program's end."""

    def __init__(self, size: int, name: str) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        for number in range(size):
            threading.Thread(target=self._work, daemon=True, name=f"{name}-{number}").start()

    def do(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()


class Slots:
    """Used from one event loop."""

    def __init__(self, parallel: int, waiting: int, changed: Callable[[int, int], None]) -> None:
        self.parallel, self.waiting = parallel, waiting
        self.busy = 0
        self._changed = changed  # hears how many work and how many wait
        self._line: deque[asyncio.Future[None]] = deque()
        self._crew = Crew(parallel, "slot")

    @property
    def queued(self) -> int:
        return len(self._line)

    async def run(self, work: Work[T], seconds: float) -> AsyncGenerator[T, None]:
        """What `work` yields, as it yields it. Ends with 503 at once if the queue is full, with 504 after `seconds`.

        Close it (`aclosing`) to give up: a place in the queue is free at once, a slot as soon as `work` heeds `stop`.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        arrivals: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        stop = threading.Event()

        def post(kind: str, what: Any = None) -> None:
            with suppress(RuntimeError):  # the loop has ended, and everybody has left with it
                loop.call_soon_threadsafe(arrivals.put_nowait, (kind, what))

        def job() -> None:
            try:
                with closing(work(stop)) as results:
                    for result in results:
                        if stop.is_set():
                            break
                        post("result", result)
                post("end")
            except BaseException as error:
                post("error", error)
            finally:
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._free)

        try:
            async with asyncio.timeout_at(deadline):
                await self._place()
            self._crew.do(job)
            while True:
                async with asyncio.timeout_at(deadline):
                    kind, what = await arrivals.get()
                if kind == "end":
                    return
                if kind == "error":
                    raise what
                yield what
        except TimeoutError:
            raise Problem(504, "this took too long", "try again, or ask for less", retry_after=5) from None
        finally:
            stop.set()

    async def _place(self) -> None:
        if self.busy < self.parallel:
            self.busy += 1
            self._tell()
            return
        if len(self._line) >= self.waiting:
            raise Problem(
                503, "too many are waiting already", "try again soon", code="server_is_overloaded", retry_after=2
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        self._tell()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the slot came just as we left
                self._free()
            elif turn in self._line:
                self._line.remove(turn)
                self._tell()
            raise

    def _free(self) -> None:
        """Pass a slot on to the first in line, or put it back."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        else:
            self.busy -= 1
        self._tell()

    def _tell(self) -> None:
        self._changed(self.busy, self.queued)
