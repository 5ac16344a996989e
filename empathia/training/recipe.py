"""A recipe: which model, on which data, trained how. TOML on disk, frozen dataclasses here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from .. import models
from ..core import config
from ..core.errors import BadConfig
from ..nn.blocks import POSITIONS
from ..text.batches import Encoder
from ..text.vocabulary import Codec


@dataclass(frozen=True)
class Data:
    corpus: str = "empathetic-dialogues"
    vocabulary: Literal["train", "all"] = "train"  # "all": every split, as published perplexities have it
    min_count: int = 1
    max_context: int = 512  # words; older ones fall off
    max_reply: int = 128
    vectors: str = "auto"  # "auto": GloVe where found, "none", or a file
    vector_norm: float = 1.0  # mean length the vectors are scaled to; 0: as they come
    evidence: tuple[str, ...] = ()  # what is known besides the words: names of files, see training/evidence.py
    words_of: tuple[str, ...] = ()  # other corpora whose words join the vocabulary, so that runs can share it


@dataclass(frozen=True)
class Train:
    epochs: int = 4
    batch: int = 32
    accumulate: int = 1  # parts a batch is split into to save memory; changes no gradient
    lr: float = 1e-3
    schedule: Literal["noam", "cosine", "constant"] = "cosine"
    warmup: int = 500  # updates
    betas: tuple[float, ...] = (0.9, 0.98)
    eps: float = 1e-9
    weight_decay: float = 0.0
    clip: float = 1.0  # gradient norm; 0: none
    bf16: bool = False  # autocast, where the processor has it
    validate_every: int = 0  # updates; 0: once an epoch
    patience: int = 2  # validations without improvement before stopping
    select_from: int = 0  # updates before which no model is kept as best
    save_every: int = 300  # updates between checkpoints
    seed: int = 1
    start_from: str = ""  # a run whose weights and vocabulary to begin with; same model, same sizes


@dataclass(frozen=True, kw_only=True)
class BaseRecipe:
    """What the recipe of any run says: on which data, trained how."""

    data: Data = field(default_factory=Data)
    train: Train = field(default_factory=Train)

    @classmethod
    def load(cls, path: Path | str, overrides: Iterable[str] = ()) -> Self:
        return cls.of(config.load(path, overrides))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        return config.build(cls, values)

    def dump(self) -> str:
        return config.dump(self)

    @property
    def system(self) -> str:
        """The system's name."""
        raise TypeError(f"{type(self).__name__} must define system")

    @property
    def vocabulary(self) -> str:
        """Where the words come from: the training split (`train`), all splits (`all`), or what was pretrained."""
        return self.data.vocabulary

    def encoder(self, codec: Codec) -> Encoder:
        """Turns text, and evidence where the system reads any, into what it reads."""
        return Encoder(codec, self.data.max_context, self.data.max_reply)


@dataclass(frozen=True)
class Recipe(BaseRecipe):
    """The recipe of a system in models/."""

    model: str
    config: Any  # the model's own Config

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        rest = dict(values)
        own = rest.pop("model", {})
        if not isinstance(own, Mapping):
            raise BadConfig("'model' must be a table")
        own = dict(own)
        if "name" not in own:
            raise BadConfig("missing key 'model.name'", "known: " + ", ".join(models.names()))
        model = models.find(str(own.pop("name")))
        built: Any = config.build(model.Config, own, "model")
        sections = config.build(BaseRecipe, rest)
        _check(built, sections.data)
        return cls(model.__module__.rpartition(".")[2], built, data=sections.data, train=sections.train)

    def dump(self) -> str:
        own = {"name": self.model, **vars(self.config)}
        return config.dump({"model": own, "data": self.data, "train": self.train})

    @property
    def system(self) -> str:
        return self.model

    def encoder(self, codec: Codec) -> Encoder:
        see = partial(models.find(self.model).see, self.config)
        return Encoder(codec, self.data.max_context, self.data.max_reply, see)


def _check(own: Any, data: Data) -> None:
    """Refuse sizes that no model can have."""
    blocks, reply = own.blocks, own.reply
    sizes = (blocks.width, blocks.layers, blocks.heads, blocks.depth, blocks.hidden)
    checks = {
        "model.blocks: width, layers, heads, depth and hidden must be at least 1": min(sizes) >= 1,
        "model.blocks.width must be even": blocks.width % 2 == 0,
        "model.blocks.depth must be a multiple of heads": blocks.depth % max(blocks.heads, 1) == 0,
        "model.blocks.dropout must be from 0 to below 1": 0 <= blocks.dropout < 1,
        "model.blocks.embedding_dropout must be from 0 to below 1": 0 <= blocks.embedding_dropout < 1,
        "model.reply.smoothing must be from 0 to 1": 0 <= reply.smoothing <= 1,
        "model.reply.head must not be negative": reply.head >= 0,
        "model.reply.smoothing needs the full softmax: set model.reply.head=0": not (reply.smoothing and reply.head),
        "model.reply.sample must be at least 1": reply.sample >= 1,
        "model.reply.diversity must not be negative": reply.diversity >= 0,
        f"data.max_context must be from 2 to {POSITIONS}": 2 <= data.max_context <= POSITIONS,
        f"data.max_reply must be from 1 to {POSITIONS}": 1 <= data.max_reply <= POSITIONS,
    }
    for problem, holds in checks.items():
        if not holds:
            raise BadConfig(problem)
