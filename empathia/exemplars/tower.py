"""The bi-encoder in torch: one tower for contexts and replies.

MiniLM's layers (perception's copy, word vectors frozen so that every encoder shares one table), pooled as
`reading.py` says. Contexts and their replies are not alike, so a context has a second vector, moved by a linear map
to where its replies lie: answer = about + A · about. A starts at zero, MiniLM as it comes.

Shapes: B rows, T word pieces, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..perception.tokens import Tokens
from ..perception.training.network import WIDTH, Encoder
from ..perception.training.rows import Batch, Row
from .reading import pool_weights

#: rows that go through the layers together: like lengths, little padding
_ROWS = 16


class Tower(nn.Module):
    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.answer = nn.Linear(WIDTH, WIDTH, bias=False)
        nn.init.zeros_(self.answer.weight)

    @classmethod
    def pretrained(cls, weights: Path, dropout: float = 0.0) -> Tower:
        return cls(Encoder.pretrained(weights, dropout))

    def own(self) -> dict[str, Tensor]:
        """Everything but the shared word vectors."""
        return {name: value for name, value in self.state_dict().items() if name != "encoder.words.weight"}

    def forward(self, tokens: Sequence[Tokens]) -> Tensor:
        """(B, D) of length one: where the texts lie."""
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        parts = [
            self._pooled([tokens[i] for i in order[start : start + _ROWS]]) for start in range(0, len(order), _ROWS)
        ]
        back = torch.tensor(order).argsort()
        return F.normalize(torch.cat(parts)[back], dim=-1)

    def answers(self, about_BD: Tensor) -> Tensor:
        """(B, D) of length one: where the replies to contexts lie."""
        return F.normalize(about_BD + self.answer(about_BD), dim=-1)

    def _pooled(self, tokens: Sequence[Tokens]) -> Tensor:
        batch = Batch.of([Row(one) for one in tokens])
        pool_BT = torch.zeros(batch.ids_BT.shape)
        for i, one in enumerate(tokens):
            pool_BT[i, : len(one)] = torch.from_numpy(pool_weights(one))
        states_BTD: Tensor = self.encoder(batch.ids_BT, batch.listener_BT)
        return (pool_BT[:, None] @ states_BTD)[:, 0]
