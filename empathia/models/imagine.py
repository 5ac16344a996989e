"""IMAGINE: emotion causes, knowledge and communication mechanisms (Chen and Liang 2022).

The emotion is told from the whole conversation; everything else comes from the turns that caused it. What is commonly
known of those turns, in four groups of relations, refines each of their words; the mechanisms that a reply should
show are predicted from them and join the refined words in what the decoder reads. The emotion's vector stands where
other decoders have a start token. Equation numbers below are the paper's, which came without code;
docs/models/imagine.md says how we read what it leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.taxonomy import EMOTIONS, MECHANISMS, RELATION_GROUPS
from ..core.types import Context, Evidence, Wish
from ..nn.blocks import Decoder, Encoder, Refiner
from ..nn.cache import Cache, Memory
from ..nn.dropout import Forget
from ..nn.losses import Loss
from ..nn.pooling import mean
from ..text.batches import Encoder as TextEncoder
from ..text.batches import Inputs, Seen, Targets
from .base import BaseConfig, EmpatheticModel

AFFECT, *COGNITION = RELATION_GROUPS


@dataclass(frozen=True)
class IMAGINEConfig(BaseConfig):
    emotion_weight: float = 1.0  # λ2
    mechanism_weight: float = 1.0  # λ3; λ4 is `reply.diversity`
    causes: bool = True  # False: the whole context in place of its cause turns (Table 2, "w/o cause")
    mechanisms: bool = True  # False: none are predicted, the memory is 3d (Table 2, "w/o cm")
    knowledge: bool = True  # False: the cause words are not refined (Table 2, "w/o know")
    tails: int = 5  # inferences of each relation
    forget: float = 0.0  # share of the context's words that the emotion is told without, in training
    around: bool = False  # True: the cause words also reach the decoder past eqs. 13-17, not through them alone


@dataclass(frozen=True, kw_only=True)
class IMAGINEMemory(Memory):
    first_BD: Tensor  # ê_emo at the decoder's width
    mechanisms_BML: Tensor | None  # log-probabilities of no and yes


@dataclass(frozen=True)
class Read:
    """What a batch is read from, embedded, with masks."""

    context: tuple[Tensor, Tensor]
    cause: tuple[Tensor, Tensor]
    groups: dict[str, tuple[Tensor, Tensor]]


class Reaction(nn.Module):
    """Which mechanisms a reply should show, and that as one vector (eqs. 6-9)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.degree = nn.Linear(width, 2 * len(MECHANISMS))
        self.vectors_MLD = nn.Parameter(torch.empty(len(MECHANISMS), 2, width))  # of no and yes, for each mechanism
        nn.init.normal_(self.vectors_MLD, std=width**-0.5)

    def forward(self, cause_BD: Tensor) -> Tensor:
        return self.degree(cause_BD).unflatten(1, (len(MECHANISMS), 2)).log_softmax(-1)  # eqs. 6-7

    def signal(self, degrees_BML: Tensor) -> Tensor:
        return torch.einsum("bml,mld->bd", degrees_BML.exp(), self.vectors_MLD)  # ê_cm, eq. 9


class Experience(nn.Module):
    """Cause words refined by what is commonly known of them (eqs. 10-16)."""

    def __init__(self, blocks: Any) -> None:
        super().__init__()
        width = blocks.width
        self.encoder, self.refiner = Encoder(blocks), Refiner(blocks)
        self.mix = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, cause_BSD: Tensor, mask_BS: Tensor, groups: dict[str, tuple[Tensor, Tensor]]) -> list[Tensor]:
        """Ĥ of behaviour, physical and events."""
        feelings_BKD, mask_BK = groups[AFFECT]
        mean_BD = mean(self.encoder(feelings_BKD, mask_BK), mask_BK)  # eqs. 10 and 12
        vectors = [mean_BD, *(self.encoder.first(*groups[name]) for name in COGNITION)]  # eqs. 10-11
        felt_BSD, *thought = self.refiner(cause_BSD, vectors, mask_BS)  # eqs. 13-14
        joined = [torch.cat([refined_BSD, felt_BSD], -1) for refined_BSD in thought]  # eq. 15
        return [self.mix(both.sigmoid() * both) for both in joined]  # eq. 16


class IMAGINE(EmpatheticModel):
    Config = IMAGINEConfig

    def __init__(self, config: IMAGINEConfig, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        width = config.blocks.width
        self.encoder, self.decoder = Encoder(config.blocks), Decoder(config.blocks)
        self.cause_encoder = Encoder(config.blocks)
        self.forget, self.emotion = Forget(config.forget), nn.Linear(width, len(EMOTIONS))
        self.first = nn.Linear(len(EMOTIONS), width)
        self.reaction = Reaction(width) if config.mechanisms else None
        self.experience = Experience(config.blocks) if config.knowledge else None
        parts = (len(COGNITION) if config.knowledge else 1) + bool(config.mechanisms)
        self.narrow = nn.Linear(parts * width, width)

    @classmethod
    def needs(cls, config: IMAGINEConfig) -> frozenset[str]:
        wanted = {"causes": config.causes, "inferences": config.knowledge}
        return frozenset(name for name, needed in wanted.items() if needed)

    @classmethod
    def see(cls, config: IMAGINEConfig, encoder: TextEncoder, context: Context, evidence: Evidence, wish: Wish) -> Seen:
        """Where no cause was found the whole context stands for it; where nothing is known of a group, the context
        token alone."""
        seen: dict[str, Sequence[int]] = {}
        if config.causes:
            found = [context.turns[i] for i in evidence.causes or () if i < len(context.turns)]
            told = tuple(turn for turn in found if encoder.turn(turn.text))
            seen["cause"], seen["cause_speakers"] = encoder.context(Context(told) if told else context)
        if config.knowledge:
            for name, relations in RELATION_GROUPS.items():
                words = _tails(encoder, evidence, relations, config.tails)
                mark = [encoder.codec.context] if name != AFFECT or not words else []
                seen[name] = [*mark, *words][: encoder.max_context]
        return seen

    def encode(self, inputs: Inputs) -> IMAGINEMemory:
        read = self._read(inputs)
        context_BSD, told_BS = read.context
        emotion_BE = self.emotion(self.encoder.first(context_BSD, self.forget(told_BS)))  # ê_emo, eq. 1
        cause_BSD, mask_BS = self.cause_encoder(*read.cause), read.cause[1]  # H_C, eq. 5
        parts = [cause_BSD] if self.experience is None else self.experience(cause_BSD, mask_BS, read.groups)
        degrees_BML = None
        if self.reaction is not None:
            degrees_BML = self.reaction(cause_BSD[:, 0])
            parts = [*parts, self.reaction.signal(degrees_BML)[:, None].expand_as(cause_BSD)]
        memory_BSD = self.narrow(torch.cat(parts, -1))  # Ĥ_C of width 4d, eq. 17, brought to d
        if self.config.around:
            memory_BSD = memory_BSD + cause_BSD
        return IMAGINEMemory(
            memory_BSD, mask_BS, emotion_BE.log_softmax(-1),
            first_BD=self.first(emotion_BE), mechanisms_BML=degrees_BML,
        )  # fmt: skip

    def hidden(self, memory: IMAGINEMemory, prefix_BT: Tensor, cache: Cache | None = None) -> Tensor:  # type: ignore[override]
        x_BTD = self.embed_prefix(prefix_BT, cache)
        if cache is None or cache.length == 0:  # y*_0: the emotion in place of the start token
            first_B1D = self.embedding.placed(memory.first_BD[:, None] / self.embedding.scale)
            x_BTD = torch.cat([first_B1D, x_BTD[:, 1:]], 1)
        return self.decoder(x_BTD, memory.states_BSD, memory.mask_BS, cache)  # eq. 18

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        memory = self.encode(inputs)
        losses = {
            "reply": self.reply_loss(memory, gold),  # eqs. 19-22
            "emotion": self.emotion_loss(memory.emotion_BE, gold, self.config.emotion_weight),  # eqs. 2-3
        }
        if memory.mechanisms_BML is not None:
            shown_BM = gold.mechanisms_BM.clamp(max=1)  # weak and strong are both yes
            degrees_NL, shown_N = memory.mechanisms_BML.flatten(0, 1), shown_BM.flatten()
            total = F.nll_loss(degrees_NL, shown_N, ignore_index=-1, reduction="sum")  # eq. 8
            losses["mechanisms"] = Loss(total, "row", self.config.mechanism_weight)
        return losses  # eq. 23

    def told(self, memory: IMAGINEMemory, row: int) -> dict[str, Any]:  # type: ignore[override]
        """The emotion and, for each mechanism, the probability that the reply should show it."""
        told = super().told(memory, row)
        if memory.mechanisms_BML is not None:
            yes = memory.mechanisms_BML[row, :, 1].exp().tolist()
            told["mechanisms"] = dict(zip(MECHANISMS, yes, strict=True))
        return told

    def _read(self, inputs: Inputs) -> Read:
        """All that is read, looked up at once: each look-up's gradient is a table as large as the vocabulary."""
        seen = inputs.seen
        groups = {name: seen[name] for name in RELATION_GROUPS} if self.config.knowledge else {}
        pairs = [(inputs.words_BS, inputs.speakers_BS)]
        if self.config.causes:
            pairs.append((seen["cause"], seen["cause_speakers"]))
        several = [*(ids for pair in pairs for ids in pair), *groups.values()]
        vectors = iter(self.embedding.words(torch.cat(several, 1)).split([ids.shape[1] for ids in several], 1))
        context, *rest = [(self.embedding.placed(next(vectors) + next(vectors)), words != 0) for words, _ in pairs]
        known = {name: (self.embedding.placed(next(vectors)), ids != 0) for name, ids in groups.items()}  # eq. 4
        return Read(context, rest[0] if rest else context, known)


def _tails(encoder: TextEncoder, evidence: Evidence, relations: Sequence[str], most: int) -> list[int]:
    """The words of a group's inferences, relation by relation; words that the vocabulary lacks are left out."""
    words: list[int] = []
    for relation in relations:
        tails = [inference.text for inference in evidence.inferences or () if inference.relation == relation]
        words += [word for tail in tails[:most] for word in encoder.turn(tail) if word != encoder.codec.unk]
    return words
