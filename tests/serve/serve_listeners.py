"""Small real responders: what they say is made of what they were asked, so that any mixing shows."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from empathia.core.types import Candidate, Context, Evidence, Reply, Stop, Wish


class Echo:
    """A streamer: `You said:` and the words of the last message, one piece each, `pause` seconds apart."""

    def __init__(self, name: str = "echo", pause: float = 0.0) -> None:
        self.name, self.pause = name, pause
        self._count = threading.Lock()
        self.live = self.most = self.asked = self.stopped = 0
        self.wishes: list[Wish] = []
        self.contexts: list[Context] = []

    def reply(self, context: Context, wish: Wish | None = None) -> Reply:
        return next(what for what in self.stream(context, wish) if isinstance(what, Reply))

    def stream(self, context: Context, wish: Wish | None = None, stop: Stop | None = None) -> Iterator[str | Reply]:
        wish = wish or Wish()
        with self._count:
            self.live, self.asked = self.live + 1, self.asked + 1
            self.most = max(self.most, self.live)
            self.wishes = [*self.wishes, wish][-50:]
            self.contexts = [*self.contexts, context][-50:]
        try:
            yield from self._write(context, wish, stop)
        finally:
            with self._count:
                self.live -= 1

    def _write(self, context: Context, wish: Wish, stop: Stop | None) -> Iterator[str | Reply]:
        words = ["You", " said:", *(f" {word}" for word in context.last.split())][: wish.length]
        if wish.stochastic:
            words.append(f" ({wish.seed})")
        for word in words:
            time.sleep(self.pause)
            if stop is not None and stop.is_set():
                with self._count:
                    self.stopped += 1
                return
            yield word
        text = "".join(words)
        emotion = {"sad": 0.75, "joyful": 0.25}
        yield Reply(
            text, Evidence(emotion=emotion), (Candidate(text, {"log_probability": -1.5}),), {"write": self.pause}
        )


class Plain:
    """A responder that cannot be watched nor stopped."""

    def __init__(self, name: str = "plain", pause: float = 0.0) -> None:
        self.name, self.pause = name, pause

    def reply(self, context: Context, wish: Wish | None = None) -> Reply:
        time.sleep(self.pause)
        return Reply(f"I heard: {context.last}")


class Broken:
    """Dies of every message, and quotes it in its last words."""

    name = "broken"

    def reply(self, context: Context, wish: Wish | None = None) -> Reply:
        raise RuntimeError(f"cannot read {context.last}")


class BrokenMidway(Echo):
    """Dies after two words."""

    def _write(self, context: Context, wish: Wish, stop: Stop | None) -> Iterator[str | Reply]:
        yield "You"
        yield " said"
        raise RuntimeError(f"cannot go on with {context.last}")
