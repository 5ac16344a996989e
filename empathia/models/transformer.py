"""Transformer: a plain encoder-decoder (Vaswani et al. 2017), the baseline of every paper here.

The context's turns are laid end to end behind a context token; the decoder attends to all of them.
Nothing looks at emotion. docs/models/transformer.md has the table paper / released code / ours.
"""

from __future__ import annotations

from torch import Tensor

from ..nn.blocks import Decoder, Encoder
from ..nn.cache import Cache, Memory
from ..text.batches import Inputs
from .base import BaseConfig, EmpatheticModel


class Transformer(EmpatheticModel):
    Config = BaseConfig

    def __init__(self, config: BaseConfig, vocabulary: int) -> None:
        super().__init__(config, vocabulary)
        self.encoder, self.decoder = Encoder(config.blocks), Decoder(config.blocks)

    def encode(self, inputs: Inputs) -> Memory:
        states_BSD = self.encoder(self.embedding(inputs.words_BS, inputs.speakers_BS), inputs.mask_BS)
        return Memory(states_BSD, inputs.mask_BS)

    def hidden(self, memory: Memory, prefix_BT: Tensor, cache: Cache | None = None) -> Tensor:
        return self.decoder(self.embed_prefix(prefix_BT, cache), memory.states_BSD, memory.mask_BS, cache)
