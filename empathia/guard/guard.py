"""The guard: a pure function of the conversation so far. Nothing is remembered, stored or sent.

What is answered when:

- a message that speaks of danger (`crisis`): fixed text, no model is asked;
- the next two messages after an open statement, the next one after an indirect one (`alert`): fixed text too, so
  that the «yes» or «no» to the guard's own question never reaches a generator;
- every later message (`alert`): a generated reply may stand, with one line of help lines under it, to the end of the
  conversation;
- a denial is taken kindly and changes none of this; «yes» to the guard's question is a crisis again.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path

from ..core.errors import BadFile
from ..core.types import Context
from .classifier import classifier
from .helplines import Country, country_of
from .normalise import plain
from .prose import is_prose
from .reader import Reader, Reading, log, no_reader, shipped_reader
from .rules import rules
from .types import Category, Sign, Verdict

ANSWERS = Path(__file__).parent / "answers.toml"
#: messages after an open and after an indirect statement that are still answered by fixed text
HOLD_EXPLICIT, HOLD_OBLIQUE = 2, 1
#: opinions of the danger reader that are kept, and the key of their digests
_READINGS, _KEY = 4096, os.urandom(16)

_YES = re.compile(
    r"(?:yes|yeah|yep|yea|yup|i am|i do|i have|kind of|kinda|sort of|sometimes|maybe|a bit|a little|probably|i think so"
    r"|i guess(?: so)?|both|(?:i am |i )?unsure|true|right now|he is|she is|they are|it is|always)\b"
)
_NO_MORE = re.compile(r"\b(?:but|not|no|kidding|joking|wrong|misunderst\w+)\b")
_DENIAL = re.compile(
    r"\b(?:(?:just|only|was|am|i am) (?:\w+ )?(?:kidding|joking)|jk|joke|misunderst\w+|misread|got (?:me|it|that) wrong"
    r"|not what i meant|did not mean|never mind|nevermind|forget (?:it|i said|what)|i am (?:\w+ )?(?:fine|ok|okay|good"
    r"|safe|not suicidal|not serious)|not (?:serious|like that|what i)|overreact\w*|no i (?:am|was|do|would) not"
    r"|of course not|stop (?:worrying|it)|relax|chill|no need)\b|^no\b"
)


class Guard:
    """Reads conversations for one country's people: `Guard(country="NZ").check(context)`.

    The danger reader of `weights/` is loaded when first needed; `reader` gives another, or none: `reader=no_reader`.
    Without one, or if it fails, rules and classifier go on alone.
    """

    def __init__(self, country: str | None = None, reader: Callable[[], Reader | None] = shipped_reader) -> None:
        self.country: Country = country_of(country)
        self._reader = reader
        self._rules, self._classifier, self._texts = rules(), classifier(), _texts()
        self._readings: dict[bytes, Reading | None] = {}

    def warm(self) -> None:
        """Load the reader now, so that the first message need not wait for it."""
        self._reading("good morning to you")

    def read(self, message: str, alert: bool = False) -> Sign | None:
        """What danger one message speaks of, by itself; an alert guard takes hints more seriously."""
        text = plain(message)
        sign = self._rules.sign(text)
        if sign is not None or (alert and _DENIAL.search(text)) or not is_prose(message, text):
            return sign
        left = self._rules.unsettled(text)
        guess, reading = self._classifier.guess(left), self._reading(left)
        if reading is None:
            dangerous, category = self._classifier.thresholds.passed(guess.score, alert), guess.category
        else:
            dangerous, category = reading.dangerous(guess.score, alert), reading.category
        return Sign(category, False, "self", self._rules.imminent(text), "sounds like it") if dangerous else None

    def _reading(self, text: str) -> Reading | None:
        """The reader's opinion. A conversation is checked anew with every message, so opinions are kept for a while,
        by a digest with a key that dies with the process: no text stays."""
        digest = blake2b(text.encode(), key=_KEY, digest_size=16).digest()
        if digest not in self._readings:
            if len(self._readings) >= _READINGS:
                self._readings.clear()
            try:
                reader = self._reader()
                self._readings[digest] = reader(text) if reader is not None else None
            except Exception as error:  # whatever breaks in it, the guard goes on
                log.warning("the crisis guard goes on without its danger reader: %s", error)
                self._reader = no_reader
                return None
        return self._readings[digest]

    def check(self, context: Context) -> Verdict:
        """The verdict on the last message, in the light of all the speaker's messages before it."""
        known: Sign | None = None  # the last danger spoken of
        since = 0  # messages after it
        verdict = Verdict()
        for turn in context.turns:
            if turn.speaker != "speaker":
                continue
            sign = self.read(turn.text, alert=known is not None)
            if sign is None and known is not None and since == 0 and _affirms(turn.text):
                sign = Sign(known.category, True, known.about, known.imminent or known.explicit, "said yes")
            if sign is not None:
                verdict = self._crisis(sign, known is not None and known.explicit)
                known, since = sign, 0
            elif known is not None:
                since += 1
                verdict = self._alert(known, since, turn.text)
        return verdict

    def _crisis(self, sign: Sign, again: bool) -> Verdict:
        kind = "other" if sign.about == "other" else "again" if again else "explicit" if sign.explicit else "oblique"
        text = self._text(kind, sign.category)
        return Verdict("crisis", sign.category, sign.explicit, sign.imminent, text, True, sign.about, sign.why)

    def _alert(self, known: Sign, since: int, message: str) -> Verdict:
        held = since <= (HOLD_EXPLICIT if known.explicit else HOLD_OBLIQUE)
        kind, category = "reminder", None
        if held:
            denied = _DENIAL.search(plain(message)) is not None
            kind, category = ("denial", None) if denied else ("stay", known.category)
        text = self._text(kind, category, known.category)
        return Verdict("alert", known.category, known.explicit, False, text, held, known.about, "said earlier")

    def _text(self, kind: str, category: Category | None, lines_for: Category | None = None) -> str:
        lines = self.country.for_(lines_for or category or "suicide")
        return (
            self._texts[kind][category or "any"]
            .strip()
            .replace("{urgent}", self.country.emergency)
            .replace("{lines}", "\n".join(f"  {line}" for line in lines))
            .replace("{short}", " · ".join(line.short for line in lines[:2]))
        )


def _affirms(message: str) -> bool:
    """A short yes, or not knowing: the answer to a question whose «yes» means danger."""
    text = plain(message).replace("not sure", "unsure").replace("do not know", "unsure").replace("idk", "unsure")
    short = len(text.split()) <= 6 and _YES.match(text) is not None
    return short and not (_NO_MORE.search(text) or _DENIAL.search(text))


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    try:
        texts = tomllib.loads(ANSWERS.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadFile(ANSWERS, f"cannot be read: {error}") from error
    return texts
