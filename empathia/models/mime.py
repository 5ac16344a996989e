"""MIME: mimicking emotions for empathetic response generation (Majumder et al. 2020).

A reply mirrors the speaker's feeling to some degree. The 32 emotions fall into a positive and a negative
group; for each group an emotion mixture is drawn from a distribution that the context sets. The group of
the speaker's own polarity is the mimicked one, the other group balances it. Both refine the context, a
gate fuses them, and the decoder reads the fusion. Equation numbers below are the paper's.
docs/models/mime.md has the table paper / released code / ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.taxonomy import EMOTIONS, POSITIVE
from ..nn.blocks import Decoder, Encoder, Refiner
from ..nn.cache import Cache, Memory
from ..nn.latent import Gaussian, Normal, draw
from ..nn.losses import Loss
from ..text.batches import Inputs, Targets
from .base import BaseConfig, EmpatheticModel

PATTERN = tuple(emotion in POSITIVE for emotion in EMOTIONS)


@dataclass(frozen=True)
class MIMEConfig(BaseConfig):
    emotion_weight: float = 1.0  # α
    elbo_weight: float = 1.0  # β
    stochastic: bool = True  # False: vectors at their means, no ELBO (Table 3, "w/o STC")
    mimicry: bool = True  # False: the groups are never swapped (Table 5, row 2)
    grouping: bool = True  # False: one group of all 32 emotions, hence no mimicry (Table 5, row 1)
    separate_refiners: bool = False  # released: one refining encoder for each of m and m̃
    keep_context_token: bool = False  # released: the decoder also reads the context token


class Group(nn.Module):
    """One emotion group g: from the context vector to a drawn mixture of the group's emotions."""

    def __init__(self, width: int, members: list[int]) -> None:
        super().__init__()
        self.members = members
        self.prior = Gaussian(width, width)  # eqs. 11-13
        self.posterior = Gaussian(2 * width, width)  # eq. 17
        self.distribution = nn.Linear(width, len(members))  # FC_dg
        place_E = torch.full((len(EMOTIONS),), -1)
        place_E[members] = torch.arange(len(members))
        self.place_E: Tensor
        self.register_buffer("place_E", place_E, persistent=False)

    def forward(self, z_BD: Tensor, emotions_ED: Tensor) -> Tensor:
        """e_g: the group's emotion vectors, mixed as the draw z_g says."""
        weights_BG = self.distribution(z_BD).softmax(-1)  # d_g, eq. 9
        return weights_BG @ emotions_ED[self.members]  # eq. 10

    def elbo(self, prior: Normal, context_BD: Tensor, emotions_ED: Tensor, gold_B: Tensor) -> Tensor:
        """Eq. 16, summed over the rows whose emotion is of this group: the posterior is told that emotion's vector,
        and its draw must find the emotion again."""
        place_B = self.place_E[gold_B.clamp(min=0)].masked_fill(gold_B < 0, -1)
        posterior = self.posterior(torch.cat([context_BD, emotions_ED[gold_B.clamp(min=0)]], -1))
        again_BG = self.distribution(posterior.sample())
        reconstruction = F.cross_entropy(again_BG, place_B, ignore_index=-1, reduction="sum")
        return posterior.kl(prior)[place_B >= 0].sum() + reconstruction


class MIME(EmpatheticModel):
    Config = MIMEConfig

    def __init__(self, config: MIMEConfig, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        width = config.blocks.width
        self.encoder, self.decoder = Encoder(config.blocks), Decoder(config.blocks)
        self.emotions_ED = nn.Parameter(torch.empty(len(EMOTIONS), width))  # E_E
        nn.init.xavier_uniform_(self.emotions_ED)
        self.match = nn.Linear(width, width, bias=False)  # W_E
        kinds = (True, False) if config.grouping else (None,)
        self.groups: Sequence[Group] = nn.ModuleList(  # type: ignore[assignment]
            Group(width, [i for i, positive in enumerate(PATTERN) if kind in (None, positive)]) for kind in kinds
        )
        parts = len(self.groups)
        refiners = parts if config.separate_refiners else 1
        self.refiners = nn.ModuleList(Refiner(config.blocks) for _ in range(refiners))
        self.contribution = nn.Linear(parts * width, parts * width)
        self.fuse = nn.Linear(parts * width, width)
        self.positive_E: Tensor
        self.register_buffer("positive_E", torch.tensor(PATTERN), persistent=False)

    def encode(self, inputs: Inputs) -> Memory:
        states_BSD, emotion_BE = self._read(inputs)
        seeds = inputs.seeds if self.config.stochastic else None
        noise = draw(seeds, len(self.groups), self.config.blocks.width)
        vectors = [self._prior(group, states_BSD[:, 0], r_BD) for group, r_BD in zip(self.groups, noise, strict=True)]
        positive_B = self.positive_E[emotion_BE.argmax(-1)]  # section 4: the predicted emotion's group
        return self._remember(states_BSD, inputs.mask_BS, emotion_BE, vectors, positive_B)

    def hidden(self, memory: Memory, prefix_BT: Tensor, cache: Cache | None = None) -> Tensor:
        return self.decoder(self.embed_prefix(prefix_BT, cache), memory.states_BSD, memory.mask_BS, cache)  # eq. 28

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        states_BSD, emotion_BE = self._read(inputs)
        losses = {"emotion": self.emotion_loss(emotion_BE, gold, self.config.emotion_weight)}  # eq. 6
        context_BD, vectors, elbos = states_BSD[:, 0], [], []
        for group in self.groups:
            prior = group.prior(context_BD)
            if self.config.stochastic:
                elbos.append(group.elbo(prior, context_BD, self.emotions_ED, gold.emotion_B))
            z_BD = prior.sample() if self.config.stochastic else prior.mean  # eq. 8
            vectors.append(group(z_BD, self.emotions_ED))
        if elbos:
            losses["elbo"] = Loss(torch.stack(elbos).sum(), "row", self.config.elbo_weight)
        positive_B = self.positive_E[gold.emotion_B.clamp(min=0)]
        memory = self._remember(states_BSD, inputs.mask_BS, emotion_BE, vectors, positive_B)
        return {"reply": self.reply_loss(memory, gold), **losses}  # eq. 32

    def _read(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """The context's states H and the log-probabilities of the speaker's emotion."""
        states_BSD = self.encoder(self.embedding(inputs.words_BS, inputs.speakers_BS), inputs.mask_BS)  # eq. 2
        scores_BE = self.match(states_BSD[:, 0]) @ self.emotions_ED.T  # eqs. 3-4
        return states_BSD, scores_BE.log_softmax(-1)  # eq. 5

    def _prior(self, group: Group, context_BD: Tensor, noise_BD: Tensor | None) -> Tensor:
        prior = group.prior(context_BD)
        z_BD = prior.mean if noise_BD is None else prior.mean + noise_BD * prior.deviation  # eq. 15
        return group(z_BD, self.emotions_ED)

    def _remember(
        self, states_BSD: Tensor, mask_BS: Tensor, emotion_BE: Tensor, vectors: list[Tensor], positive_B: Tensor
    ) -> Memory:
        """From drawn emotions to the fused context that the decoder reads."""
        if self.config.grouping and self.config.mimicry:
            own = positive_B[:, None]
            good_BD, bad_BD = vectors
            vectors = [torch.where(own, good_BD, bad_BD), torch.where(own, bad_BD, good_BD)]  # m, m̃: eqs. 18-19
        if not self.config.keep_context_token:
            states_BSD, mask_BS = states_BSD[:, 1:], mask_BS[:, 1:]
        shares = [vectors] if len(self.refiners) == 1 else [[vector] for vector in vectors]
        told = zip(self.refiners, shares, strict=True)
        refined = [m for refine, share in told for m in refine(states_BSD, share, mask_BS)]  # eqs. 20-23
        joined = torch.cat(refined, -1)  # eq. 24
        fused_BSD = self.fuse(self.contribution(joined).sigmoid() * joined)  # eqs. 25-27
        return Memory(fused_BSD, mask_BS, emotion_BE)
