"""A call that reports while it works, turned into an iterator that can be left at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event, Thread

from ...core.types import Stop
from .contract import Generated, is_set

Hear = Callable[[str], object]
Stopped = Callable[[], bool]


def pieces(work: Callable[[Hear, Stopped], list[Generated]], stop: Stop | None) -> Iterator[str | Generated]:
    """What `work` lets be heard, then what it returns or raises. It runs in a thread of its own and is told to stop
    when `stop` is set or nobody listens any more."""
    heard: SimpleQueue[str | list[Generated] | BaseException] = SimpleQueue()
    left = Event()

    def run() -> None:
        try:
            heard.put(work(heard.put, lambda: left.is_set() or is_set(stop)))
        except BaseException as error:
            heard.put(error)

    Thread(target=run, name="engine", daemon=True).start()
    try:
        while isinstance(piece := heard.get(), str):
            yield piece
        if isinstance(piece, BaseException):
            raise piece
        yield from piece
    finally:
        left.set()
