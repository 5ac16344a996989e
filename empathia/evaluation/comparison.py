"""Systems that answered the same contexts, two by two: is one better, or was it luck?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..core.errors import BadInput
from ..core.replies import SystemReply
from .bleu import bleu_rows, bleu_statistic
from .empathy import Reading, mechanism_tables, sentiment_table
from .normalise import normalise
from .scorer import gold_replies
from .significance import Array, Comparison, Statistic, holm, paired_bootstrap, ratio
from .similarity import Embed, cosines


class NotAligned(BadInput):
    """Two systems did not answer the same contexts; `system` and `id` say where that shows first."""

    def __init__(self, system: str, id: str, problem: str) -> None:
        super().__init__(f"{system}: {problem}", "compare systems on the same contexts")
        self.system, self.id, self.problem = system, id, problem


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """One metric of two systems; `result.difference` is `first` minus `second`."""

    metric: str
    first: str
    second: str
    result: Comparison
    p_holm: float = 1.0  # corrected for all comparisons made together


def compare_systems(
    systems: Mapping[str, Sequence[SystemReply]],
    embed: Embed | None = None,
    resamples: int = 1000,
    reading: Reading | None = None,
) -> list[SystemComparison]:
    """Paired bootstraps for every two systems; Holm over all of them. BLEU-4; with an encoder SES; with a reading F1 of
    each mechanism of empathy, and the sentiment's error."""
    aligned = _aligned(systems)
    tables: dict[str, dict[str, tuple[Array, Statistic]]] = {}
    for name, replies in aligned.items():
        gold = gold_replies(replies)
        if gold is None:
            return []
        texts = [reply.reply for reply in replies]
        own: dict[str, tuple[Array, Statistic]] = {"bleu_4": (bleu_rows(texts, gold), bleu_statistic(4))}
        if embed is not None:
            cosine = cosines(texts, gold, embed)
            own["ses"] = np.stack([cosine, np.ones_like(cosine)], axis=1), ratio
        if reading is not None:
            shown = mechanism_tables([reply.context for reply in replies], texts, gold, reading)
            own |= {f"{mechanism}_f1": table for mechanism, table in shown.items()}
            own["sentiment_mae"] = sentiment_table(texts, gold, reading)
        for metric, table in own.items():
            tables.setdefault(metric, {})[name] = table
    found = []
    for metric, rows in tables.items():
        for first, second in combinations(rows, 2):
            statistic = rows[first][1]
            result = paired_bootstrap(rows[first][0], rows[second][0], statistic, resamples)
            found.append(SystemComparison(metric, first, second, result))
    corrected = holm([comparison.result.p for comparison in found])
    return [replace(comparison, p_holm=p) for comparison, p in zip(found, corrected, strict=True)]


def _aligned(systems: Mapping[str, Sequence[SystemReply]]) -> dict[str, list[SystemReply]]:
    """Every system's replies in the order of the first's; the same ids and the same gold, or an error."""
    first_name, first = next(iter(systems.items()))
    aligned = {}
    for name, replies in systems.items():
        by_id = {reply.id: reply for reply in replies}
        wanted = {reply.id for reply in first}
        for reply in replies:
            if reply.id not in wanted:
                raise NotAligned(name, reply.id, f"id '{reply.id}' is not in {first_name}")
        for reply in first:
            own = by_id.get(reply.id)
            if own is None:
                raise NotAligned(first_name, reply.id, f"id '{reply.id}' is not in {name}")
            if normalise(own.gold or "") != normalise(reply.gold or ""):
                raise NotAligned(name, reply.id, f"id '{reply.id}' has another gold reply than in {first_name}")
        aligned[name] = [by_id[reply.id] for reply in first]
    return aligned
