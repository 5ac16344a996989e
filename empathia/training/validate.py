"""How good a model is on a split it does not train on: perplexities and emotion accuracy, from sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from ..models.base import System
from ..text.batches import Encoded, bucketed, collate
from .processes import Processes


@dataclass(frozen=True)
class Validation:
    nll: float  # summed over tokens
    tokens: int
    mean_nll: float  # each response's token mean, summed over responses
    responses: int
    hits: int  # contexts whose likeliest emotion is the annotated one
    labelled: int  # contexts for which model and corpus both name an emotion

    @property
    def perplexity(self) -> float:
        """Over tokens."""
        return math.exp(min(self.nll / max(self.tokens, 1), 50))

    @property
    def perplexity_macro(self) -> float:
        """Over responses, each counting alike: what the released code prints at test batch 1."""
        return math.exp(min(self.mean_nll / max(self.responses, 1), 50))

    @property
    def accuracy(self) -> float | None:
        return 100 * self.hits / self.labelled if self.labelled else None


def validate(model: System, encoded: list[Encoded], group: Processes | None = None, batch: int = 64) -> Validation:
    group = group or Processes()
    was_training = model.training
    model.eval()
    sums = torch.zeros(6, dtype=torch.float64)
    mine = group.share(list(range(len(encoded))))
    for some in bucketed([len(encoded[i].words) for i in mine], batch):
        inputs, gold = collate([encoded[mine[i]] for i in some])
        nll_B, tokens_B, memory = model.response_nll(inputs, gold)
        sums[:4] += torch.stack([nll_B.sum(), tokens_B.sum(), (nll_B / tokens_B).sum(), torch.tensor(len(some))])
        if memory.emotion_BE is not None:
            known = gold.emotion_B >= 0
            sums[4] += ((memory.emotion_BE.argmax(-1) == gold.emotion_B) & known).sum()
            sums[5] += known.sum()
    model.train(was_training)
    nll, tokens, mean_nll, responses, hits, labelled = group.total(sums).tolist()
    return Validation(nll, int(tokens), mean_nll, int(responses), int(hits), int(labelled))
