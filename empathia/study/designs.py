"""The three designs of the papers: what an answer looks like, when it is whole, what practice thinks of it.

An answer is what was clicked, in terms of what was *shown*: slots are places on the page, and the layout
logged for each annotator says which candidate stood in which slot. So nothing an annotator's browser
holds names a system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.errors import BadInput
from .texts import PracticeItem, scales

DESIGNS: tuple[str, ...] = ("ratings", "ab", "bins")
ATTRIBUTES: tuple[str, ...] = ("empathy", "relevance", "fluency", "presence", "interpretation", "exploration")
SIDES: tuple[str, ...] = ("left", "right")
TIE = "tie"
CHOICES: tuple[str, ...] = (*SIDES, TIE)
BINS: tuple[str, ...] = ("good", "okay", "bad")
#: How many people judge each item: MIME and LEMPEx ask three, MEED2 four.
ANNOTATORS: Mapping[str, int] = {"ratings": 3, "ab": 3, "bins": 4}


def checked_answer(design: str, value: Any, attributes: Sequence[str], slots: int) -> dict[str, Any]:
    """`value` as a clean dictionary, or `BadInput` saying what does not fit."""
    if not isinstance(value, dict):
        raise BadInput("an answer must be an object")
    if design == "ratings":
        return _checked_ratings(value, attributes)
    if design == "ab":
        return _checked_choice(value)
    return _checked_bins(value, slots)


def _checked_ratings(value: dict[str, Any], attributes: Sequence[str]) -> dict[str, Any]:
    known = scales()
    for key, level in value.items():
        if key not in attributes:
            raise BadInput("an answer rates something this study does not ask for")
        if type(level) is not int or not 1 <= level <= len(known[key].levels):
            raise BadInput(f"'{key}' must be a whole number from 1 to {len(known[key].levels)}")
    return dict(value)


def _checked_choice(value: dict[str, Any]) -> dict[str, Any]:
    if set(value) - {"choice"} or ("choice" in value and value["choice"] not in CHOICES):
        raise BadInput("'choice' must be left, right or tie")
    return dict(value)


def _checked_bins(value: dict[str, Any], slots: int) -> dict[str, Any]:
    bins = value.get("bins")
    if set(value) != {"bins"} or not isinstance(bins, dict):
        raise BadInput("'bins' must say for each slot good, okay or bad")
    for slot, name in bins.items():
        if slot not in {str(i) for i in range(slots)} or name not in BINS:
            raise BadInput("'bins' must say for each slot good, okay or bad")
    return {"bins": dict(bins)}


def is_whole(design: str, value: Mapping[str, Any], attributes: Sequence[str], slots: int) -> bool:
    """Nothing is missing: the annotator may go on."""
    if design == "ratings":
        return all(name in value for name in attributes)
    if design == "ab":
        return "choice" in value
    return len(value.get("bins", {})) == slots


def chosen_candidate(value: Mapping[str, Any], layout: Sequence[int]) -> int | None:
    """A/B: the index of the preferred candidate, `None` for a tie."""
    return None if value["choice"] == TIE else layout[SIDES.index(value["choice"])]


def binned_candidates(value: Mapping[str, Any], layout: Sequence[int]) -> dict[int, str]:
    """Bins: candidate index → good, okay or bad."""
    return {layout[int(slot)]: name for slot, name in value["bins"].items()}


def majority(votes: Iterable[Any]) -> Any | None:
    """The vote that more people gave than any other one; `None` where there is no such vote."""
    given = list(votes)
    return None if not given or split(given) else Counter(given).most_common(1)[0][0]


def split(votes: Sequence[Any]) -> bool:
    """No two of three agree (or, with other numbers, no vote leads): one more annotator is called (MIME 4.3)."""
    ranked = Counter(votes).most_common(2)
    return len(ranked) == 2 and ranked[0][1] == ranked[1][1]


def earned_bonus(value: Mapping[str, Any], layout: Sequence[int], gold: int) -> bool:
    """A checkpoint is passed when the human reply lies in good or okay (MEED2 5.4.1)."""
    return binned_candidates(value, layout).get(gold) in ("good", "okay")


def practice_marks(design: str, item: PracticeItem, value: Mapping[str, Any]) -> dict[str, bool]:
    """For each part of a practice answer, whether it is among the expected ones."""
    if design == "ratings":
        return {name: value[name] in item.expected[name] for name in value}
    if design == "ab":
        shown = TIE if value["choice"] == TIE else SIDES.index(value["choice"])
        return {"choice": shown in item.expected["choice"]}
    return {slot: name in item.expected["bins"][int(slot)] for slot, name in value["bins"].items()}
