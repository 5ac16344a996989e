"""Emotions, intents and communication mechanisms, in the order their corpora number them.

The 32 emotions are EmpatheticDialogues' own, alphabetical. The polarity groups are MIME's Table 1, and
the nine further labels and their order are EmpatheticIntents' (neutral is 40: its `labels.txt` says 38).
"""

from __future__ import annotations

from .errors import BadInput, nearest

EMOTIONS: tuple[str, ...] = (
    "afraid", "angry", "annoyed", "anticipating", "anxious", "apprehensive", "ashamed", "caring",
    "confident", "content", "devastated", "disappointed", "disgusted", "embarrassed", "excited",
    "faithful", "furious", "grateful", "guilty", "hopeful", "impressed", "jealous", "joyful", "lonely",
    "nostalgic", "prepared", "proud", "sad", "sentimental", "surprised", "terrified", "trusting",
)  # fmt: skip

POSITIVE: frozenset[str] = frozenset({
    "caring", "confident", "content", "excited", "faithful", "grateful", "hopeful", "impressed", "joyful",
    "prepared", "proud", "surprised", "trusting",
})  # fmt: skip
NEGATIVE: frozenset[str] = frozenset(EMOTIONS) - POSITIVE

INTENTS: tuple[str, ...] = (
    "agreeing", "acknowledging", "encouraging", "consoling", "sympathizing", "suggesting", "questioning",
    "wishing",
)  # fmt: skip
NEUTRAL = "neutral"

#: The 41 labels an utterance can carry (MEED2), numbered as in EmpatheticIntents.
EMOTIONS_AND_INTENTS: tuple[str, ...] = (*EMOTIONS, *INTENTS, NEUTRAL)

#: Sharma et al. (2020); LEMPEx says "presence" for emotional reactions. Levels: 0 none, 1 weak, 2 strong.
MECHANISMS: tuple[str, ...] = ("emotional_reaction", "interpretation", "exploration")
LEVELS: tuple[int, ...] = (0, 1, 2)

#: IMAGINE's eleven relations of ATOMIC-2020 in their four groups (its section 3.2.2).
RELATION_GROUPS: dict[str, tuple[str, ...]] = {
    "affect": ("xReact",),
    "behaviour": ("xIntent", "xNeed", "xWant", "xEffect", "xAttr"),
    "physical": ("HasProperty", "CapableOf", "Desires"),
    "events": ("Causes", "xReason"),
}


def polarity(emotion: str) -> str:
    """`positive` or `negative`, by MIME's Table 1."""
    return "positive" if checked(emotion, EMOTIONS, "emotion") in POSITIVE else "negative"


def checked(name: str, known: tuple[str, ...], kind: str) -> str:
    """`name` in lower case if it is one of `known`; otherwise an error that suggests the nearest."""
    name = name.strip().lower()
    if name not in known:
        raise BadInput(f"'{name}' is not a known {kind}", nearest(name, known))
    return name
