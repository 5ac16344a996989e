"""A scripted listener for the page: it streams words from a small table and can be held in the middle of a reply.

To look at the page oneself: `python tests/serve/page_listener.py`.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from empathia.core.taxonomy import EMOTIONS
from empathia.core.types import Candidate, Context, Evidence, Exemplar, Inference, Reply, Stop, Wish


class Story(NamedTuple):
    emotion: str
    polarity: float
    causes: tuple[str, ...]  # words of the message that caused it
    answers: tuple[str, str]  # one for each voice


#: a word of the last message → what it is about
STORIES = {
    "sister": Story(
        "lonely",
        0.12,
        ("moved to Canada", "so quiet"),
        (
            "That quiet must feel strange after sharing so much. What do you miss most in the evenings?",
            "I am sorry to hear that.",
        ),
    ),
    "video": Story(
        "sentimental",
        0.55,
        ("her laugh",),
        (
            "Cooking together across an ocean sounds like a lovely way to stay close. What did you make?",
            "That is so nice of her!",
        ),
    ),
    "exam": Story(
        "proud",
        0.93,
        ("passed my exam",),
        (
            "You earned that! All those evenings at your desk paid off. Who did you tell first?",
            "That is great! Good for you.",
        ),
    ),
}
PLAIN = Story("content", 0.6, (), ("Thank you for telling me. How was that for you?", "I see."))
BY_INTENT = {"questioning": "What happened next?", "wishing": "I hope tomorrow is kinder to you."}
EVIL = "<script>document.title='mine'</script><img src=x onerror=\"document.title='mine'\"><b>bold</b>"
#: words written before a closed gate
HELD = 3


def story_of(said: str) -> Story:
    return next((story for word, story in STORIES.items() if word in said), PLAIN)


class Listener:
    """Remembers what it was asked. While `gate` is closed, a reply stops after three words and waits."""

    def __init__(self, name: str, voice: int = 0, pause: float = 0.002) -> None:
        self.name, self.voice, self.pause = name, voice, pause
        self.gate = threading.Event()
        self.gate.set()
        self.contexts: list[Context] = []
        self.wishes: list[Wish] = []
        self.stopped = 0

    def reply(self, context: Context, wish: Wish | None = None) -> Reply:
        return next(piece for piece in self.stream(context, wish) if isinstance(piece, Reply))

    def stream(self, context: Context, wish: Wish | None = None, stop: Stop | None = None) -> Iterator[str | Reply]:
        wish = wish or Wish()
        self.contexts.append(context)
        self.wishes.append(wish)
        started = time.perf_counter()
        text = self._words(context.last, wish)
        for place, piece in enumerate(re.findall(r"\S+\s*", text)):
            time.sleep(self.pause)
            while place == HELD and not self.gate.wait(0.01):
                if stop is not None and stop.is_set():
                    self.stopped += 1
                    return
            yield piece
        if "bare" in context.last:
            yield Reply(text)
            return
        weighed = (
            Candidate(text, {"relevance": 0.82, "plan_kept": 0.74}),
            Candidate("Oh, I see.", {"relevance": 0.31, "plan_kept": 0.2}),
            Candidate("That is nice.", {"relevance": 0.12}),
        )
        timings = {"perceive": 0.04, "recall": 0.02, "generate": time.perf_counter() - started}
        yield Reply(text, self._evidence(context), weighed, timings)

    def _words(self, said: str, wish: Wish) -> str:
        if "script" in said:
            return EVIL
        words = BY_INTENT[wish.intent] if wish.intent else story_of(said).answers[self.voice]
        return words if wish.seed is None else f"{words} ({wish.seed})"

    def _evidence(self, context: Context) -> Evidence:
        story = story_of(context.last)
        others = [name for name in ("sad", "nostalgic", "hopeful", "caring") if name != story.emotion]
        shares = dict.fromkeys(EMOTIONS, 0.002) | {story.emotion: 0.58, others[0]: 0.2, others[1]: 0.1, others[2]: 0.06}
        words = {
            (turn, found.start(), found.end())
            for turn, told in enumerate(context.turns)
            for cause in story_of(told.text).causes
            if (found := re.search(cause, told.text))
        }
        return Evidence(
            emotion=shares,
            polarity=story.polarity,
            causes=tuple(sorted({turn for turn, _, _ in words})),
            cause_words=tuple(sorted(words)),
            exemplars=(
                Exemplar("It gets softer with time.", "My brother left for university.", "lonely", 0.71, "ours"),
                Exemplar("Do you have a way to call each other?", "", "caring", 0.64, "ours"),
            ),
            inferences=(Inference("xReact", "left behind", 0.8), Inference("Causes", "a long silence", 0.6)),
            intent={"acknowledging": 0.31, "questioning": 0.46, "sympathizing": 0.14, "wishing": 0.05},
            mechanisms={"emotional_reaction": 1.6, "interpretation": 1.1, "exploration": 0.2},
        )


if __name__ == "__main__":
    from serve_house import services, serving

    with serving(services(Listener("companion", 0, 0.08), Listener("mime", 1, 0.08))) as house:
        print(house.url)
        threading.Event().wait()
