"""A recipe of T5-PT (`recipes/t5-pt.toml`): a T5's folder becomes a run, which is again a folder of `transformers`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import torch

from ...core import places
from ...core.errors import BadConfig
from ...text.vocabulary import Codec
from ..processes import Processes
from ..recipe import BaseRecipe, Data
from ..run import Run, stopped_at
from ..session import Beginning, train
from .model import T5, load
from .pieces import Pieces, Turns

#: what a T5 reads of `[data]`; its words and their vectors are its own
_READ = {"corpus", "max_context", "max_reply"}


@dataclass(frozen=True, kw_only=True)
class T5Recipe(BaseRecipe):
    t5: str  # the folder to begin with

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        recipe = super().of(values)
        own = recipe.data
        changed = [f.name for f in fields(Data) if getattr(own, f.name) != getattr(Data(), f.name)]
        for name in changed:
            if name not in _READ:
                raise BadConfig(f"a T5 does not read 'data.{name}'", "leave it out")
        if recipe.train.start_from:
            raise BadConfig("a T5 does not read 'train.start_from'", "name the run's folder as 't5'")
        if min(own.max_context, own.max_reply) < 2:
            raise BadConfig("data.max_context and data.max_reply must be at least 2")
        return recipe

    @property
    def system(self) -> str:
        return "t5"

    @property
    def folder(self) -> Path:
        return Path(self.t5).expanduser()

    @property
    def vocabulary(self) -> str:
        return self.folder.resolve().name

    def encoder(self, codec: Codec) -> Turns:
        return Turns(codec, self.data.max_context, self.data.max_reply)


def follow(values: Mapping[str, Any], name: str | None, fresh: bool, threads: int, say: Callable[[str], None]) -> Path:
    """Fine-tune what the recipe says into `EMPATHIA_HOME/runs/NAME`, or go on with it; `fresh` starts over."""
    recipe = T5Recipe.of(values)
    torch.set_num_threads(threads)
    pieces, model = load(recipe.folder)  # a wrong folder is told before anything is written

    def begin(recipe: T5Recipe, folder: Path, group: Processes) -> Beginning:
        if group.first:
            _describe(folder, pieces, model)
        return Beginning(pieces, model, f"all weights of {recipe.vocabulary}")

    return train(recipe, places.runs() / (name or "t5-pt"), fresh=fresh, begin=begin)


def _describe(folder: Path, pieces: Pieces, model: T5) -> None:
    """All that a folder of `transformers` holds besides the weights, which the loop writes."""
    pieces.save(folder)
    model.t5.config.save_pretrained(folder)
    model.t5.generation_config.save_pretrained(folder)


def opened(values: Mapping[str, Any], folder: Path) -> Run:
    """A trained run; the folder that it began with is not needed any more."""
    pieces, model = load(folder)
    recipe = T5Recipe.of(values)
    return Run(folder.name, folder, recipe, pieces, model.eval(), stopped_at(folder, recipe.train))
