"""One training session from recipe to run: data, model, loop, what the user sees meanwhile, the card."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .. import models
from ..core.errors import BadConfig, EmpathiaError
from ..core.files import atomic, existing
from ..core.machine import keep_memory
from ..models.base import EmpatheticModel, System
from ..text.vocabulary import Codec, Vocabulary
from .checkpoint import load_weights
from .loop import CHECKPOINT, WEIGHTS, Trainer, Update, Watcher, check
from .prepare import build_vocabulary, read_split, start_vectors
from .processes import Processes, processes
from .recipe import BaseRecipe, Recipe
from .run import CONFIG, VOCABULARY, folder_of, open_run, write_card
from .validate import Validation

LOG = "log.jsonl"


@dataclass(frozen=True)
class Beginning:
    """A run before its first update."""

    vocabulary: Codec
    model: System
    origin: str  # where the weights come from, for the card


Begin = Callable[[Any, Path, Processes], Beginning]


def begin(recipe: Recipe, folder: Path, group: Processes) -> Beginning:
    """A system of models/: its words, and random weights but for the word vectors, or those of another run."""
    vocabulary = _vocabulary(folder, recipe, group)
    torch.manual_seed(recipe.train.seed)
    model = models.find(recipe.model)(recipe.config, vocabulary.size)
    return Beginning(vocabulary, model, _start(model, vocabulary, recipe))


def train(
    recipe: BaseRecipe, folder: Path, *, fresh: bool = False, stop_at: int | None = None, begin: Begin = begin
) -> Path:
    """Train `recipe` in `folder`, going on where an earlier session stopped; returns the folder."""
    check(recipe.train)
    keep_memory()
    with processes() as group, ExitStack() as open_things:
        if group.first:
            _claim(folder, recipe, fresh)
        group.wait()
        console = Console(stderr=True, quiet=not group.first)
        begun = begin(recipe, folder, group)
        training, validation = (read_split(recipe, split, begun.vocabulary).encoded for split in ("train", "valid"))
        trainer = Trainer(begun.model, recipe.train, training, validation, folder, group)
        resumed = trainer.resume()
        where = f"going on at update {trainer.progress.update}" if resumed else "starting"
        console.print(f"{folder.name}: {recipe.system}, {len(training):,} examples, {begun.origin}; {where}")
        watch = open_things.enter_context(_watching(folder, trainer, console)) if group.first else _nothing
        progress = trainer.run(watch, stop_at)
        if group.first and progress.best is not None:
            history = "\n".join(_line(row) for row in progress.history)
            best = f"best validation perplexity {progress.best:.2f} at update {progress.best_update}"
            hours = progress.seconds / 3600
            trained = f"{best} of {progress.update}, epoch {progress.epoch}; {hours:.2f} h of training"
            write_card(open_run(str(folder)), begun.origin, [f"- trained: {trained}", "", history])
            console.print(f"{folder.name}: {trained}")
    return folder


def _line(row: dict[str, float | None]) -> str:
    accuracy = "" if row["accuracy"] is None else f", emotion accuracy {row['accuracy']:.1f} %"
    return f"- update {row['update']}: validation perplexity {row['perplexity']:.2f}{accuracy}"


def _same(config: Path, recipe: BaseRecipe) -> bool:
    """As recipes, not as bytes: an option that is new since then, at its default, changes nothing."""
    try:
        return type(recipe).load(config) == recipe
    except EmpathiaError:
        return False


def _claim(folder: Path, recipe: BaseRecipe, fresh: bool) -> None:
    """Make the folder this recipe's; a folder that another recipe made is not overwritten."""
    config = folder / CONFIG
    if fresh:
        for name in (CHECKPOINT, WEIGHTS, VOCABULARY, CONFIG, LOG):
            (folder / name).unlink(missing_ok=True)
    if config.exists() and not _same(config, recipe):
        raise BadConfig(
            f"{folder} was made by another recipe",
            "choose another --name, or start over with --fresh",
        )
    with atomic(config) as out:
        out.write(recipe.dump())


def _vocabulary(folder: Path, recipe: Recipe, group: Processes) -> Vocabulary:
    path, start = folder / VOCABULARY, recipe.train.start_from
    if group.first and not path.exists():
        (Vocabulary.load(_started(start, VOCABULARY)) if start else build_vocabulary(recipe.data)).save(path)
    group.wait()
    return Vocabulary.load(path)


def _start(model: EmpatheticModel, vocabulary: Vocabulary, recipe: Recipe) -> str:
    """The weights before the first update; returns where they come from, for the card."""
    start = recipe.train.start_from
    if not start:
        return start_vectors(model, vocabulary, recipe.data, recipe.train.seed)
    load_weights(_started(start, WEIGHTS), model)
    return f"all weights from run '{start}'"


def _started(start: str, name: str) -> Path:
    return existing(folder_of(start) / name, f"train the run '{start}' first, or change train.start_from")


def _nothing(event: Update | Validation) -> None:
    """The watcher of every process but the first."""


@contextmanager
def _watching(folder: Path, trainer: Trainer, console: Console) -> Iterator[Watcher]:
    """A progress bar on a terminal or a line now and then elsewhere; `log.jsonl` and TensorBoard always."""
    from torch.utils.tensorboard import SummaryWriter

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    times: deque[tuple[float, int]] = deque(maxlen=50)
    with (
        SummaryWriter(str(folder / "tensorboard")) as board,
        (folder / LOG).open("a", encoding="utf-8", buffering=1) as log,
        Progress(*columns, console=console, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task(folder.name, total=trainer.updates, completed=trainer.progress.update, told="")

        def watch(event: Update | Validation) -> None:
            if isinstance(event, Validation):
                row = {"update": trainer.progress.update, **trainer.progress.history[-1]}
                board.add_scalar("valid/perplexity", event.perplexity, trainer.progress.update)
                if event.accuracy is not None:
                    board.add_scalar("valid/accuracy", event.accuracy, trainer.progress.update)
                log.write(json.dumps({"validation": asdict(event), **row}) + "\n")
                console.print(_line(row)[2:])
                return
            times.append((time.monotonic(), event.rows))
            update = event.progress.update
            told = _told(event, times)
            bar.update(task, completed=update, told=told)
            if update % 20 == 0:
                for name, value in event.losses.items():
                    board.add_scalar(f"train/{name}", value, update)
                board.add_scalar("train/lr", event.lr, update)
                log.write(json.dumps({"update": update, "losses": event.losses, "lr": event.lr}) + "\n")
            if not console.is_terminal and update % 100 == 0:
                print(f"update {update} of {event.updates}  {told}", file=sys.stderr, flush=True)

        yield watch


def _told(event: Update, times: deque[tuple[float, int]]) -> str:
    elapsed = times[-1][0] - times[0][0]
    rate = sum(rows for _, rows in list(times)[1:]) / elapsed if elapsed > 0 else 0.0
    losses = " ".join(f"{name} {value:.3f}" for name, value in event.losses.items())
    return f"{losses}  {rate:.0f} samples/s"
