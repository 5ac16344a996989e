"""Which annotators to look at: MEED2's filters, speed, side habits, agreement with the others."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .designs import TIE
from .records import Record
from .settings import Settings

#: Too few answers to say that someone always gives the same one.
FEWEST = 5
SAME = "same answer nearly everywhere"
HASTY = "too fast, with too few bonus points"


@dataclass(frozen=True, slots=True)
class Quality:
    annotator: str
    answers: int
    median_seconds: float
    same_answer: float  # share of the answer given most often
    left: float | None  # A/B: share of the left side among choices that are not ties
    agreement: float | None  # share of single judgements equal to another annotator's on the same item
    bonus: int | None
    bonus_possible: int
    flags: tuple[str, ...] = field(default=())


def annotator_quality(records: Sequence[Record], settings: Settings) -> list[Quality]:
    """One row per annotator, most answers first."""
    by_annotator: dict[str, list[Record]] = defaultdict(list)
    by_item: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        by_annotator[record.annotator].append(record)
        by_item[record.item].append(record)
    rows = [_quality(name, own, by_item, settings) for name, own in by_annotator.items()]
    return sorted(rows, key=lambda row: (-row.answers, row.annotator))


def _quality(annotator: str, own: Sequence[Record], by_item: dict[int, list[Record]], settings: Settings) -> Quality:
    same = _same_answer(own, settings.design)
    flags = []
    if len(own) >= FEWEST and same >= settings.filters.same_answer:
        flags.append(SAME)
    if any(is_hasty(record, settings) for record in own):
        flags.append(HASTY)
    tasks = {record.task: record.bonus for record in own if record.bonus is not None}
    return Quality(
        annotator, len(own), statistics.median(record.seconds for record in own), same, _left(own, settings.design),
        _agreement(annotator, own, by_item), sum(tasks.values()) if tasks else None,
        sum(record.gold is not None for record in own), tuple(flags),
    )  # fmt: skip


def is_hasty(record: Record, settings: Settings) -> bool:
    """MEED2 5.4.2: a task done in under five minutes with fewer than two bonus points."""
    fast = record.task_minutes is not None and record.task_minutes < settings.filters.minutes
    return record.bonus is not None and fast and record.bonus < settings.filters.bonus


def _same_answer(own: Sequence[Record], design: str) -> float:
    """Share of the most common answer: a whole set of ratings, a side, or a bin."""
    if design == "bins":
        given = [name for record in own for name in record.value["bins"].values()]
    else:
        given = [json.dumps(record.value, sort_keys=True) for record in own]
    return Counter(given).most_common(1)[0][1] / len(given)


def _left(own: Sequence[Record], design: str) -> float | None:
    if design != "ab":
        return None
    sides = [record.value["choice"] for record in own if record.value["choice"] != TIE]
    return sides.count("left") / len(sides) if sides else None


def _agreement(annotator: str, own: Sequence[Record], by_item: dict[int, list[Record]]) -> float | None:
    equal = total = 0
    for record in own:
        mine = _parts(record)
        for other in by_item[record.item]:
            if other.annotator != annotator:
                theirs = _parts(other)
                equal += sum(theirs.get(part) == value for part, value in mine.items())
                total += len(mine)
    return equal / total if total else None


def _parts(record: Record) -> dict[Any, Any]:
    """An answer in terms of candidates, so that two annotators' different layouts do not matter."""
    if "bins" in record.value:
        return {record.layout[int(slot)]: name for slot, name in record.value["bins"].items()}
    if "choice" in record.value:
        choice = record.value["choice"]
        return {"choice": TIE if choice == TIE else record.layout[("left", "right").index(choice)]}
    return dict(record.value)


def kept(records: Sequence[Record], settings: Settings, drop_flagged: bool) -> list[Record]:
    """The answers an analysis counts. In a bins study only tasks with enough bonus points (MEED2 5.4.2)."""
    counted = [record for record in records if record.counted]
    if not drop_flagged:
        return counted
    flagged = {q.annotator for q in annotator_quality(counted, settings) if SAME in q.flags}
    possible = Counter(dict.fromkeys((r.task for r in counted), 0))
    for _, task in {(r.item, r.task) for r in counted if r.gold is not None}:
        possible[task] += 1
    return [
        record
        for record in counted
        if record.annotator not in flagged
        and (record.bonus is None or record.bonus >= min(settings.filters.bonus, possible[record.task]))
    ]
