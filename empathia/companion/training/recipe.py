"""A recipe of the companion's adapter (`recipes/companion/`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import config, places
from ...core.files import existing
from .fit import Settings
from .run import Data, train


@dataclass(frozen=True)
class Recipe:
    adapter: str  # its name
    start: str = ""  # folder of an adapter to begin with; else a new one
    data: Data = field(default_factory=Data)
    train: Settings = field(default_factory=Settings)


def follow(values: Mapping[str, Any], name: str | None, fresh: bool, threads: int, say: Callable[[str], None]) -> Path:
    """Train what the recipe says into `EMPATHIA_HOME/companion/NAME`, or go on with it; `fresh` starts over."""
    recipe = config.build(Recipe, values)
    folder = places.home() / "companion" / (name or recipe.adapter)
    if fresh:
        (folder / "checkpoint.safetensors").unlink(missing_ok=True)
    start = existing(Path(recipe.start), "name the folder of an adapter") if recipe.start else None
    train(recipe.data, recipe.train, folder, say, threads, start)
    return folder
