"""A real server on a free port, in a thread, and a client to talk to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from empathia.core.types import Responder
from empathia.serve import Access, Limits, Services, Source, make_app
from empathia.serve.desk import Desk


class House:
    def __init__(self, app: FastAPI, port: int, key: str = "") -> None:
        self.app, self.port, self.url = app, port, f"http://127.0.0.1:{port}"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(base_url=self.url, headers=headers, timeout=30)

    @property
    def desk(self) -> Desk:
        desk: Desk = self.app.state.desk
        return desk

    def chat(self, *texts: str, **fields: Any) -> httpx.Response:
        return self.http.post("/v1/chat/completions", json={"messages": said(*texts), **fields})

    def reply(self, *texts: str, **fields: Any) -> httpx.Response:
        return self.http.post("/v1/reply", json={"messages": said(*texts), **fields})


def said(*texts: str) -> list[dict[str, str]]:
    """Messages of user and assistant by turns, the last one the user's."""
    roles = ("user", "assistant")
    return [{"role": roles[(len(texts) - 1 - i) % 2], "content": text} for i, text in enumerate(texts)]


def services(*responders: Responder, **more: Any) -> Services:
    named: Mapping[str, Responder | Source] = {responder.name: responder for responder in responders}
    return Services(named, country="US", **more)


@contextmanager
def serving(
    services: Services, limits: Limits | None = None, access: Access | None = None, keep: Path | None = None
) -> Iterator[House]:
    """A server until the end of the block; everything in it is real but that it shares our process."""
    app = make_app(services, limits, access, keep)
    config = uvicorn.Config(
        app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=1, timeout_keep_alive=60
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    house = House(app, port, access.keys[0] if access and access.keys else "")
    try:
        yield house
    finally:
        house.http.close()
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive(), "the server did not end"


def until(reached: Callable[[], object], seconds: float = 60) -> float:
    """Wait for something to become true; returns how long it took."""
    started = time.perf_counter()
    while not reached():
        assert time.perf_counter() - started < seconds, "it did not happen in time"
        time.sleep(0.005)
    return time.perf_counter() - started
