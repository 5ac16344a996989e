"""The bi-encoder in torch: one tower for the turns of contexts and for replies.

MiniLM's layers (perception's copy, word vectors frozen so that every encoder shares one table), mean over word pieces,
length one. A context is the sum of its turns (`reading.py`). It lies not where its replies lie, so it has a second
vector: each turn is moved by a linear map of its kind before they are added up,

    about  = Σ w v        answer = Σ w (v + A_kind v)        kind: the last turn, an earlier one, a listener's

The maps start where `PlainEncoder` stands: zero, and minus one for the listener's turns, since what was said already is
not what to say next.

Shapes: N turns, U uses of turns in contexts, B contexts, D width.
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
from .reading import KINDS, Parts

#: rows that go through the layers together: like lengths, little padding
_ROWS = 16


class Tower(nn.Module):
    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.answer = nn.ParameterDict({kind: torch.zeros(WIDTH, WIDTH) for kind in KINDS})
        self.answer["listener"].data -= torch.eye(WIDTH)

    @classmethod
    def pretrained(cls, weights: Path, dropout: float = 0.0) -> Tower:
        return cls(Encoder.pretrained(weights, dropout))

    def own(self) -> dict[str, Tensor]:
        """Everything but the shared word vectors."""
        return {name: value for name, value in self.state_dict().items() if name != "encoder.words.weight"}

    def forward(self, turns: Sequence[Tokens]) -> Tensor:
        """(N, D) of length one."""
        order = sorted(range(len(turns)), key=lambda i: len(turns[i]))
        found = [self._mean([turns[i] for i in order[start : start + _ROWS]]) for start in range(0, len(order), _ROWS)]
        back = torch.tensor(order).argsort()
        return F.normalize(torch.cat(found)[back], dim=-1)

    def answers(self, turns_ND: Tensor, parts: Parts) -> Tensor:
        """(B, D) of length one: where the replies to contexts lie."""
        used_UD = turns_ND[torch.from_numpy(parts.turn_U)]
        kind_U, context_U = torch.from_numpy(parts.kind_U), torch.from_numpy(parts.context_U)
        weight_U1 = torch.from_numpy(parts.weight_U)[:, None]
        answer_BD = torch.zeros(int(context_U.max()) + 1, WIDTH)
        for number, kind in enumerate(KINDS):
            mine = kind_U == number
            moved_UD = used_UD[mine] + used_UD[mine] @ self.answer[kind].T
            answer_BD = answer_BD.index_add(0, context_U[mine], weight_U1[mine] * moved_UD)
        return F.normalize(answer_BD, dim=-1)

    def _mean(self, turns: Sequence[Tokens]) -> Tensor:
        batch = Batch.of([Row(one) for one in turns])
        there_BT1 = batch.there_BT[:, :, None].float()
        states_BTD: Tensor = self.encoder(batch.ids_BT, batch.listener_BT)
        return (states_BTD * there_BT1).sum(1) / there_BT1.sum(1)
