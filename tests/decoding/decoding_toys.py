"""Two small models: a real causal transformer with a cache, and one whose probabilities are written down."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from empathia.decoding.contract import Decoding, Hypothesis, Specials

PAD, UNK, END, START = range(4)
SPECIALS = Specials(pad=PAD, start=START, end=END, unk=UNK)
FIRST_WORD = 4

torch.set_num_threads(1)


@dataclass(frozen=True)
class ToyMemory:
    states_BD: Tensor

    def __len__(self) -> int:
        return self.states_BD.shape[0]

    def select(self, rows: Tensor) -> ToyMemory:
        return ToyMemory(self.states_BD[rows])


class ToyCache:
    def __init__(self) -> None:
        self.layers: dict[int, Tensor] = {}
        self.length = 0

    def select(self, rows: Tensor) -> None:
        self.layers = {layer: kept[rows] for layer, kept in self.layers.items()}


class ToyTransformer(nn.Module):
    """Two layers of single-head causal attention; `rows` counts how much work each step was."""

    def __init__(self, vocabulary: int = 12, width: int = 16, layers: int = 2, seed: int = 0, end_bias: float = 0.0):
        super().__init__()
        torch.manual_seed(seed)
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(64, width)
        self.query_key_value = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.output = nn.Linear(width, vocabulary)
        self.output.weight.data.mul_(3)
        self.output.bias.data[END] += end_bias
        self.rows: list[int] = []

    def start_cache(self) -> ToyCache:
        return ToyCache()

    def step(self, memory: ToyMemory, prefix_BT: Tensor, cache: ToyCache | None) -> Tensor:
        self.rows.append(prefix_BT.shape[0])
        begin = cache.length if cache else 0
        place_T = torch.arange(begin, begin + prefix_BT.shape[1])
        x_BTD = self.words(prefix_BT) + self.positions(place_T) + memory.states_BD[:, None]
        for layer, project in enumerate(self.query_key_value):
            query_BTD, new_BT_ = project(x_BTD).split([x_BTD.shape[-1], 2 * x_BTD.shape[-1]], -1)
            if cache is not None:
                new_BT_ = torch.cat([cache.layers[layer], new_BT_], 1) if layer in cache.layers else new_BT_
                cache.layers[layer] = new_BT_
            key_BSD, value_BSD = new_BT_.chunk(2, -1)
            future_TS = torch.arange(key_BSD.shape[1])[None, :] > place_T[:, None]
            weights_BTS = (query_BTD @ key_BSD.transpose(1, 2) / math.sqrt(x_BTD.shape[-1])).masked_fill(
                future_TS, -torch.inf
            )
            x_BTD = x_BTD + torch.tanh(weights_BTS.softmax(-1) @ value_BSD)
        if cache is not None:
            cache.length += prefix_BT.shape[1]
        return self.output(x_BTD)


def contexts(count: int, width: int = 16, seed: int = 1) -> ToyMemory:
    return ToyMemory(torch.randn(count, width, generator=torch.Generator().manual_seed(seed)))


class Table:
    """p(next | words so far) as a function; its memory holds nothing but one row per sample."""

    def __init__(self, vocabulary: int, after: Callable[[tuple[int, ...]], Mapping[int, float]]):
        self.vocabulary, self.after = vocabulary, after

    def start_cache(self) -> ToyCache:
        return ToyCache()

    def step(self, memory: ToyMemory, prefix_BT: Tensor, cache: ToyCache) -> Tensor:
        assert len(memory) == len(prefix_BT)
        said_BT = torch.cat([cache.layers[0], prefix_BT], 1) if cache.length else prefix_BT
        cache.layers[0], cache.length = said_BT, said_BT.shape[1]
        logits_BV = torch.full((len(said_BT), self.vocabulary), -torch.inf)
        for row, said in enumerate(said_BT.tolist()):
            for word, probability in self.after(tuple(said[1:])).items():
                logits_BV[row, word] = math.log(probability)
        return logits_BV[:, None]


@torch.inference_mode()
def every_reply(model: ToyTransformer, memory: ToyMemory, vocabulary: int, decoding: Decoding) -> list[Hypothesis]:
    """All finished replies within max_length, best first, by full passes without a cache."""
    words = range(FIRST_WORD, vocabulary)
    found = []
    for length in range(decoding.max_length):
        for said in itertools.product(words, repeat=length):
            logprobs_TV = model.step(memory, torch.tensor([[START, *said]]), None)[0].log_softmax(-1)
            logprobs = tuple(logprobs_TV[i, word].item() for i, word in enumerate((*said, END)))
            found.append(Hypothesis(said, decoding.score(logprobs), logprobs))
    return sorted(found, key=lambda h: -h.score)
