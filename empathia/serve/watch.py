"""Counts and logs each request, and catches what nobody else did. The log says route, status and time: no address
that was asked for, no query, no header, no body."""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import problem_of, stopping
from .metrics import Metrics
from .presence import ClientLeft

log = logging.getLogger("empathia.serve")

_METHODS = ("GET", "HEAD", "POST", "OPTIONS")
#: what the log and the metrics say of a client that did not wait for the answer
LEFT = 499


class Watch:
    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_see)
        except ClientLeft:
            status = LEFT
            self._metrics.left.inc()
        except asyncio.CancelledError:
            if not status:
                await stopping().response()(scope, receive, send_and_see)
        except Exception as error:
            problem = problem_of(error)
            if not status:
                await problem.response()(scope, receive, send_and_see)
        finally:
            self._note(scope, status, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.requests.labels(route, status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        method = scope["method"] if scope["method"] in _METHODS else "-"
        log.info("%s %s %d %.3f s", method, route, status, seconds)


def _route(scope: Scope) -> str:
    """The route's own name for itself, such as `/v1/models/{model}`, never what was put into it."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "/static" if scope["path"].startswith("/static/") else "other"
