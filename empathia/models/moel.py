"""MoEL: a mixture of empathetic listeners (Lin et al. 2019).

Each of the 32 emotions has a listener, a decoder layer of its own. The context token tells how likely
each emotion is; the listeners' outputs, weighted by the likeliest five, are added to a shared listener's,
and a meta listener turns the sum into the reply. Early in training the gold emotion opens the gate
(the oracle), with a probability that decays. docs/models/moel.md has the table paper / released code / ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.taxonomy import EMOTIONS
from ..nn.blocks import Decoder, DecoderLayer, Encoder
from ..nn.cache import Cache, Memory
from ..nn.losses import Loss
from ..text.batches import Inputs, Targets
from .base import BaseConfig, EmpatheticModel


@dataclass(frozen=True)
class MoELConfig(BaseConfig):
    emotion_weight: float = 1.0
    top: int = 5  # listeners that are heard
    oracle_decay: float = 10_000.0  # updates after which the oracle's probability is 1/e; 0: no oracle


@dataclass(frozen=True, kw_only=True)
class MoELMemory(Memory):
    gate_BE: Tensor  # how much each listener is heard


class MoEL(EmpatheticModel):
    Config = MoELConfig

    def __init__(self, config: MoELConfig, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        self.encoder = Encoder(config.blocks)
        self.emotion = nn.Linear(config.blocks.width, len(EMOTIONS), bias=False)
        self.shared = DecoderLayer(config.blocks)
        self.listeners = nn.ModuleList(DecoderLayer(config.blocks) for _ in EMOTIONS)
        self.meta = Decoder(config.blocks)

    def encode(self, inputs: Inputs) -> MoELMemory:
        states_BSD = self.encoder(self.embedding(inputs.words_BS, inputs.speakers_BS), inputs.mask_BS)
        logits_BE = self.emotion(states_BSD[:, 0])
        best = logits_BE.topk(self.config.top, dim=1)
        gate_BE = torch.zeros_like(logits_BE).scatter(1, best.indices, best.values.softmax(1))
        return MoELMemory(states_BSD, inputs.mask_BS, logits_BE.log_softmax(-1), gate_BE=gate_BE)

    def hidden(self, memory: MoELMemory, prefix_BT: Tensor, cache: Cache | None = None) -> Tensor:  # type: ignore[override]
        x_BTD = self.embed_prefix(prefix_BT, cache)
        heard_BTD = self.shared(x_BTD, memory.states_BSD, memory.mask_BS, cache)
        for listener, gate_B in zip(self.listeners, memory.gate_BE.unbind(1), strict=True):
            rows = gate_B.nonzero()[:, 0]
            if len(rows) == 0:
                continue
            if cache is not None:  # every row, so that the cache keeps one row per sample
                heard_BTD = heard_BTD + gate_B[:, None, None] * listener(
                    x_BTD, memory.states_BSD, memory.mask_BS, cache
                )
            else:
                told = listener(x_BTD[rows], memory.states_BSD[rows], memory.mask_BS[rows])
                heard_BTD = heard_BTD.index_add(0, rows, gate_B[rows, None, None] * told)
        return self.meta(heard_BTD, memory.states_BSD, memory.mask_BS, cache)

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        memory = self.encode(inputs)
        emotion = self.emotion_loss(memory.emotion_BE, gold, self.config.emotion_weight)
        if self.config.oracle_decay and torch.rand(()) < math.exp(-step / self.config.oracle_decay):
            memory = replace(memory, gate_BE=F.one_hot(gold.emotion_B.clamp(min=0), len(EMOTIONS)).float())
        return {"reply": self.reply_loss(memory, gold), "emotion": emotion}
