"""A scripted listener that streams words, and the page served with it.

    python tests/serve/page_server.py 8765    # look at it yourself
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles

from empathia.core.taxonomy import EMOTIONS, INTENTS, LEVELS, MECHANISMS, POSITIVE
from empathia.core.types import Candidate, Context, Evidence, Exemplar, Inference, Reply, Stop, Turn, Wish
from empathia.guard import Guard

STATIC = Path(__file__).parents[2] / "empathia" / "serve" / "static"

#: word of the last message → its emotion, how good that feels, the words that caused it, the answer
STORIES = {
    "sister": ("lonely", 0.12, ("moved to Canada", "so quiet"), "That quiet must feel strange after sharing so much."),
    "video": ("sentimental", 0.55, ("her laugh",), "Cooking together across an ocean sounds like a lovely way to stay close."),
    "exam": ("proud", 0.93, ("passed my exam",), "You earned that. All those evenings at your desk paid off!"),
    "keys": ("annoyed", 0.2, ("lost my keys",), "Oh no, today of all days."),
}  # fmt: skip
PLAIN = ("content", 0.6, (), "Thank you for telling me.")
BY_INTENT = {
    "questioning": "What happened next?",
    "encouraging": "You can be proud of how you carry this.",
    "consoling": "I am here, take your time.",
    "wishing": "I hope tomorrow is kinder to you.",
}
EVIL = "<script>document.title='gone'</script><img src=x onerror=\"document.title='gone'\"><b>bold</b>"


class Listener:
    """Answers from the table above, a word at a time, and remembers what it was asked."""

    def __init__(self, name: str, ending: str = "What do you miss most in the evenings?", pause: float = 0.01) -> None:
        self.name, self.ending, self.pause = name, ending, pause
        self.asked: list[tuple[Context, Wish]] = []
        self.stopped = 0

    def reply(self, context: Context, wish: Wish | None = None) -> Reply:
        return next(piece for piece in self.stream(context, wish) if isinstance(piece, Reply))

    def stream(self, context: Context, wish: Wish | None = None, stop: Stop | None = None) -> Iterator[str | Reply]:
        started = time.perf_counter()
        wish = wish or Wish()
        self.asked.append((context, wish))
        text = self._words(context.last, wish)
        for piece in re.findall(r"\S+\s*", text):
            if stop is not None and stop.is_set():
                self.stopped += 1
                return
            time.sleep(self.pause)
            yield piece
        seconds = time.perf_counter() - started
        bare = "bare" in context.last
        others = (Candidate("That is nice.", {"relevance": 0.31, "plan": 0.2}), Candidate("Oh.", {"relevance": 0.12}))
        yield Reply(
            text,
            Evidence() if bare else self._evidence(context),
            () if bare else (Candidate(text, {"relevance": 0.82, "plan": 0.74}), *others),
            {} if bare else {"perceive": 0.04, "recall": 0.02, "generate": seconds},
        )

    def _words(self, said: str, wish: Wish) -> str:
        if "slowly" in said:
            return "one small word after the other, " * 100
        if "script" in said:
            return EVIL
        answer = next((story[3] for word, story in STORIES.items() if word in said), PLAIN[3])
        ending = BY_INTENT.get(wish.intent or "", self.ending)
        return f"{answer} {ending}" + (f" ({wish.seed})" if wish.seed is not None else "")

    def _evidence(self, context: Context) -> Evidence:
        said = context.last
        emotion, polarity, causes, _ = next((story for word, story in STORIES.items() if word in said), PLAIN)
        rest = [name for name in ("sad", "nostalgic", "hopeful", "caring") if name != emotion]
        shares = dict.fromkeys(EMOTIONS, 0.004) | {emotion: 0.58} | dict(zip(rest, (0.17, 0.09, 0.05, 0.03), strict=False))
        words = [
            (turn, found.start(), found.end())
            for turn, told in enumerate(context.turns)
            for cause in ("moved to Canada", *causes)
            if (found := re.search(cause, told.text))
        ]
        return Evidence(
            emotion=shares,
            polarity=polarity,
            causes=tuple(sorted({turn for turn, _, _ in words})),
            cause_words=tuple(sorted(set(words))),
            exemplars=(
                Exemplar("I know that silence. It gets softer with time.", "My brother left for university.", "lonely", 0.71, "ours"),
                Exemplar("Do you have a way to call each other?", "", "caring", 0.64, "ours"),
            ),
            inferences=(Inference("xReact", "left behind", 0.8), Inference("xWant", "to hear a voice", 0.6)),
            intent={"questioning": 0.46, "acknowledging": 0.31, "sympathizing": 0.14, "wishing": 0.05},
            mechanisms={"emotional_reaction": 1.6, "interpretation": 1.1, "exploration": 1.9},
        )  # fmt: skip


class House:
    """A page being served: what tests may turn, and what they may look at."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.companion = Listener("companion")
        self.mime = Listener("mime", "I am sorry to hear that.")
        self.listeners = {listener.name: listener for listener in (self.companion, self.mime)}
        self.key: str | None = None
        self.loading = False
        self.full = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def app_of(house: House) -> FastAPI:
    app, guard = FastAPI(), Guard()

    @app.middleware("http")
    async def doors(request: Request, call_next: Any) -> Response:
        open_to_all = request.url.path in ("/", "/health") or request.url.path.startswith("/static/")
        if house.key and not open_to_all and request.headers.get("authorization") != f"Bearer {house.key}":
            return refusal(401, "a key is needed")
        if house.loading and request.url.path.startswith("/v1/"):
            return refusal(503, "the model is still loading", "loading", Retry_After="2")
        response = await call_next(request)
        response.headers["Content-Security-Policy"] = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'"
        return response

    def refusal(status: int, message: str, code: str | None = None, **headers: str) -> Response:
        error = {"message": message, "type": "error", "param": None, "code": code}
        return JSONResponse({"error": error}, status, {k.replace("_", "-"): v for k, v in headers.items()})

    @app.get("/")
    def page() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.get("/health")
    def health() -> Response:
        if house.loading:
            return refusal(503, "the model is still loading", "loading", Retry_After="2")
        return JSONResponse({"status": "ok", "model": "companion", "keeps_conversations": False})

    @app.get("/v1/models")
    def models() -> Any:
        about = {"companion": "The whole pipeline: perceives, recalls, plans, writes, chooses.", "mime": "MIME, trained here."}
        data = [{"id": n, "object": "model", "created": 0, "owned_by": "empathia", "description": about[n]} for n in house.listeners]
        return {"object": "list", "data": data}

    @app.get("/v1/taxonomy")
    def taxonomy() -> Any:
        return {
            "emotions": EMOTIONS, "positive": sorted(POSITIVE), "intents": INTENTS, "neutral": "neutral",
            "mechanisms": MECHANISMS, "levels": LEVELS,
        }  # fmt: skip

    @app.post("/v1/reply")
    async def reply(request: Request) -> Response:
        if house.full:
            return refusal(503, "too many wait", Retry_After="7")
        body = await request.json()
        roles = {"user": "speaker", "assistant": "listener"}
        context = Context(tuple(Turn(roles[m["role"]], m["content"]) for m in body["messages"]))  # type: ignore[arg-type]
        listener = house.listeners[body["model"]]
        verdict = guard.check(context)
        return StreamingResponse(
            events(listener, context, Wish(**(body.get("wish") or {})), verdict), media_type="text/event-stream"
        )

    async def events(listener: Listener, context: Context, wish: Wish, verdict: Any) -> AsyncIterator[str]:
        stop = threading.Event()
        pieces = iter([verdict.text, Reply(verdict.text)]) if verdict.replaces else listener.stream(context, wish, stop)
        try:
            while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                if isinstance(piece, Reply):
                    whole = {"id": "r", "model": listener.name, **piece.as_dict(), "guard": verdict.as_dict()}
                    yield f"data: {json.dumps({'reply': whole})}\n\n"
                else:
                    yield f"data: {json.dumps({'delta': piece})}\n\n"
            yield "data: [DONE]\n\n"
        finally:
            stop.set()
            next(pieces, None)

    app.mount("/static", StaticFiles(directory=STATIC))
    return app


@contextmanager
def serving(port: int = 0) -> Iterator[House]:
    """The page on a free port, by a thread."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        house = House(listening.getsockname()[1])
        server = uvicorn.Server(uvicorn.Config(app_of(house), log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield house
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    with serving(int(sys.argv[1])) as here:
        print(here.address)
        threading.Event().wait()
