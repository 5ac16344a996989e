"""Work that ends when the client leaves, whether it was to get a stream or one body."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from fastapi import Response
from starlette.types import Receive, Scope, Send

from .errors import problem_of, stopping

T = TypeVar("T")


class ClientLeft(Exception):
    """Nobody is there to be answered."""


async def while_here(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, or `ClientLeft` as soon as the connection is closed; then `work` is cancelled."""
    task, leaving = asyncio.create_task(work), asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientLeft
        return task.result()
    finally:
        task.cancel()
        leaving.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Events(Response):
    """Server-sent events: one `data:` line of JSON for each object, then `[DONE]`."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[Mapping[str, Any], None]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await while_here(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async with aclosing(self._events) as events:
                async for event in events:
                    await send(_event(event))
        except asyncio.CancelledError:  # the client has left and hears nothing, or the server ends
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await send(_event(stopping().body()))
                    await send(_chunk("[DONE]", more=False))
            raise
        except Exception as error:  # too late for a status of its own
            await send(_event(problem_of(error).body()))
        await send(_chunk("[DONE]", more=False))


def _event(what: Mapping[str, Any]) -> dict[str, Any]:
    return _chunk(json.dumps(what, ensure_ascii=False, allow_nan=False))


def _chunk(data: str, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": f"data: {data}\n\n".encode(), "more_body": more}
