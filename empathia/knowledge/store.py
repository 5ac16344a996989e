"""The tuples of ATOMIC and ConceptNet, found by meaning.

An event's nearest heads (MiniLM, all compared) vote for their tails: a head of similarity s weighs
((s − floor) / (1 − floor))^sharpness. A tail's score is the share of all votes that it got times the similarity of
the nearest head: similarity × support, between 0 and 1. For the relations of things the heads are the things that the
event names, by their words; for feelings and traits only heads vote that deny what the event denies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import places
from ..core.errors import BadFile
from ..core.files import read_json
from ..core.types import Inference
from .building import CARD, FAISS, HEADS, STARTS, TAILS, TUPLES, Encoder, Progress, build
from .events import spoken
from .polarity import denied
from .relations import OF_POLARITY, OF_THINGS, RELATIONS
from .tails import best, gathered, singular
from .tuples import fingerprint, here, missing
from .wordlists import listed

#: Counted up when the same tuples would give another folder.
VERSION = 1
#: Nearest heads that vote for the tails of one relation.
VOTERS = 24
FLOOR, SHARPNESS = 0.4, 3.0
#: Words of a thing's name at most.
_LONGEST_NAME = 3
#: Events that are compared with all heads at once.
_TOGETHER = 256
_NO_THINGS = listed("no_things")

Voters = list[tuple[int, float]]  # place of a head, its similarity


def store(say: Callable[[str], None] = lambda line: None, progress: Progress = lambda done, total: None) -> Store:
    """The store over the tuples on this machine, from the cache; made on first use, which takes some minutes."""
    from ..text import sentence_encoder

    def encoder() -> Encoder:
        return sentence_encoder.load(say)

    folder, names = places.cache() / "knowledge", here()
    if names:
        path = folder / f"store-v{VERSION}-{fingerprint(names)}"
        if not path.exists():
            build(path, names, encoder, say, progress)
        return Store(path, encoder)
    made = sorted(folder.glob(f"store-v{VERSION}-*"), key=lambda p: p.stat().st_mtime)
    if not made:
        raise missing()
    return Store(made[-1], encoder)  # the corpora are gone, what was made of them is not


class Store:
    """A folder that `building` made, opened; an `Inferrer`. `learned` leaves held-out tuples alone, to be tried on."""

    name = "store"

    def __init__(self, folder: Path, encoder: Callable[[], Encoder], learned: bool = False) -> None:
        import faiss

        again = "delete it; it is made again"
        card = read_json(folder / CARD)
        try:
            self._heads = (folder / HEADS).read_text(encoding="utf-8").splitlines()
            self._tails = (folder / TAILS).read_text(encoding="utf-8").splitlines()
            self._tuples: NDArray[np.int32] = np.load(folder / TUPLES)
            self._starts: NDArray[np.int64] = np.load(folder / STARTS)
            index: Any = faiss.read_index(str(folder / FAISS))
            whole = len(self._heads) == len(self._starts) - 1 == index.ntotal == card["heads"]
            if not whole or len(self._tuples) != card["tuples"] or len(self._tails) != card["tails"]:
                raise ValueError("its parts do not belong together")
        except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
            raise BadFile(folder, f"not a whole store: {error}", hint=again) from error
        # Unpacked, because one product for all relations is many times as fast as a search of the index for each.
        self._vectors_HD: NDArray[np.float32] = index.reconstruct_n(0, index.ntotal)
        self._denied_H = np.array([denied(head) for head in self._heads])
        self.folder, self.learned = folder, learned
        polar = ",".join(relation for relation in RELATIONS if relation in OF_POLARITY)
        self.signature = f"store|{folder.name}|polarity:{polar}" + ("|learned" if learned else "")
        self._load = encoder
        self._encoder: Encoder | None = None
        self._of: dict[int, NDArray[np.bool_]] = {}
        self._things: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self._tuples)

    def tails(self, events: Sequence[str], relations: Sequence[str], most: int = 5) -> list[list[Inference]]:
        """For each event the best tails of each relation, best first."""
        found: list[list[Inference]] = [[] for _ in events]
        if not events:
            return found
        vectors = self._vectors(events)
        for start in range(0, len(events), _TOGETHER):
            stretch = slice(start, start + _TOGETHER)
            self._add_tails(found[stretch], events[stretch], vectors[stretch], relations, most)
        return found

    def _add_tails(
        self,
        found: list[list[Inference]],
        events: Sequence[str],
        vectors: NDArray[np.float32],
        relations: Sequence[str],
        most: int,
    ) -> None:
        similarity_EH = vectors @ self._vectors_HD.T
        for relation in relations:
            place = RELATIONS.index(relation)
            near = self._nearest(events, similarity_EH, place)
            for event, voters, own in zip(events, near, found, strict=True):
                if relation in OF_THINGS:
                    named = [(head, 1.0) for head in self.things(event) if self._has(place)[head]]
                    voters = named or ([] if "person" in event else voters)
                own += self._voted(relation, place, voters, most)

    def things(self, event: str) -> list[int]:
        """Heads of ConceptNet that an event names, longest names first and no word twice."""
        names, words = self._names(), [singular(w) for w in event.lower().split()]
        found, taken = [], set[int]()
        for size in range(_LONGEST_NAME, 0, -1):
            for start in range(len(words) - size + 1):
                name, own = " ".join(words[start : start + size]), set(range(start, start + size))
                if name in names and not own & taken:
                    found.append(names[name])
                    taken |= own
        return found

    def heads(self, event: str, relation: str) -> list[tuple[str, float]]:
        """The heads that speak for an event's tails, with their similarity: to see why."""
        similarity_1H = self._vectors([event]) @ self._vectors_HD.T
        [near] = self._nearest([event], similarity_1H, RELATIONS.index(relation))
        return [(self._heads[head], similarity) for head, similarity in near]

    def _voted(self, relation: str, place: int, voters: Voters, most: int) -> list[Inference]:
        if not voters:
            return []
        weights = [((similarity - FLOOR) / (1 - FLOOR)) ** SHARPNESS for _, similarity in voters]
        votes = gathered(
            (tail, weight)
            for (head, _), weight in zip(voters, weights, strict=True)
            for tail in self._tails_of(head, place)
        )
        nearest, total = voters[0][1], sum(weights)
        return best(relation, {tail: nearest * vote / total for tail, vote in votes.items()}, most)

    def _tails_of(self, head: int, place: int) -> Iterator[str]:
        for tail, relation, learned in self._tuples[self._starts[head] : self._starts[head + 1]].tolist():
            if relation == place and (learned or not self.learned):
                yield self._tails[tail]

    def _nearest(self, events: Sequence[str], similarity_EH: NDArray[np.float32], place: int) -> list[Voters]:
        """For each event the heads nearest to it that have tails of that relation, nearest first."""
        having = np.flatnonzero(self._has(place))
        scores_EV = similarity_EH[:, having]
        if RELATIONS[place] in OF_POLARITY:
            denied_E = np.array([denied(event) for event in events])
            scores_EV[denied_E[:, None] != self._denied_H[having]] = 0.0
        heads_EV = np.broadcast_to(having, scores_EV.shape)
        if len(having) > VOTERS:
            nearest_EV = np.argpartition(scores_EV, -VOTERS, axis=1)[:, -VOTERS:]
            heads_EV, scores_EV = having[nearest_EV], np.take_along_axis(scores_EV, nearest_EV, axis=1)
        return [
            [(int(heads_V[i]), min(1.0, float(scores_V[i]))) for i in np.argsort(-scores_V) if scores_V[i] > FLOOR]
            for heads_V, scores_V in zip(heads_EV, scores_EV, strict=True)
        ]

    def _has(self, place: int) -> NDArray[np.bool_]:
        """Which heads have a tail of a relation."""
        if place not in self._of:
            rows = self._tuples[:, 1] == place
            if self.learned:
                rows &= self._tuples[:, 2] == 1
            owners = np.searchsorted(self._starts, np.flatnonzero(rows), side="right") - 1
            has = np.zeros(len(self._heads), dtype=np.bool_)
            has[owners] = True
            self._of[place] = has
        return self._of[place]

    def _names(self) -> dict[str, int]:
        if self._things is None:
            has = np.logical_or.reduce([self._has(RELATIONS.index(relation)) for relation in sorted(OF_THINGS)])
            named = {" ".join(singular(w) for w in self._heads[i].split()): int(i) for i in np.flatnonzero(has)}
            self._things = {name: head for name, head in named.items() if name not in _NO_THINGS}
        return self._things

    def _vectors(self, events: Sequence[str]) -> NDArray[np.float32]:
        if self._encoder is None:
            self._encoder = self._load()
        return self._encoder([spoken(event) for event in events])
