"""The tuples that the store holds and COMET learns: eleven relations of ATOMIC and ConceptNet.

ConceptNet has few of the relations and says one of them in its own way: `MotivatedByGoal` is ATOMIC-2020's xReason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..core.errors import MissingFile
from ..corpora import corpus
from .relations import RELATIONS
from .tails import tidy

_OWN = {relation: relation for relation in RELATIONS}
#: corpus → its relation → ours
TAKEN: dict[str, dict[str, str]] = {
    "atomic": _OWN,
    "conceptnet": {r: r for r in ("HasProperty", "CapableOf", "Desires", "Causes")} | {"MotivatedByGoal": "xReason"},
}
#: corpus → the splits that may be learned from, those that a method is tried on, and all
LEARNED = {"atomic": ("train",), "conceptnet": ("train",)}
HELD_OUT = {"atomic": ("heldout",), "conceptnet": ("valid", "test")}


@dataclass(frozen=True, slots=True)
class Known:
    """One tuple, and whether it may be learned from."""

    head: str
    relation: str
    tail: str
    learned: bool
    corpus: str


def here() -> list[str]:
    """The corpora of tuples on this machine."""
    return [name for name in TAKEN if corpus(name).here() is not None]


def missing() -> MissingFile:
    """What to say where there are none."""
    return MissingFile(
        "there are no tuples of ATOMIC or ConceptNet here",
        "run: empathia data get atomic; empathia data get conceptnet (or set EMPATHIA_DATA to the folder with atomic/)",
    )


def tuples(names: list[str], say: Callable[[str], None] = lambda line: None) -> Iterator[Known]:
    """Every tuple of those corpora, once; what annotators left empty is passed over."""
    seen: set[tuple[str, str, str]] = set()
    for name in names:
        card, taken = corpus(name), TAKEN[name]
        for split in card.splits:
            say(f"reading {card.title}, {split}")
            for row in card.load(split, lenient=True):
                relation = taken.get(row.relation)
                head, tail = " ".join(row.head.lower().split()), tidy(row.tail)
                if relation and tail and (head, relation, tail) not in seen:
                    seen.add((head, relation, tail))
                    yield Known(head, relation, tail, split in LEARNED[name], name)


def fingerprint(names: list[str]) -> str:
    """Of the corpora's files by name and size: quick, and other data gives another store."""
    told = hashlib.sha256()
    for name in names:
        folder = corpus(name).here()
        files = sorted(path for path in folder.iterdir() if path.is_file()) if folder else []
        told.update(repr([name, *((path.name, path.stat().st_size) for path in files)]).encode())
    return told.hexdigest()[:12]
