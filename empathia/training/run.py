"""A run: the folder a trained system lives in, and how to open it again.

`config.toml`, `vocabulary.json`, `model.safetensors`, `card.md`, `scores.json`, and while training
`checkpoint.safetensors`, `log.jsonl` and TensorBoard's files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import models
from ..core import config, places
from ..core.errors import BadFile, MissingFile, nearest
from ..core.files import atomic
from ..models.base import System
from ..text.vocabulary import Codec, Vocabulary
from .checkpoint import load_weights, read_progress
from .loop import CHECKPOINT, WEIGHTS
from .recipe import BaseRecipe, Recipe, Train

CONFIG, VOCABULARY, CARD = "config.toml", "vocabulary.json", "card.md"


@dataclass(frozen=True)
class Run:
    name: str
    folder: Path
    recipe: BaseRecipe
    vocabulary: Codec
    model: System
    stopped: str = ""  # "4-of-5": the epochs behind it, where it has not come to the end of its recipe

    @property
    def conditions(self) -> str:
        """What every figure of this run must say of itself."""
        return self.conditions_under(f"{self.recipe.vocabulary}-{self.vocabulary.size}")

    def conditions_under(self, vocabulary: str) -> str:
        """The same for a figure under another vocabulary than the run's own."""
        data, train = self.recipe.data, self.recipe.train
        start = f"|from:{train.start_from}" if train.start_from else ""
        how = f"epochs:{self.stopped or train.epochs}|seed:{train.seed}{start}"
        return f"corpus:{data.corpus}|vocabulary:{vocabulary}|{how}"


def folder_of(name: str) -> Path:
    """A path as given, or a name below the runs folder, or among the weights that are shipped."""
    if "/" in name or Path(name, CONFIG).exists():
        return Path(name)
    own, shipped = places.runs() / name, places.shipped() / name
    return shipped if not own.exists() and shipped.exists() else own


def trained_runs() -> dict[str, Path]:
    """Name → folder of every run that can answer; a user's own run hides a shipped one of the same name."""
    found = [p.parent for place in (places.shipped(), places.runs()) for p in sorted(place.glob(f"*/{WEIGHTS}"))]
    return {folder.name: folder for folder in found}


def open_run(name: str) -> Run:
    """A trained run by name or path; its model is ready to answer."""
    folder = folder_of(name)
    if not (folder / CONFIG).exists():
        known = trained_runs()
        hint = nearest(name, known) if known else "train one with: empathia train recipes/mime.toml"
        raise MissingFile(f"no run '{name}'", hint)
    if not (folder / WEIGHTS).exists():
        raise MissingFile(f"run '{name}' has no trained weights yet", "train it to its first validation")
    values = config.load(folder / CONFIG)
    if "t5" in values:
        from .t5.recipe import opened  # brings transformers, which other runs do without

        return opened(values, folder)
    recipe = Recipe.of(values)
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    model = models.find(recipe.model)(recipe.config, vocabulary.size)
    load_weights(folder / WEIGHTS, model)
    return Run(folder.name, folder, recipe, vocabulary, model.eval(), stopped_at(folder, recipe.train))


def stopped_at(folder: Path, train: Train) -> str:
    """Where its checkpoint says that a run stopped, by hand or for want of patience; empty for one that went through
    its recipe, or that has no checkpoint. A damaged one stops nobody from answering: then it is not known where."""
    checkpoint = folder / CHECKPOINT
    try:
        done = read_progress(checkpoint)["epoch"] if checkpoint.exists() else train.epochs
    except BadFile:
        done = "unknown"
    return "" if done == train.epochs else f"{done}-of-{train.epochs}"


def write_card(run: Run, origin: str, lines: list[str]) -> None:
    """What the weights are, what they learned from, under which licence, and what they reached."""
    parameters = sum(p.numel() for p in run.model.parameters())
    text = [
        f"# {run.name}",
        "",
        f"- system: `{run.recipe.system}`, {parameters / 1e6:.2f} M parameters",
        f"- data: {run.recipe.data.corpus}; vocabulary of {run.vocabulary.size} words from "
        + {"all": "all splits", "train": "the training split"}.get(run.recipe.vocabulary, run.recipe.vocabulary),
        f"- began with: {origin}",
        "- licence of the weights: CC BY-NC 4.0, as the corpus they were trained on",
        "- limits: English, short everyday conversations; not a person, not advice, not for crises",
        "",
        *lines,
    ]
    with atomic(run.folder / CARD) as out:
        out.write("\n".join(text) + "\n")
