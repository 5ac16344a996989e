"""LEMPEx: learning to empathise using exemplars (Majumder et al. 2022).

What others once answered in similar places shows the decoder a fitting tone. A T5-shaped encoder reads the context, a
second one of the same shape each exemplar; the exemplars' mean joins every position of the context. Four small heads
on the decoder's first state learn how much emotional presence, interpretation, exploration and which sentiment the
real reply had, so that the state before the first word already knows. Equation numbers below are the paper's.
docs/models/lempex.md has the table paper / released code / ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.errors import BadConfig
from ..core.taxonomy import LEVELS, MECHANISMS
from ..core.types import Context, Evidence, Wish
from ..nn.attention import Attention
from ..nn.blocks import Blocks, Decoder, Encoder
from ..nn.cache import Cache, Memory
from ..nn.losses import Loss
from ..nn.pooling import mean
from ..text.batches import Encoder as TextEncoder
from ..text.batches import Inputs, Seen, Targets
from .base import BaseConfig, EmpatheticModel, shifted

CHUNKS = 4  # a batch's exemplars are encoded in, by length


@dataclass(frozen=True)
class LEMPExConfig(BaseConfig):
    blocks: Blocks = field(default_factory=Blocks.t5)
    exemplars: int = 10  # q; 0: none, and no second encoder (Table 5, "w/o Exemplars")
    exemplar_words: int = 50  # of each
    pool: Literal["mean", "attention"] = "mean"  # eq. 5, or each position attends to the exemplars it needs
    empathy_weight: float = 0.1  # α_EP, α_int and α_exp; 0: no such losses; released: 1
    sentiment_weight: float = 0.1  # α_sent; 0: no such loss; released: 1
    levels: int = 3  # of a mechanism; released: 2, "any" being one
    judged: Literal["first", "mean"] = "first"  # R̃[0] as in eq. 10, or the mean of the reply's states

    def __post_init__(self) -> None:
        if self.exemplars < 0 or self.exemplar_words < 1:
            raise BadConfig("model.exemplars must not be negative, model.exemplar_words must be at least 1")
        if not 2 <= self.levels <= len(LEVELS):
            raise BadConfig(f"model.levels must be from 2 to {len(LEVELS)}")


class Fusion(nn.Module):
    """Exemplars as vectors, and the context's states joined with them (eqs. 4-6)."""

    def __init__(self, config: LEMPExConfig) -> None:
        super().__init__()
        blocks = config.blocks
        self.encoder = Encoder(blocks)
        self.fuse = nn.Linear(2 * blocks.width, blocks.width)  # FC_exl
        self.attention = None
        if config.pool == "attention":
            self.attention = Attention(blocks.width, blocks.heads, blocks.depth)
            self.nothing_D = nn.Parameter(torch.zeros(blocks.width))  # to attend to where no exemplar helps

    def vectors(self, embedded_NWD: Tensor, mask_NW: Tensor) -> Tensor:
        return mean(self.encoder(embedded_NWD, mask_NW), mask_NW)  # Z_i and ψ_i, eq. 4

    def forward(self, states_BSD: Tensor, exemplars_BQD: Tensor, there_BQ: Tensor) -> Tensor:
        if self.attention is None:
            pooled_BSD = mean(exemplars_BQD, there_BQ)[:, None].expand_as(states_BSD)  # χ, eq. 5
        else:
            nothing_B1D = self.nothing_D.expand(len(exemplars_BQD), 1, -1)
            offered_BQD = torch.cat([nothing_B1D, exemplars_BQD], 1)
            pooled_BSD = self.attention(states_BSD, offered_BQD, F.pad(there_BQ, (1, 0), value=True))
        return self.fuse(torch.cat([states_BSD, pooled_BSD], -1))  # eq. 6


class LEMPEx(EmpatheticModel):
    Config = LEMPExConfig

    def __init__(self, config: LEMPExConfig, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        width = config.blocks.width
        self.encoder, self.decoder = Encoder(config.blocks), Decoder(config.blocks)
        self.fusion = Fusion(config) if config.exemplars else None
        self.mechanisms = nn.ModuleDict(
            {name: nn.Linear(width, config.levels) for name in MECHANISMS} if config.empathy_weight else {}
        )
        self.sentiment = nn.Linear(width, 1) if config.sentiment_weight else None

    @classmethod
    def needs(cls, config: LEMPExConfig) -> frozenset[str]:
        return frozenset({"exemplars"} if config.exemplars else ())

    @classmethod
    def see(cls, config: LEMPExConfig, encoder: TextEncoder, context: Context, evidence: Evidence, wish: Wish) -> Seen:
        """The best exemplars' words; none is one exemplar without words."""
        if not config.exemplars:
            return {}
        best = (evidence.exemplars or ())[: config.exemplars]
        return {"exemplars": [encoder.turn(one.reply)[: config.exemplar_words] for one in best] or [[]]}

    def encode(self, inputs: Inputs) -> Memory:
        states_BSD = self.encoder(self.embedding(inputs.words_BS, inputs.speakers_BS), inputs.mask_BS)  # eq. 1
        if self.fusion is not None:
            states_BSD = self.fusion(states_BSD, *self._exemplars(self.fusion, inputs.seen["exemplars"]))
        return Memory(states_BSD, inputs.mask_BS)

    def hidden(self, memory: Memory, prefix_BT: Tensor, cache: Cache | None = None) -> Tensor:
        return self.decoder(self.embed_prefix(prefix_BT, cache), memory.states_BSD, memory.mask_BS, cache)  # eq. 7

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        memory = self.encode(inputs)
        states_BTD = self.hidden(memory, shifted(gold.reply_BT))
        losses = {"reply": self.reply_loss(memory, gold, states_BTD)}  # eq. 9
        first = self.config.judged == "first"
        reply_BD = states_BTD[:, 0] if first else mean(states_BTD, gold.reply_BT != 0)
        for i, (name, head) in enumerate(self.mechanisms.items()):  # eq. 10
            level_B = gold.mechanisms_BM[:, i].clamp(max=self.config.levels - 1)
            total = F.cross_entropy(head(reply_BD), level_B, ignore_index=-1, reduction="sum")
            losses[name] = Loss(total, "row", self.config.empathy_weight)
        if self.sentiment is not None:
            wrong_B = self.sentiment(reply_BD)[:, 0].tanh() - gold.sentiment_B
            total = wrong_B.masked_fill(gold.sentiment_B.isnan(), 0).square().sum()
            losses["sentiment"] = Loss(total, "row", self.config.sentiment_weight)
        return losses

    def _exemplars(self, fusion: Fusion, words_BQW: Tensor) -> tuple[Tensor, Tensor]:
        """ψ of every exemplar, zeros where there is none, and where there is one. Those of like length are encoded
        together: most of a batch would be padding otherwise."""
        length_BQ = (words_BQW != 0).sum(-1)
        vectors_BQD = self.output.weight.new_zeros(*length_BQ.shape, self.config.blocks.width)
        rows, places = length_BQ.nonzero(as_tuple=True)
        if len(rows):
            order = length_BQ[rows, places].argsort()
            rows, places = rows[order], places[order]
            words_NW = words_BQW[rows, places]
            embedded_NWD = self.embedding(words_NW)  # one look-up for all: its gradient is as large as the vocabulary
            found = []
            for some, words_MW in zip(embedded_NWD.chunk(CHUNKS), words_NW.chunk(CHUNKS), strict=True):
                longest = int((words_MW[-1] != 0).sum())
                found.append(fusion.vectors(some[:, :longest], words_MW[:, :longest] != 0))
            vectors_BQD[rows, places] = torch.cat(found).to(vectors_BQD.dtype)
        return vectors_BQD, length_BQ > 0
