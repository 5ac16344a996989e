"""Labelled inputs and batches of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..tokens import Tokens

#: the label of what a row does not say; torch's losses skip it
UNSAID = -100


@dataclass(frozen=True, slots=True)
class Row:
    tokens: Tokens
    labels: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    rows: Sequence[Row]
    ids_BT: Tensor
    listener_BT: Tensor
    turns_BT: Tensor

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Batch:
        def padded(lists: list[tuple[int, ...]], filler: int) -> Tensor:
            longest = max(map(len, lists))
            return torch.tensor([[*one, *[filler] * (longest - len(one))] for one in lists])

        tokens = [row.tokens for row in rows]
        return cls(
            rows,
            padded([t.ids for t in tokens], 0),
            padded([t.listener for t in tokens], 0),
            padded([t.turns for t in tokens], -1),
        )

    @property
    def there_BT(self) -> Tensor:
        return self.ids_BT != 0

    def labels(self, name: str) -> Tensor:
        """One class per row."""
        return torch.tensor([row.labels.get(name, UNSAID) for row in self.rows])

    def piece_labels(self, name: str) -> Tensor:
        """0 or 1 per word piece; `UNSAID` for padding and for rows without the label."""
        made = torch.full(self.ids_BT.shape, float(UNSAID))
        for i, row in enumerate(self.rows):
            if name in row.labels:
                made[i, : len(row.tokens)] = torch.tensor(row.labels[name], dtype=torch.float)
        return made


def batches(rows: Sequence[Row], pieces: int, chance: random.Random | None = None) -> Iterator[Batch]:
    """Batches of about `pieces` word pieces, of rows of like length; shuffled by `chance`, else longest first."""
    order = list(range(len(rows)))
    if chance is not None:
        chance.shuffle(order)
        noise = [chance.uniform(-2, 2) for _ in rows]
        order.sort(key=lambda i: len(rows[i].tokens) + noise[i])
    else:
        order.sort(key=lambda i: -len(rows[i].tokens))
    groups: list[list[int]] = [[]]
    longest = 0
    for i in order:
        longest = max(longest, len(rows[i].tokens))
        if groups[-1] and longest * (len(groups[-1]) + 1) > pieces:
            groups.append([])
            longest = len(rows[i].tokens)
        groups[-1].append(i)
    if chance is not None:
        chance.shuffle(groups)
    for group in groups:
        if group:
            yield Batch.of([rows[i] for i in group])
