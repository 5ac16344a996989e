"""Multi-TRS: a Transformer that also tells the speaker's emotion (Rashkin et al. 2018).

The context token's state goes through one linear map to the 32 emotions; its cross-entropy is added to
the reply's. The decoder is the Transformer's. docs/models/multi_trs.md has the table paper / released
code / ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import nn

from ..core.taxonomy import EMOTIONS
from ..nn.cache import Memory
from ..nn.losses import Loss
from ..text.batches import Inputs, Targets
from .base import BaseConfig
from .transformer import Transformer


@dataclass(frozen=True)
class MultiTRSConfig(BaseConfig):
    emotion_weight: float = 1.0


class MultiTRS(Transformer):
    Config = MultiTRSConfig

    def __init__(self, config: MultiTRSConfig, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        self.emotion = nn.Linear(config.blocks.width, len(EMOTIONS), bias=False)

    def encode(self, inputs: Inputs) -> Memory:
        memory = super().encode(inputs)
        return replace(memory, emotion_BE=self.emotion(memory.states_BSD[:, 0]).log_softmax(-1))

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        memory = self.encode(inputs)
        emotion = self.emotion_loss(memory.emotion_BE, gold, self.config.emotion_weight)
        return {"reply": self.reply_loss(memory, gold), "emotion": emotion}
