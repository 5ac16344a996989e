"""Any server that speaks OpenAI's protocol: vLLM, Ollama, llama.cpp's server, a hosted model.

Messages go to `/chat/completions`, a raw prompt to `/completions`. Everything is streamed, so a call that is stopped
closes its connection, which is how such servers learn that nobody waits. Until the first token a failing call is tried
again after a pause; afterwards it fails. Where a server does not know `n`, the other candidates are asked for one by
one, at the same time.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from ...core.errors import BadInput, nearest
from ...core.types import Stop
from .contract import EngineFailed, Generated, Prompt, PromptTooLong, Sampling
from .pieces import Hear, Stopped, pieces

if TYPE_CHECKING:
    import httpx

#: The key a server asks for; not OpenAI's own variable, which must not be sent just anywhere.
KEY = "EMPATHIA_ENGINE_KEY"

_PAUSES = (0.5, 1.0)  # seconds before the second and the third try
_PASSING = {408, 429, 500, 502, 503, 504}
_LOOK = 0.05  # seconds between two looks at whether to stop


class Remote:
    """A model behind an address. Which tokens a seed gives is up to the server."""

    def __init__(
        self,
        address: str,
        model: str | None = None,
        key: str | None = None,
        tuned: bool = False,
        context: int = 4096,
        timeout: float = 120.0,
    ) -> None:
        """`model` may be left out where the server has one; `timeout` seconds may pass between two pieces."""
        self._address = address.rstrip("/")
        self._key = key or os.environ.get(KEY)
        self._timeout = timeout
        self.tuned, self.context = tuned, context
        self.name = model or self._only_model()
        self.signature = f"{self.name}|{self._address}"

    def generate(self, prompt: Prompt, sampling: Sampling, stop: Stop | None = None) -> Iterator[str | Generated]:
        return pieces(lambda hear, stopped: asyncio.run(self._watched(prompt, 1, sampling, stopped, hear)), stop)

    def candidates(self, prompt: Prompt, n: int, sampling: Sampling, stop: Stop | None = None) -> list[Generated]:
        if n < 1:
            raise BadInput(f"cannot draw {n} candidates", "ask for 1 or more")

        def work(_: Hear, stopped: Stopped) -> list[Generated]:
            return asyncio.run(self._watched(prompt, n, sampling, stopped))

        return [found for found in pieces(work, stop) if isinstance(found, Generated)]

    def count(self, prompt: Prompt) -> int:
        """From above for English text, where a token has four letters."""
        texts = [prompt] if isinstance(prompt, str) else [message.content for message in prompt]
        return sum(len(text.encode()) // 3 + 8 for text in texts)

    def close(self) -> None:
        """Nothing is kept open between calls."""

    async def _watched(
        self, prompt: Prompt, n: int, sampling: Sampling, stopped: Stopped, hear: Hear | None = None
    ) -> list[Generated]:
        """The candidates; none once `stopped`, at which the connection is closed."""
        if not prompt:
            raise BadInput("the prompt is empty", "say something first")
        task = asyncio.create_task(self._candidates(prompt, n, sampling, hear))
        while not task.done():
            await asyncio.wait({task}, timeout=_LOOK)
            if stopped() and not task.done():
                task.cancel()
                await asyncio.wait({task})
                return []
        return task.result()

    async def _candidates(self, prompt: Prompt, n: int, sampling: Sampling, hear: Hear | None) -> list[Generated]:
        import httpx

        limits = httpx.Timeout(self._timeout, connect=10)
        async with httpx.AsyncClient(timeout=limits, headers=self._headers()) as client:
            try:
                first = await self._call(client, prompt, n, sampling, sampling.seed, hear)
            except _NoBatch:
                first = await self._call(client, prompt, 1, sampling, sampling.seed, hear)
            others = [
                self._call(client, prompt, 1, sampling, sampling.seed + place, None) for place in range(len(first), n)
            ]
            return [*first, *(one for more in await asyncio.gather(*others) for one in more)]

    async def _call(
        self, client: httpx.AsyncClient, prompt: Prompt, n: int, sampling: Sampling, seed: int, hear: Hear | None
    ) -> list[Generated]:
        """One request, repeated while the trouble is a passing one and nothing has been heard yet."""
        import httpx

        drafts: dict[int, _Draft] = {}
        route, body = self._request(prompt, n, sampling, seed)
        for pause in (*_PAUSES, None):
            try:
                async for choice in self._choices(client, route, body):
                    piece = drafts.setdefault(choice.get("index", 0), _Draft()).add(choice)
                    if piece and hear is not None:
                        hear(piece)
                break
            except (_Refused, httpx.TransportError) as error:
                passing = not isinstance(error, _Refused) or error.status in _PASSING
                if drafts or pause is None or not passing:
                    raise self._explained(error, prompt, n) from error
                await asyncio.sleep(pause)
        if not drafts:
            raise EngineFailed(f"{self._address} sent no text", "is it a server of OpenAI's protocol?")
        return [drafts[place].whole() for place in sorted(drafts)]

    async def _choices(
        self, client: httpx.AsyncClient, route: str, body: dict[str, Any]
    ) -> AsyncIterator[dict[str, Any]]:
        """What the server sends, event by event."""
        async with client.stream("POST", self._address + route, json=body) as response:
            if response.status_code != 200:
                raise _Refused(response.status_code, _said(await response.aread()))
            async for line in response.aiter_lines():
                data = line.removeprefix("data:").strip()
                if not line.startswith("data:") or data == "[DONE]":
                    continue
                event = json.loads(data)
                if "error" in event:
                    raise EngineFailed(f"{self._address} broke off: {_said(data)}", "try again")
                for choice in event.get("choices", ()):
                    yield choice

    def _request(self, prompt: Prompt, n: int, sampling: Sampling, seed: int) -> tuple[str, dict[str, Any]]:
        """Route and body. What OpenAI's protocol does not know is only sent if it is asked for."""
        body: dict[str, Any] = {
            "model": self.name,
            "stream": True,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
        }
        if n > 1:
            body["n"] = n
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if sampling.top_k:
            body["top_k"] = sampling.top_k
        if sampling.min_p:
            body["min_p"] = sampling.min_p
        if sampling.repeat_penalty != 1:  # two servers, two names
            body["repeat_penalty"] = body["repetition_penalty"] = sampling.repeat_penalty
        if isinstance(prompt, str):
            return "/completions", {**body, "prompt": prompt}
        return "/chat/completions", {**body, "messages": [{"role": m.role, "content": m.content} for m in prompt]}

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _only_model(self) -> str:
        models = self._models()
        if len(models) != 1:
            known = ", ".join(models) or "none"
            raise BadInput(f"{self._address} has {len(models)} models", f"name one after a #; known: {known}")
        return models[0]

    def _models(self) -> list[str]:
        import httpx

        try:
            response = httpx.get(f"{self._address}/models", headers=self._headers(), timeout=10)
            if response.status_code != 200:
                raise self._explained(_Refused(response.status_code, _said(response.content)), "", 1)
            return [model["id"] for model in response.json()["data"]]
        except httpx.TransportError as error:
            raise self._explained(error, "", 1) from error
        except (ValueError, KeyError, TypeError) as error:
            raise EngineFailed(
                f"{self._address} does not speak OpenAI's protocol", "its address often ends in /v1"
            ) from error

    def _explained(self, error: Exception, prompt: Prompt, n: int) -> Exception:
        """What went wrong, in words of ours."""
        if not isinstance(error, _Refused):
            why = type(error).__name__ if "timeout" in type(error).__name__.lower() else str(error) or "no answer"
            return EngineFailed(f"cannot reach {self._address}: {why}", "is the server running? check the address")
        if error.status in (401, 403):
            return EngineFailed(f"{self._address} refuses the key ({error.said})", f"set {KEY}")
        if error.status == 404:
            return self._not_found(error)
        if "context" in error.said and any(word in error.said for word in ("length", "size", "window", "exceed")):
            return PromptTooLong(self.count(prompt), self.context)
        if error.status in (400, 422) and n > 1:
            return _NoBatch()
        return EngineFailed(f"{self._address} answered {error.status}: {error.said}", "ask its operator")

    def _not_found(self, error: _Refused) -> EngineFailed:
        try:
            known = self._models() if self.__dict__.get("name") else []
        except EngineFailed:
            known = []
        if known:
            return EngineFailed(f"{self._address} has no model '{self.name}'", nearest(self.name, known))
        return EngineFailed(f"{self._address} answered 404: {error.said}", "its address often ends in /v1")


class _Refused(Exception):
    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


class _NoBatch(Exception):
    """The server will not draw several at once."""


class _Draft:
    """One continuation as it grows."""

    def __init__(self) -> None:
        self.text, self.pieces = "", 0
        self.finish: str | None = None

    def add(self, choice: dict[str, Any]) -> str:
        piece: str = choice["text"] if "text" in choice else choice.get("delta", {}).get("content") or ""
        self.pieces += bool(piece)
        self.text += piece
        self.finish = choice.get("finish_reason") or self.finish
        return piece

    def whole(self) -> Generated:
        return Generated(self.text, self.pieces, ended=self.finish == "stop")


def _said(body: bytes | str) -> str:
    """A server's own words about an error, in one line."""
    try:
        error = json.loads(body)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        text = body.decode(errors="replace") if isinstance(body, bytes) else body
    return " ".join(text.split())[:200] or "nothing more"
