"""IMAGINE's eleven relations (`core.taxonomy.RELATION_GROUPS`) as they are asked for and said."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.errors import BadInput, nearest
from ..core.taxonomy import RELATION_GROUPS

RELATIONS: tuple[str, ...] = tuple(relation for group in RELATION_GROUPS.values() for relation in group)

#: Relations of a thing; all others are relations of an event.
OF_THINGS = frozenset(RELATION_GROUPS["physical"])

#: What becomes its contrary with the event: «passes the exam» feels proud, «does not pass it» does not. What somebody
#: needs or wants is about the same things either way.
OF_POLARITY = frozenset(("xReact", "xAttr"))

#: A relation as a person would say it; our own COMET reads and learns it so, too.
SAID: dict[str, str] = {
    "xReact": "feels",
    "xIntent": "wanted",
    "xNeed": "needed",
    "xWant": "wants",
    "xEffect": "then",
    "xAttr": "seems",
    "HasProperty": "can be",
    "CapableOf": "can",
    "Desires": "likes",
    "Causes": "causes",
    "xReason": "because",
}


def checked(relations: Iterable[str]) -> tuple[str, ...]:
    """The relations in the order of `RELATIONS`; an unknown one is refused."""
    asked = set(relations)
    for relation in sorted(asked - set(RELATIONS)):
        raise BadInput(f"no relation '{relation}'", nearest(relation, RELATIONS))
    return tuple(relation for relation in RELATIONS if relation in asked)
