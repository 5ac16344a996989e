"""A responder behind another OpenAI-compatible server: vLLM, llama.cpp, Ollama or a second empathia.

What has not begun is tried again: a refused connection, 502 and 503, a few times, with growing pauses. A server that
keeps failing is left alone for a while (the breaker), and its users are told so at once instead of waiting. Setting
`stop` closes the connection, which is how such servers are told to end.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from ..core.errors import BadInput
from ..core.types import Context, Reply, Stop, Wish
from .errors import Problem

LISTEN = (
    "You listen to a person and answer with empathy. Say what you understand of their feeling and why they have it, "
    "or ask about it. One to three short sentences, no lists, no lecture, no advice unless they ask for it. "
    "You are a program; never say that you are a person."
)
#: attempts before the first word, and seconds before the second of them (doubled for each further one)
ATTEMPTS, PAUSE = 3, 0.3
_TRY_AGAIN = (502, 503)


class Breaker:
    """Opens after `failures` in a row; after `seconds` lets one through to see whether it is well again."""

    def __init__(self, failures: int = 5, seconds: float = 15.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._allowed, self._seconds, self._clock = failures, seconds, clock
        self._failed, self._opened, self._one = 0, 0.0, threading.Lock()

    def enter(self) -> None:
        with self._one:
            left = self._opened + self._seconds - self._clock()
            if self._failed < self._allowed:
                return
            if left > 0:
                raise Problem(503, "the backend is not well", "try again later", retry_after=int(left) + 1)
            self._opened = self._clock()  # this one tries; the others wait for what it finds

    def worked(self) -> None:
        with self._one:
            self._failed = 0

    def failed(self) -> None:
        with self._one:
            self._failed += 1
            if self._failed >= self._allowed:
                self._opened = self._clock()


class RemoteResponder:
    """A `Streamer` over `POST {base}/chat/completions`."""

    def __init__(
        self, base: str, model: str, key: str = "", system: str = LISTEN, seconds: float = 120.0,
        breaker: Breaker | None = None,
    ) -> None:  # fmt: skip
        self.base, self.name, self.system = base_of(base), model, system
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._timeout = httpx.Timeout(seconds, connect=5.0)
        self._breaker = breaker or Breaker()

    def reply(self, context: Context, wish: Wish | None = None) -> Reply:
        for what in self.stream(context, wish):
            if isinstance(what, Reply):
                return what
        raise Problem(502, "the backend gave no reply")

    def stream(self, context: Context, wish: Wish | None = None, stop: Stop | None = None) -> Iterator[str | Reply]:
        """Runs an event loop of its own in the calling thread, so that `stop` is heard while the backend is silent."""
        started, text = time.perf_counter(), ""
        self._breaker.enter()
        with asyncio.Runner() as runner:
            pieces = self._pieces(self._body(context, wish or Wish()))
            try:
                while (piece := runner.run(_unless(stop, anext(pieces, None)))) is not None:
                    text += piece
                    yield piece
            finally:
                runner.run(pieces.aclose())
        if stop is None or not stop.is_set():
            yield Reply(text.strip(), timings={"backend": time.perf_counter() - started})

    def _body(self, context: Context, wish: Wish) -> dict[str, Any]:
        roles = {"speaker": "user", "listener": "assistant"}
        asked = [part for part in (wish.intent, wish.emotion) if part]
        system = self.system + (f" Your reply now should be {' and '.join(asked)}." if asked else "")
        options = {
            "max_tokens": wish.length,
            "temperature": wish.temperature,
            "top_p": wish.top_p,
            "seed": wish.seed,
            "stop": list(wish.stop) or None,
        }
        return {
            "model": self.name,
            "messages": [
                *([{"role": "system", "content": system}] if system else []),
                *({"role": roles[turn.speaker], "content": turn.text} for turn in context.turns),
            ],
            "stream": True,
            **{name: value for name, value in options.items() if value is not None},
        }

    async def _pieces(self, body: dict[str, Any]) -> AsyncGenerator[str, None]:
        async with httpx.AsyncClient(headers=self._headers, timeout=self._timeout, trust_env=False) as http:
            try:
                async with self._response(http, body) as response, aclosing(_deltas(response)) as deltas:
                    async for delta in deltas:
                        yield delta
            except httpx.TimeoutException:
                self._breaker.failed()
                raise Problem(504, "the backend took too long", "try again") from None
            except httpx.HTTPError:
                self._breaker.failed()
                raise Problem(502, "the backend broke off", "try again") from None
            except Problem as problem:
                if problem.status >= 500:
                    self._breaker.failed()
                raise
            else:
                self._breaker.worked()

    @asynccontextmanager
    async def _response(self, http: httpx.AsyncClient, body: dict[str, Any]) -> AsyncIterator[httpx.Response]:
        """The first good response; what may pass is tried again."""
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(PAUSE * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))
            try:
                response = await http.send(
                    http.build_request("POST", f"{self.base}/chat/completions", json=body), stream=True
                )
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.RemoteProtocolError, httpx.ReadError):
                problem = Problem(503, "the backend cannot be reached", "is it running?", retry_after=5)
                continue
            try:
                if response.status_code == 200:
                    yield response
                    return
                problem = _refused(response.status_code)
                if response.status_code not in _TRY_AGAIN:
                    break
            finally:
                await response.aclose()
        raise problem


def base_of(url: str) -> str:
    """`http://host:8000` and `http://host:8000/v1/` both mean `http://host:8000/v1`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
        raise BadInput("the backend's address is not one", "give it as http://127.0.0.1:8000/v1")
    path = parts.path.rstrip("/") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"


def first_model(base: str, key: str = "") -> str:
    """The name of the first model a backend offers."""
    hint = "start it first, or name the model: --backend URL,MODEL"
    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response = httpx.get(f"{base_of(base)}/models", headers=headers, timeout=5, trust_env=False)
        name = response.raise_for_status().json()["data"][0]["id"]
    except httpx.HTTPStatusError as error:
        raise BadInput(
            f"the backend answers {error.response.status_code}", "check --backend-key, or " + hint
        ) from error
    except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
        raise BadInput("the backend does not say which models it has", hint) from error
    return str(name)


async def _deltas(response: httpx.Response) -> AsyncGenerator[str, None]:
    async for line in response.aiter_lines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue
        try:
            event = json.loads(data)
            choices = [] if "error" in event else event["choices"]
            delta = choices[0]["delta"].get("content") if choices else None
        except (ValueError, LookupError, TypeError, AttributeError):
            raise Problem(502, "the backend's answer cannot be understood") from None
        if "error" in event:
            raise Problem(502, "the backend failed in the middle of its answer", "try again")
        if delta:
            yield delta


def _refused(status: int) -> Problem:
    if status in (401, 403):
        return Problem(502, f"the backend answers {status}", "the operator should check --backend-key")
    if status == 404:
        return Problem(502, "the backend has no such model or address", "the operator should check --backend")
    if status == 429:
        return Problem(503, "the backend has too much to do", "try again soon", retry_after=5)
    if status in _TRY_AGAIN:
        return Problem(503, f"the backend answers {status}", "try again soon", retry_after=5)
    return Problem(502, f"the backend answers {status}")


async def _unless(stop: Stop | None, work: Any) -> Any:
    """The result of `work`, or None as soon as `stop` is set; then `work` is cancelled."""
    task = asyncio.ensure_future(work)
    while not task.done():
        if stop is not None and stop.is_set():
            task.cancel()
            await asyncio.wait({task})
            return None
        await asyncio.wait({task}, timeout=0.05)
    return task.result()
