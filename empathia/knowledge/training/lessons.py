"""Tuples as our own COMET learns them: one sequence per head, its tails as branches.

The head stands once; each branch asks for a relation and gives one tail, and sees only the head and itself. So every
tail is learned just as it will be asked for, and the head, which is as long as three tails, is read once for all of
them. The loss is on the tails alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ...training.lora import Lined
from ..comet import asked, lettered
from ..tuples import Known

#: Tokens of a sequence; a head with more tails than fit has several.
LONGEST = 160

Tokens = Callable[[str], list[int]]


@dataclass(frozen=True, slots=True)
class Lesson:
    head: str
    tails: tuple[tuple[str, str], ...]  # relation, tail


def lessons(rows: Iterable[Known]) -> list[Lesson]:
    """One for each head, in the order of heads."""
    ordered = sorted(rows, key=lambda row: (row.head, row.relation, row.tail))
    return [
        Lesson(head, tuple((row.relation, row.tail) for row in own)) for head, own in groupby(ordered, lambda r: r.head)
    ]


def sequences(lesson: Lesson, tokens: Tokens, chance: random.Random | None = None) -> Iterator[Lined]:
    """The lesson's tails in a drawn order, as many to a sequence as fit."""
    order: Sequence[tuple[str, str]] = list(lesson.tails)
    if chance is not None:
        order = chance.sample(order, len(order))
    trunk = tokens(lettered(lesson.head))[: LONGEST // 2]
    ids, learned, branches, branch = list(trunk), [False] * len(trunk), [0] * len(trunk), 0
    for relation, tail in order:
        question, answer = tokens(asked(relation)), tokens(f" {lettered(tail)}\n")[: LONGEST // 4]
        if branch and len(ids) + len(question) + len(answer) > LONGEST:
            yield Lined(ids, learned, branches)
            ids, learned, branches, branch = list(trunk), [False] * len(trunk), [0] * len(trunk), 0
        branch += 1
        ids += question + answer
        learned += [False] * len(question) + [True] * len(answer)
        branches += [branch] * (len(question) + len(answer))
    if branch:
        yield Lined(ids, learned, branches)
