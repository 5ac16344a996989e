"""What every system shares: the contract (`System`), and of those built here the word vectors and the output layer.

A model of ours implements `encode` (contexts → memory), `hidden` (memory and reply prefix → decoder states) and
`losses`. `step` puts the output layer on `hidden`; search and perplexity use nothing but `encode` and
`step`, so neither can see gold labels. A model that reads evidence says which in `needs`, and in `see` how.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, POSITIVE
from ..core.types import Context, Evidence, Wish
from ..nn.blocks import Blocks, Embedding
from ..nn.cache import Cache, Memory
from ..nn.losses import Face, Loss, sampled_token_nll, token_nll
from ..text.batches import Encoder, Inputs, Seen, Targets
from ..text.vocabulary import Vocabulary

#: words whose logits over the whole vocabulary are held at once where likelihood is measured
ROWS = 64


@dataclass(frozen=True)
class ReplyLoss:
    """How the reply's cross-entropy is computed in training."""

    smoothing: float = 0.0
    head: int = 1024  # commonest words always in the normaliser; 0: all words, the plain loss
    sample: int = 512  # rarer words drawn for each batch to estimate the rest of it
    diversity: float = 0.0  # weight of FACE, which counts common words less (Jiang et al. 2019), beside the plain loss
    frequencies: Literal["gold", "output"] = "gold"  # what FACE counts: the training replies, or what the model says


@dataclass(frozen=True)
class BaseConfig:
    blocks: Blocks = field(default_factory=Blocks)
    reply: ReplyLoss = field(default_factory=ReplyLoss)


class System(nn.Module):
    """What the loop, the searches and the measures ask of a system, whatever it is made of."""

    config: Any

    @property
    def width(self) -> int:
        """Of its states; Noam's rate goes by it."""
        raise TypeError(f"{type(self).__name__} must define width")

    @classmethod
    def needs(cls, config: Any) -> frozenset[str]:
        """Fields of `Evidence` that should arrive with a context. Where they do not, the model answers all the same."""
        return frozenset()

    @classmethod
    def see(cls, config: Any, encoder: Encoder, context: Context, evidence: Evidence, wish: Wish) -> Seen:
        """The evidence as ids, by names of the model's own; they arrive padded in `Inputs.seen`."""
        return {}

    def encode(self, inputs: Inputs) -> Memory:
        """What the contexts become. Sees no gold."""
        raise TypeError(f"{type(self).__name__} must define encode")

    def step(self, memory: Memory, prefix_BT: Tensor, cache: Any = None) -> Tensor:
        """Logits over the next word after each token of the prefix; extends the cache in place."""
        raise TypeError(f"{type(self).__name__} must define step")

    def forced(self, memory: Memory, gold: Targets) -> Iterator[Tensor]:
        """Logits over each word of the gold replies, those before it given; one row for each word, without padding,
        a few rows at a time."""
        raise TypeError(f"{type(self).__name__} must define forced")

    def start_cache(self) -> Any:
        """What `step` remembers of the words it has read."""
        raise TypeError(f"{type(self).__name__} must define start_cache")

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        """Everything that is minimised, by name. `step` counts updates, for schedules inside a model."""
        raise TypeError(f"{type(self).__name__} must define losses")

    def forward(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        return self.losses(inputs, gold, step)

    def meet(self, replies: Iterable[Sequence[int]]) -> None:
        """Look over the training split's replies before the first update."""

    def told(self, memory: Memory, row: int) -> dict[str, Any]:
        """What the model itself says of a context, as fields of `Evidence`."""
        found: dict[str, Any] = {}
        if memory.emotion_BE is not None:
            emotion = dict(zip(EMOTIONS, memory.emotion_BE[row].exp().tolist(), strict=True))
            found |= {"emotion": emotion, "polarity": sum(p for e, p in emotion.items() if e in POSITIVE)}
        if memory.intent_BL is not None:
            found["intent"] = dict(zip(EMOTIONS_AND_INTENTS, memory.intent_BL[row].exp().tolist(), strict=True))
        return found

    def granted(self, memory: Memory, gold: Targets) -> Memory:
        """The memory as if a caller had asked for just the labels that the gold reply has, where the model can be
        asked. Some papers measure perplexity so; it is never used to answer."""
        return memory

    @torch.inference_mode()
    def response_nll(
        self, inputs: Inputs, gold: Targets, unseen_V: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Memory]:
        """Per row: summed negative log-likelihood of the gold reply over the whole vocabulary, its number of
        tokens, and the memory it was predicted from. The memory comes from `encode`, which sees no gold."""
        memory = self.encode(inputs)
        return *self.likelihood(memory, gold, unseen_V), memory

    def likelihood(self, memory: Memory, gold: Targets, unseen_V: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Per row: negative log-likelihood of the gold reply given a memory, and its number of tokens.

        With `unseen_V` all words it marks count as one word, whose probability is their sum: the perplexity
        of a vocabulary without them.
        """
        there_BT = gold.reply_BT != 0
        gold_N = gold.reply_BT[there_BT]
        parts: list[Tensor] = []
        for logits_NV in self.forced(memory, gold):
            done = sum(map(len, parts))
            parts.append(_nll(logits_NV, gold_N[done : done + len(logits_NV)], unseen_V))
        nll_BT = torch.zeros(there_BT.shape).masked_scatter(there_BT, torch.cat(parts))
        return nll_BT.sum(1), there_BT.sum(1)


class EmpatheticModel(System):
    """A system built from our own blocks."""

    Config: ClassVar[type] = BaseConfig

    def __init__(self, config: Any, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(vocabulary, config.blocks)
        self.output = nn.Linear(config.blocks.width, vocabulary)
        if config.blocks.tied_output:
            self.output.weight = self.embedding.words.weight
        self.face = Face(vocabulary) if config.reply.diversity else None

    @property
    def width(self) -> int:
        return int(self.config.blocks.width)

    def hidden(self, memory: Memory, prefix_BT: Tensor, cache: Cache | None = None) -> Tensor:
        """Decoder states of the prefix; with a cache, of its new tokens only."""
        raise TypeError(f"{type(self).__name__} must define hidden")

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        return {"reply": self.reply_loss(self.encode(inputs), gold)}

    def meet(self, replies: Iterable[Sequence[int]]) -> None:
        if self.face is not None and self.config.reply.frequencies == "gold":
            self.face.count(replies)

    def step(self, memory: Memory, prefix_BT: Tensor, cache: Cache | None = None) -> Tensor:
        states_BTD = self.hidden(memory, prefix_BT, cache)
        if cache is not None:
            cache.length += prefix_BT.shape[1]
        return self.output(states_BTD)

    def forced(self, memory: Memory, gold: Targets) -> Iterator[Tensor]:
        states_ND = self.hidden(memory, shifted(gold.reply_BT))[gold.reply_BT != 0]
        return map(self.output, states_ND.split(ROWS))

    def start_cache(self) -> Cache:
        return Cache()

    def embed_prefix(self, prefix_BT: Tensor, cache: Cache | None) -> Tensor:
        return self.embedding(prefix_BT, start=cache.length if cache is not None else 0)

    def reply_loss(self, memory: Memory, gold: Targets, states_BTD: Tensor | None = None) -> Loss:
        """Cross-entropy of the gold reply under teacher forcing, summed over tokens, with FACE in it if asked for.
        `states_BTD` are the decoder's, where the caller has them already."""
        if states_BTD is None:
            states_BTD = self.hidden(memory, shifted(gold.reply_BT))
        there = gold.reply_BT != 0
        states_ND, gold_N = states_BTD[there], gold.reply_BT[there]
        how, weight, bias = self.config.reply, self.output.weight, self.output.bias
        counts_N = None if self.face is None else 1 + how.diversity * self.face.weights()[gold_N]
        if self.face is not None and self.training and how.frequencies == "output":
            self.face.listen(states_ND, weight[: how.head or None], bias[: how.head or None])
        if self.training and how.head:
            return Loss(sampled_token_nll(states_ND, weight, bias, gold_N, how.head, how.sample, counts_N), "token")
        smoothing = how.smoothing if self.training else 0.0
        return Loss(token_nll(states_ND, weight, bias, gold_N, smoothing, counts_N), "token")

    def emotion_loss(self, logits_BE: Tensor | None, gold: Targets, weight: float = 1.0) -> Loss:
        assert logits_BE is not None
        return Loss(F.cross_entropy(logits_BE, gold.emotion_B, ignore_index=-1, reduction="sum"), "row", weight)


def _nll(logits_NV: Tensor, gold_N: Tensor, unseen_V: Tensor | None) -> Tensor:
    nll_N = F.cross_entropy(logits_NV, gold_N, reduction="none")
    if unseen_V is None:
        return nll_N
    together_N = logits_NV.logsumexp(-1) - logits_NV[:, unseen_V].logsumexp(-1)
    return torch.where(unseen_V[gold_N], together_N, nll_N)


def shifted(reply_BT: Tensor, start: int = Vocabulary.start) -> Tensor:
    """The decoder's input under teacher forcing: the start token, then the reply without its last position."""
    return F.pad(reply_BT[:, :-1], (1, 0), value=start)
