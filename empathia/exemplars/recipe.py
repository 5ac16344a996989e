"""A recipe of the bi-encoder (`recipes/exemplars/`): trained, exported, and its weights of retrieval tuned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core import config, places
from ..core.types import Context
from .index import Emotions
from .training import Settings, train
from .tuning import tune_folder


@dataclass(frozen=True)
class Recipe:
    encoder: str  # its name
    train: Settings = field(default_factory=Settings)


def follow(values: Mapping[str, Any], name: str | None, fresh: bool, threads: int, say: Callable[[str], None]) -> Path:
    """Train what the recipe says into `EMPATHIA_HOME/runs/NAME`, or go on with it; `fresh` starts over."""
    recipe = config.build(Recipe, values)
    folder = places.runs() / (name or recipe.encoder)
    train(replace(recipe.train, threads=threads), folder, fresh=fresh, say=say)
    tuned = tune_folder(folder, perceive=_felt if (places.shipped() / "perception" / "feeling.onnx").exists() else None)
    say(f"retrieval: likeness of contexts {tuned.weights.like}, emotion {tuned.weights.emotion}")
    return folder


def _felt(contexts: Sequence[Context]) -> list[Emotions]:
    from ..perception import Perception

    return [evidence.emotion for evidence in Perception().contexts(contexts, causes=False)]
