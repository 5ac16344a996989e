"""A recipe of our own COMET (`recipes/knowledge/`): tuples become an adapter, in a folder that can be gone on with."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ...core import config, places
from ...core.files import existing
from ...training.lora import CHECKPOINT, Lined, LoraTrainer, Settings, ordered
from ..tuples import Known, here, missing, tuples
from .lessons import lessons, sequences


@dataclass(frozen=True)
class Data:
    heads: int = 0  # so many, drawn at random; 0 takes all
    most_tails: int = 24  # of one head; ConceptNet has heads with hundreds
    valid: int = 100  # held-out heads that the loss is watched on
    seed: int = 1


@dataclass(frozen=True)
class Recipe:
    comet: str  # its name
    base: str  # a GGUF file or a folder of transformers; the command names SmolLM2-135M-Instruct by itself
    data: Data = field(default_factory=Data)
    train: Settings = field(default_factory=Settings)


def follow(values: Mapping[str, Any], name: str | None, fresh: bool, threads: int, say: Callable[[str], None]) -> Path:
    """Train what the recipe says into `EMPATHIA_HOME/knowledge/NAME`, or go on with it; `fresh` starts over."""
    recipe = config.build(Recipe, values)
    torch.set_num_threads(threads)
    folder = places.home() / "knowledge" / (name or recipe.comet)
    if fresh:
        (folder / CHECKPOINT).unlink(missing_ok=True)
    train(recipe, folder, say)
    return folder


def train(recipe: Recipe, folder: Path, say: Callable[[str], None]) -> None:
    names = here()
    if not names:
        raise missing()
    rows = list(tuples(names, say))
    taught, valid = divided(rows, recipe.data)
    trainer = LoraTrainer(existing(Path(recipe.base)), recipe.train, folder, say)

    def tokens(text: str) -> list[int]:
        return trainer.tokenizer(text, add_special_tokens=False)["input_ids"]

    told = lessons(taught)
    places_of = ordered(len(told), recipe.train.epochs, recipe.train.seed)
    made: list[Lined] = []
    for i, place in enumerate(places_of):
        made += sequences(told[place], tokens, random.Random(f"{recipe.train.seed} {i}"))
    trainer.teach(made, [next(sequences(lesson, tokens)) for lesson in lessons(valid)])
    trainer.run()


def divided(rows: list[Known], data: Data) -> tuple[list[Known], list[Known]]:
    """Tuples to learn from, and held-out ones of heads that none of those have."""
    chance = random.Random(data.seed)
    heads = sorted({row.head for row in rows if row.learned})
    kept = set(chance.sample(heads, min(data.heads, len(heads))) if data.heads else heads)
    by_head: dict[str, list[Known]] = {}
    for row in rows:
        if row.learned and row.head in kept:
            by_head.setdefault(row.head, []).append(row)
    taught = [row for own in by_head.values() for row in chance.sample(own, min(len(own), data.most_tails))]
    strangers = sorted({row.head for row in rows if not row.learned} - set(heads))
    tried = set(chance.sample(strangers, min(data.valid, len(strangers))))
    return taught, [row for row in rows if not row.learned and row.head in tried]
