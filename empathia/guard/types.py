"""What the guard finds in a message, and what it says about a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Category = Literal["suicide", "self_harm", "abuse", "violence"]
Level = Literal["none", "alert", "crisis"]
About = Literal["self", "other"]

CATEGORIES: tuple[Category, ...] = ("suicide", "self_harm", "abuse", "violence")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores from which on a text counts as dangerous: at first, and once the guard is alert."""

    first: float
    alert: float

    def passed(self, score: float, alert: bool) -> bool:
        return score > (self.alert if alert else self.first)


@dataclass(frozen=True, slots=True)
class Sign:
    """One message read by itself: what danger it speaks of, whose, how openly, how soon; `why` names what was seen."""

    category: Category
    explicit: bool
    about: About
    imminent: bool
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guard says to the last message of a conversation.

    `crisis`: the message speaks of danger. `alert`: an earlier one did. `text` is fixed text: shown instead of a
    reply if `replaces` (then it is the `answer`), else under the reply (then it is the `reminder`).
    """

    level: Level = "none"
    category: Category | None = None
    explicit: bool = False
    imminent: bool = False
    text: str = ""
    replaces: bool = False
    about: About = "self"
    why: str = ""

    @property
    def answer(self) -> str:
        return self.text if self.replaces else ""

    @property
    def reminder(self) -> str:
        return "" if self.replaces else self.text

    def as_dict(self) -> dict[str, Any]:
        """For programs; never the message itself."""
        return {
            "level": self.level,
            "category": self.category,
            "explicit": self.explicit,
            "imminent": self.imminent,
            "about": self.about,
            "why": self.why,
            "replaces_reply": self.replaces,
            "text": self.text,
        }
