"""Whether the tails of the store and of the COMETs are those that people gave, on tuples nobody has learned from.

    python benchmarks/knowledge.py [--heads N] [--denied] [--comet FOLDER …] [--only NAME …] [--record]

Held-out heads of ATOMIC that no learned tuple has (affect, behaviour), and held-out tuples of ConceptNet, whose heads
may be known (physical, events). Of each head one relation per group is drawn; all its tails are right answers. Five
tails are asked for: exact match of the first and of any of five, corpus BLEU-2 of the first against all right answers,
and MiniLM's cosine to the nearest right answer, of the first and of the best of five. Systems: `store` over the tuples
that may be learned from, `commonest` (the five commonest tails of the relation, whatever the event), our own COMET if
it is trained, and any COMET named. With `--denied` only heads of ATOMIC that tell of what does not happen, all of
them. Needs EMPATHIA_DATA.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from empathia.commands.inferrers import open_comet, own_comet
from empathia.core.errors import BadInput, EmpathiaError
from empathia.core.taxonomy import RELATION_GROUPS
from empathia.core.types import Inference
from empathia.evaluation import board
from empathia.evaluation.board import Figure
from empathia.knowledge import Inferrer, Store, store
from empathia.knowledge.polarity import denied
from empathia.knowledge.tails import best
from empathia.knowledge.tuples import Known, here, missing, tuples
from empathia.text import sentence_encoder
from empathia.text.sentence_encoder import SentenceEncoder

HEADS, MOST, SEED = 500, 5, 2026
#: where a group's questions come from
CORPORA = {"affect": "atomic", "behaviour": "atomic", "physical": "conceptnet", "events": "conceptnet"}


@dataclass(frozen=True, slots=True)
class Question:
    group: str
    head: str
    relation: str
    right: tuple[str, ...]


class Commonest:
    """The same tails for every event."""

    name = signature = "commonest"

    def __init__(self, rows: Iterable[Known]) -> None:
        counts: dict[str, Counter[str]] = {}
        for row in rows:
            counts.setdefault(row.relation, Counter())[row.tail] += 1
        self._counts = {relation: dict(own.most_common(40)) for relation, own in counts.items()}

    def tails(self, events: Sequence[str], relations: Sequence[str], most: int = 5) -> list[list[Inference]]:
        same = [tail for relation in relations for tail in best(relation, self._counts.get(relation, {}), most)]
        return [list(same) for _ in events]


def questions(rows: Sequence[Known], heads: int, seed: int = SEED) -> list[Question]:
    """At most `heads` of each corpus, and of each one relation per group."""
    learned = {row.head for row in rows if row.learned and row.corpus == "atomic"}
    right: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for row in rows:
        if not row.learned and not (row.corpus == "atomic" and row.head in learned):
            for group, relations in RELATION_GROUPS.items():
                if row.relation in relations and CORPORA[group] == row.corpus:
                    own = right.setdefault((row.corpus, row.head, group), {})
                    own.setdefault(row.relation, []).append(row.tail)
    chance = random.Random(seed)
    kept: set[tuple[str, str]] = set()
    for corpus in sorted(set(CORPORA.values())):
        known = sorted({head for name, head, _ in right if name == corpus})
        kept |= {(corpus, head) for head in chance.sample(known, min(heads, len(known)))}
    asked = []
    for corpus, head, group in sorted(right):
        if (corpus, head) in kept:
            relation = chance.choice(sorted(right[corpus, head, group]))
            asked.append(Question(group, head, relation, tuple(right[corpus, head, group][relation])))
    return asked


def answers(inferrer: Inferrer, asked: Sequence[Question]) -> list[list[str]]:
    """The tails an inferrer gives to each question, best first."""
    found: list[list[str]] = [[] for _ in asked]
    for relation in sorted({question.relation for question in asked}):
        places = [i for i, question in enumerate(asked) if question.relation == relation]
        for i, tails in zip(places, inferrer.tails([asked[i].head for i in places], [relation], MOST), strict=True):
            found[i] = [tail.text for tail in tails]
    return found


def figures(
    asked: Sequence[Question], found: Sequence[Sequence[str]], vectors: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """Every figure of one group's questions, in percent; no answer counts as a wrong one."""
    right = [{plain(tail) for tail in question.right} for question in asked]
    exact = [[plain(tail) in own for tail in tails] for tails, own in zip(found, right, strict=True)]
    near = [
        [max(float(vectors[tail] @ vectors[gold]) for gold in question.right) for tail in tails]
        for question, tails in zip(asked, found, strict=True)
    ]
    first = [plain(tails[0]) if tails else "" for tails in found]
    longest = max(len(own) for own in right)
    references = [[*sorted(own), *[None] * (longest - len(own))] for own in right]
    bleu = BLEU(max_ngram_order=2, tokenize="none", lowercase=True, smooth_method="none")
    score = bleu.corpus_score(first, [list(column) for column in zip(*references, strict=True)])
    return {
        "exact_at_1": 100 * float(np.mean([bool(hits) and hits[0] for hits in exact])),
        "exact_at_5": 100 * float(np.mean([any(hits) for hits in exact])),
        "tail_bleu_2": score.score,
        "similarity_at_1": 100 * float(np.mean([cosines[0] if cosines else 0.0 for cosines in near])),
        "similarity_at_5": 100 * float(np.mean([max(cosines, default=0.0) for cosines in near])),
        "answered": 100 * float(np.mean([bool(tails) for tails in found])),
    }


def plain(tail: str) -> str:
    """Without the «to» that some annotators write and others do not."""
    return tail.lower().removeprefix("to ").strip(" .")


def embedded(encoder: SentenceEncoder, texts: Iterable[str]) -> dict[str, np.ndarray]:
    known = sorted(set(texts))
    return dict(zip(known, encoder(known), strict=True))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--heads", type=int, default=HEADS, help="held-out heads of each corpus, drawn at random")
    parser.add_argument("--denied", action="store_true", help="only, and all, events told as not happening")
    parser.add_argument("--comet", type=Path, action="append", default=[], help="folder of a COMET; may be repeated")
    parser.add_argument("--only", action="append", help="only this system: store, commonest, comet")
    parser.add_argument("--record", action="store_true", help="put the figures on the board")
    options = parser.parse_args(argv)
    if options.record and options.heads != HEADS:
        raise BadInput("another sample is not recorded", "leave --heads or --record out")
    if not (names := here()):
        raise missing()
    rows = list(tuples(names))
    if options.denied:
        rows_asked = [row for row in rows if row.corpus == "atomic" and denied(row.head)]
        asked, sample = questions(rows_asked, len(rows_asked)), "denied heads"
    else:
        asked, sample = questions(rows, options.heads), f"heads:{options.heads}"
    encoder = sentence_encoder.load()

    def learned() -> Store:
        return Store(store(print).folder, lambda: encoder, learned=True)

    systems: dict[str, Callable[[], Inferrer]] = {
        "commonest": lambda: Commonest(row for row in rows if row.learned),
        "store": learned,
    }
    for folder in [path for path in (own_comet(), *options.comet) if path]:
        systems["comet" if folder == own_comet() else f"comet-{folder.name}"] = lambda f=folder: open_comet(f, print)
    recorded: list[Figure] = []
    command, commit = board.running_command(), board.commit_of()
    for name, opened in systems.items():
        if options.only and name not in options.only:
            continue
        inferrer, began = opened(), time.process_time()
        found = answers(inferrer, asked)
        spent = 1000 * (time.process_time() - began) / len(asked)
        vectors = embedded(encoder, [t for tails in found for t in tails] + [t for q in asked for t in q.right])
        for group in RELATION_GROUPS:
            own = [i for i, question in enumerate(asked) if question.group == group]
            if own:
                conditions = f"{CORPORA[group]}-heldout|{sample}|questions:{len(own)}|seed:{SEED}"
                signature = f"{conditions}|{inferrer.signature}"
                for metric, value in figures([asked[i] for i in own], [found[i] for i in own], vectors).items():
                    recorded.append(Figure(f"{name}/{group}_{metric}", value, "%", signature, command, commit))
        conditions = f"questions:{len(asked)}|{inferrer.signature}|processor time, mean"
        recorded.append(Figure(f"{name}/question", spent, "ms", conditions, command, commit))
        for figure in recorded:
            if figure.name.startswith(f"{name}/"):
                print(f"{figure.name:36} {figure.value:8.2f} {figure.unit:3} {figure.signature}", flush=True)
    if options.record:
        print(f"recorded in {board.record_all('knowledge', recorded)}")


if __name__ == "__main__":
    try:
        main()
    except EmpathiaError as problem:
        raise SystemExit(str(problem)) from problem
