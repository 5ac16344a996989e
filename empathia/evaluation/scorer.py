"""The one scorer for everything that answers: our models, the companion, and other people's outputs."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import BadInput
from ..core.replies import SystemReply
from ..core.types import Score
from .bleu import bleu, bleu_raw_reference
from .distinct import distinct
from .empathy import Reading, empathy
from .similarity import Embed, Remembered, similarity
from .variety import variety


def score_replies(
    replies: Sequence[SystemReply],
    embed: Embed | None = None,
    bootstrap: int = 1000,
    conditions: str = "",
    reading: Reading | None = None,
) -> list[Score]:
    """Every figure that needs only the texts.

    BLEU, SES and empathy need the gold replies and are left out where a corpus has none; SES and REL need
    `embed`, empathy needs `reading`. `bootstrap` is the number of resamples behind each 95 % interval, 0 for
    none; `conditions` is what the caller knows and a signature should say (`split:test|decoder:beam5|seed:1`).
    """
    if not replies:
        raise BadInput("no replies to score")
    texts = [reply.reply for reply in replies]
    gold = gold_replies(replies)
    scores: list[Score] = []
    if gold is not None:
        scores += bleu(texts, gold, conditions, bootstrap)
        scores.append(bleu_raw_reference(texts, gold, conditions, bootstrap))
    scores += distinct(texts, conditions)
    scores += variety(texts, conditions, bootstrap)
    if embed is not None:
        embed = Remembered(embed)
        if gold is not None:
            scores.append(similarity("ses", texts, gold, embed, conditions, bootstrap))
        scores.append(similarity("rel", texts, [r.context.last for r in replies], embed, conditions, bootstrap))
    if reading is not None and gold is not None:
        scores += empathy([r.context for r in replies], texts, gold, reading, conditions, bootstrap)
    return scores


def gold_replies(replies: Sequence[SystemReply]) -> list[str] | None:
    """The gold replies, or None where there are none at all; some without is a mistake."""
    gold = [reply.gold for reply in replies if reply.gold is not None]
    if not gold:
        return None
    if len(gold) < len(replies):
        missing = next(reply.id for reply in replies if reply.gold is None)
        raise BadInput(f"reply '{missing}' has no gold reply but others do", "give all of them one, or none")
    return gold
