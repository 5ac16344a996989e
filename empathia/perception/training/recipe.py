"""A recipe of perception: which question, trained how (`recipes/perception/`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import config, places
from .fit import Settings
from .questions import train


@dataclass(frozen=True)
class Recipe:
    question: str
    train: Settings = field(default_factory=Settings)


def follow(values: Mapping[str, Any], name: str | None, fresh: bool, threads: int, say: Callable[[str], None]) -> Path:
    """Train what the recipe says into `EMPATHIA_HOME/perception/NAME`, or go on with it; `fresh` starts over."""
    recipe = config.build(Recipe, values)
    folder = places.home() / "perception" / (name or recipe.question)
    if fresh:
        for file in ("checkpoint.safetensors", "weights.safetensors"):
            (folder / file).unlink(missing_ok=True)
    train(recipe.question, recipe.train, folder, say, threads)
    return folder
