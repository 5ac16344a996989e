"""Hand-written replies, small studies, a real server, and people who answer over HTTP."""

from __future__ import annotations

import http.client
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from empathia.core.replies import SystemReply, write_replies
from empathia.core.taxonomy import EMOTIONS
from empathia.core.types import Context
from empathia.study.app import make_app
from empathia.study.links import token
from empathia.study.sampling import ab_items, bin_tasks, matched_questions, rating_items
from empathia.study.settings import Settings
from empathia.study.store import Study, create_study
from empathia.study.texts import texts_of

PLACES = ("at the lake", "on the train", "in the kitchen", "at my desk", "in the garden", "on the stairs")
STORIES = {
    "sad": "My best friend moved to another country this morning. We said goodbye at the station.",
    "proud": "My daughter read her first whole book aloud last night, every single page!",
    "afraid": "There was somebody on the stairs again last night, and the light was out.",
}
STYLES = (
    "That sounds like a lot to take in. What went through your mind?",
    "Oh, I see. I hope it all goes well.",
    "I like trains. Do you like trains?",
    "I remember a day like that myself. It stays with you.",
)


def write_system(path: Path, system: str, per_emotion: int = 4, emotions: Sequence[str] = EMOTIONS) -> Path:
    """One system's replies to `per_emotion` contexts of each emotion, the same contexts for every system."""
    style = STYLES[ord(system[-1]) % len(STYLES)]
    replies = []
    for emotion in emotions:
        for i in range(per_emotion):
            told = STORIES.get(emotion) if i == 0 else None
            told = told or f"Something happened {PLACES[i % len(PLACES)]} and left me {emotion}, for the {i + 1}. time."
            context = Context.of("Hello, how was your day?", told)
            gold = f"I can see why that left you {emotion}. Do you want to talk about it?"
            replies.append(SystemReply(f"{emotion}-{i}", system, context, style, gold, emotion))
    write_replies(path, replies)
    return path


def make_study(
    folder: Path,
    design: str,
    systems: int = 2,
    per_emotion: int = 1,
    emotions: Sequence[str] = EMOTIONS[:3],
    **given: Any,
) -> Path:
    """A study in `folder / design` on hand-written replies."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [write_system(folder / f"s{i}.jsonl", f"System{i}", per_emotion, emotions) for i in range(systems)]
    questions = matched_questions(files)
    size, checkpoints = given.pop("task_size", 10), given.pop("checkpoints", 3)
    if design == "bins":
        tasks = bin_tasks(questions, size, checkpoints, 0)
        given = {"task_size": size, "checkpoints": checkpoints, **given}
    else:
        tasks = [[item] for item in (ab_items if design == "ab" else rating_items)(questions)]
    given.setdefault("annotators", 3)
    settings = Settings(f"A small {design} study", design, systems={f"System{i}": "-" for i in range(systems)}, **given)
    create_study(folder / design, settings, tasks)
    return folder / design


@contextmanager
def serving(study: Study) -> Iterator[int]:
    """A real uvicorn in a thread; gives its port."""
    config = uvicorn.Config(make_app(study), port=0, log_level="warning", access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)


class Refused(Exception):
    def __init__(self, status: int, error: str) -> None:
        super().__init__(f"{status}: {error}")
        self.status = status


class Person:
    """An annotator with a browser that is nothing but HTTP."""

    def __init__(self, port: int, secret: str, name: str) -> None:
        self.name = name
        self.link = token(secret, name)
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"X-Study-Link": self.link}
        data = None
        if method == "POST":
            headers["Content-Type"] = "application/json"
            data = json.dumps({} if body is None else body)
        self._http.request(method, path, data, headers)
        response = self._http.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise Refused(response.status, answer["error"])
        return answer

    def hang_up(self) -> None:
        """The next call opens a new connection."""
        self._http.close()

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("POST", path, body)

    def prepare(self, design: str) -> None:
        """Up to the first item: begin, check, practice."""
        self.post("/api/begin")
        self.post("/api/check", {"answers": [q.correct for q in texts_of(design).check]})
        self.post("/api/practised")

    def answer(self, item: int, value: Any, done: bool = True, key: str | None = None, seconds: float = 3.0) -> Any:
        key = uuid.uuid4().hex if key is None else key
        return self.post("/api/answers", {"key": key, "item": item, "value": value, "done": done, "seconds": seconds})

    def work(self, choose: Callable[[dict[str, Any]], Any]) -> int:
        """Answer everything that is offered; returns how many items that was."""
        count = 0
        while True:
            found = self.post("/api/next")
            if found["state"] != "work":
                return count
            for item in found["items"]:
                if not item["done"]:
                    self.answer(item["item"], choose(item))
                    count += 1
