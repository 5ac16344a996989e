"""Counting what the corpora hold, the same way for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..core.types import Dialogue


def share(total: float, count: int) -> float:
    """`total / count`, and 0 for an empty split."""
    return total / count if count else 0.0


def of_dialogues(dialogues: Iterable[Dialogue]) -> Mapping[str, float]:
    conversations = turns = listener = words = 0
    for dialogue in dialogues:
        conversations += 1
        turns += len(dialogue.turns)
        listener += sum(turn.speaker == "listener" for turn in dialogue.turns[1:])
        words += sum(len(turn.text.split()) for turn in dialogue.turns)
    return {
        "conversations": conversations,
        "turns": turns,
        "listener turns": listener,
        "turns per conversation": share(turns, conversations),
        "words per turn": share(words, turns),
    }


def of_texts(kind: str, texts: Iterable[str]) -> Mapping[str, float]:
    count = words = 0
    for text in texts:
        count += 1
        words += len(text.split())
    return {kind: count, "words each": share(words, count)}
