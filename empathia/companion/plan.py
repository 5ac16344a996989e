"""How to answer, decided before a word is written: an emotion or intent (MEED2) and communication mechanisms (IMAGINE).

Perception says what a listener would likely do next. The likeliest is planned; or, if the caller wants variety, one of
the likely ones is drawn (MIME's idea: several ways to answer are right). A caller's wish overrides any part.

Perception guesses right about one time in three, and a guess is not to be followed blindly. So only half of the
candidates follow the plan, the others are free of it (`ways`), and the choice among them decides.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, LEVELS, MECHANISMS, checked
from ..core.types import Evidence, Wish

#: what is drawn from: the likeliest labels that hold this much probability
MASS = 0.8


@dataclass(frozen=True, slots=True)
class Plan:
    label: str | None = None  # one of the 41
    mechanisms: Mapping[str, int] | None = None
    asked: bool = False  # the label is the caller's


def plan(evidence: Evidence, wish: Wish, chance: random.Random) -> Plan:
    asked = wish.intent or wish.emotion
    if wish.intent:
        label: str | None = checked(wish.intent, EMOTIONS_AND_INTENTS, "emotion or intent")
    elif wish.emotion:
        label = checked(wish.emotion, EMOTIONS, "emotion")
    elif evidence.intent:
        label = drawn(evidence.intent, chance) if wish.stochastic else likeliest(evidence.intent)
    else:
        label = None
    # the mechanisms expected of the likeliest reply may not fit a label that the caller chose; that one is expected not
    # to show is not worth saying: it made replies short and bare
    likely = {} if asked else {name: round(level) for name, level in (evidence.mechanisms or {}).items()}
    expected = {name: level for name, level in likely.items() if level}
    wished = {
        checked(n, MECHANISMS, "mechanism"): min(max(v, LEVELS[0]), LEVELS[-1])
        for n, v in (wish.mechanisms or {}).items()
    }
    return Plan(label, {**expected, **wished} or None, asked=bool(asked))


def ways(plan: Plan, n: int) -> list[tuple[Plan, int]]:
    """Plans that `n` candidates follow, and how many follow each: what a caller asked for is followed by all."""
    if plan.asked or plan == Plan() or n < 2:
        return [(plan, n)]
    return [(plan, n - n // 2), (Plan(), n // 2)]


def likeliest(probabilities: Mapping[str, float]) -> str:
    return max(probabilities, key=probabilities.__getitem__)


def drawn(probabilities: Mapping[str, float], chance: random.Random) -> str:
    """One of the likeliest labels that together hold `MASS`, by their probabilities."""
    likely: dict[str, float] = {}
    for label, p in sorted(probabilities.items(), key=lambda pair: -pair[1]):
        likely[label] = p
        if sum(likely.values()) >= MASS:
            break
    return chance.choices(list(likely), list(likely.values()))[0]
