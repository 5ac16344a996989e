"""MEED2: empathetic dialogue with fine-grained intents (Xie and Pu 2021).

People often answer a feeling with something that is not one: a question, an agreement, a wish. So every turn carries
one of 41 labels, 32 emotions, eight intents and neutral, and each of its words adds the label's vector to its own. A
predictor apart says which label the reply should have; the decoder is given that label at every word, or any other
that a caller asks for. Section and equation numbers below are the paper's.
docs/models/meed2.md has the table paper / released code / ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.errors import BadConfig, BadInput
from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, checked
from ..core.types import Context, Evidence, Wish
from ..nn.blocks import Blocks, Decoder, Encoder
from ..nn.cache import Cache, Memory
from ..nn.losses import Loss
from ..nn.pooling import AttentionPool
from ..text.batches import Encoder as TextEncoder
from ..text.batches import Inputs, Seen, Targets
from ..text.vocabulary import Vocabulary
from .base import BaseConfig, EmpatheticModel

LABELS = len(EMOTIONS_AND_INTENTS)
NUMBER = {label: i for i, label in enumerate(EMOTIONS_AND_INTENTS, 1)}  # 0: not known


def paper_blocks() -> Blocks:
    return Blocks(layers=4, heads=6, depth=300, hidden=1200, embedding_dropout=0.1)  # Appendix B


@dataclass(frozen=True)
class MEED2Config(BaseConfig):
    blocks: Blocks = field(default_factory=paper_blocks)
    labels: bool = True  # False: no labels and no predictor, the paper's full Transformer
    joint: bool = False  # True: the predictor reads, and trains, the generator's encoder (section 4.3)
    label_weight: float = 1.0  # of the predictor's loss; moves the reply only with `joint`
    pool_layer: bool = False  # released: a tanh layer before the attention vector of eq. 1
    mixture: int = 5  # likeliest labels that perplexity is mixed over; 1: the predicted one alone

    def __post_init__(self) -> None:
        if not 1 <= self.mixture <= LABELS:
            raise BadConfig(f"model.mixture must be from 1 to {LABELS}")


@dataclass(frozen=True, kw_only=True)
class MEED2Memory(Memory):
    label_B: Tensor  # what the decoder is told: 1 to 41; 0 where the model has no labels


class Predictor(nn.Module):
    """The response emotion/intent predictor of section 4.2; without an encoder of its own it reads given states."""

    def __init__(self, config: MEED2Config) -> None:
        super().__init__()
        width = config.blocks.width
        self.encoder = None if config.joint else Encoder(config.blocks)
        self.pool = AttentionPool(width, config.pool_layer)  # eqs. 1-2
        self.hidden, self.out = nn.Linear(width, width), nn.Linear(width, LABELS)

    def forward(self, embedded_BSD: Tensor, states_BSD: Tensor, mask_BS: Tensor) -> Tensor:
        """Log-probabilities of the reply's label. The embeddings are the generator's, and not trained from here."""
        if self.encoder is not None:
            states_BSD = self.encoder(embedded_BSD.detach(), mask_BS)
        return self.out(self.hidden(self.pool(states_BSD, mask_BS)).tanh()).log_softmax(-1)


class MEED2(EmpatheticModel):
    Config = MEED2Config

    def __init__(self, config: MEED2Config, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        self.encoder, self.decoder = Encoder(config.blocks), Decoder(config.blocks)
        self.labels = self.predictor = None
        if config.labels:
            self.labels = nn.Embedding(LABELS + 1, config.blocks.width, padding_idx=0)
            nn.init.normal_(self.labels.weight[1:], std=config.blocks.width**-0.5)
            self.predictor = Predictor(config)

    @classmethod
    def needs(cls, config: MEED2Config) -> frozenset[str]:
        return frozenset({"turn_labels"} if config.labels else ())

    @classmethod
    def see(cls, config: MEED2Config, encoder: TextEncoder, context: Context, evidence: Evidence, wish: Wish) -> Seen:
        """Each turn's label at each of its words, and the label that is asked for."""
        if not config.labels:
            return {}
        turns = len(context.turns)
        found = evidence.turn_labels or ("",) * turns
        if len(found) != turns:
            raise BadInput(f"{len(found)} labels for {turns} turns", "make the evidence again: empathia evidence")
        labels = encoder.per_word(context, [NUMBER.get(label, 0) for label in found])
        return {"labels": labels, "wish": [NUMBER.get(asked(wish), 0)]}

    def encode(self, inputs: Inputs) -> MEED2Memory:
        embedded_BSD = self._embed(inputs.words_BS, inputs.speakers_BS, inputs.seen.get("labels"))
        states_BSD = self.encoder(embedded_BSD, inputs.mask_BS)
        if self.predictor is None:
            return MEED2Memory(states_BSD, inputs.mask_BS, label_B=inputs.words_BS.new_zeros(len(inputs)))
        intent_BL = self.predictor(embedded_BSD, states_BSD, inputs.mask_BS)
        wish_B = inputs.seen["wish"][:, 0]
        label_B = torch.where(wish_B > 0, wish_B, 1 + intent_BL.argmax(-1))
        return MEED2Memory(states_BSD, inputs.mask_BS, intent_BL=intent_BL, label_B=label_B)

    def hidden(self, memory: MEED2Memory, prefix_BT: Tensor, cache: Cache | None = None) -> Tensor:  # type: ignore[override]
        speakers_BT = torch.full_like(prefix_BT, Vocabulary.listener)
        labels_BT = memory.label_B[:, None].expand_as(prefix_BT)
        start = cache.length if cache is not None else 0
        embedded_BTD = self._embed(prefix_BT, speakers_BT, labels_BT, start)
        return self.decoder(embedded_BTD, memory.states_BSD, memory.mask_BS, cache)

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        """The decoder is told the reply's own label (section 4.3); where nobody gave one, the predicted."""
        memory = self.encode(inputs)
        losses = {"reply": self.reply_loss(self.granted(memory, gold), gold)}
        if memory.intent_BL is not None:
            total = F.nll_loss(memory.intent_BL, gold.intent_B, ignore_index=-1, reduction="sum")
            losses["intent"] = Loss(total, "row", self.config.label_weight)
        return losses

    def granted(self, memory: MEED2Memory, gold: Targets) -> MEED2Memory:  # type: ignore[override]
        if self.labels is None:
            return memory
        return replace(memory, label_B=torch.where(gold.intent_B < 0, memory.label_B, gold.intent_B + 1))

    @torch.inference_mode()
    def response_nll(
        self, inputs: Inputs, gold: Targets, unseen_V: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Memory]:
        """Without gold the reply's label is not known: p(reply) is the mean over the likeliest labels, as likely as
        the predictor finds them."""
        memory = self.encode(inputs)
        if memory.intent_BL is None:
            return *self.likelihood(memory, gold, unseen_V), memory
        best = memory.intent_BL.topk(self.config.mixture)
        shares_BK = best.values.log_softmax(-1)
        each = [self.likelihood(replace(memory, label_B=1 + label_B), gold, unseen_V) for label_B in best.indices.T]
        nll_BK = torch.stack([nll_B for nll_B, _ in each], 1)
        return -(shares_BK - nll_BK).logsumexp(1), each[0][1], memory

    def told(self, memory: Memory, row: int) -> dict[str, Any]:
        """The predicted labels, or the one that was asked for."""
        found = super().told(memory, row)
        assert isinstance(memory, MEED2Memory)
        if memory.intent_BL is not None and memory.label_B[row] != 1 + memory.intent_BL[row].argmax():
            found["intent"] = {EMOTIONS_AND_INTENTS[int(memory.label_B[row]) - 1]: 1.0}
        return found

    def _embed(self, words_BT: Tensor, speakers_BT: Tensor, labels_BT: Tensor | None, start: int = 0) -> Tensor:
        """Word + position + segment + emotion/intent (section 4.1); one set of tables for encoder and decoder."""
        vectors_BTD = self.embedding.words(torch.stack([words_BT, speakers_BT])).sum(0)
        if self.labels is not None:
            vectors_BTD = vectors_BTD + self.labels(labels_BT)
        return self.embedding.placed(vectors_BTD, start)


def asked(wish: Wish) -> str:
    """The label that a caller asks for, checked; empty for none."""
    if wish.intent:
        return checked(wish.intent, EMOTIONS_AND_INTENTS, "emotion or intent")
    return checked(wish.emotion, EMOTIONS, "emotion") if wish.emotion else ""
