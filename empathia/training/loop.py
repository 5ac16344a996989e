"""The training loop: one for every system, knowing none of their names.

A batch's losses are sums; they are divided by the tokens or rows of the *whole* batch, so neither
accumulation nor the number of processes changes a gradient.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..core.errors import BadConfig, EmpathiaError
from ..models.base import System
from ..text.batches import Encoded, bucketed, collate
from .checkpoint import load_checkpoint, save_checkpoint, save_weights
from .precision import bf16_problem
from .processes import Processes
from .recipe import Train
from .schedule import rate
from .validate import Validation, validate

WEIGHTS, CHECKPOINT = "model.safetensors", "checkpoint.safetensors"


@dataclass
class Progress:
    """Where training stands; saved with every checkpoint."""

    epoch: int = 0
    batch: int = 0  # of this epoch, done
    update: int = 0
    best: float | None = None  # validation perplexity
    best_update: int = 0
    worse: int = 0  # validations since the best
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Update:
    """One optimizer step, for whoever watches."""

    progress: Progress
    updates: int  # planned in all
    rows: int
    losses: dict[str, float]
    lr: float


Watcher = Callable[[Update | Validation], None]


class Trainer:
    def __init__(
        self,
        model: System,
        train: Train,
        training: list[Encoded],
        validation: list[Encoded],
        folder: Path,
        group: Processes | None = None,
    ) -> None:
        if not training:
            raise EmpathiaError("the training split is empty")
        self.model, self.train, self.folder = model, train, folder
        self.training, self.validation = training, validation
        self.group = group or Processes()
        self.progress = Progress()
        model.meet(e.reply for e in training)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=train.lr, betas=(train.betas[0], train.betas[1]), eps=train.eps,
            weight_decay=train.weight_decay, fused=True,
        )  # fmt: skip
        self.wrapped: nn.Module = self.group.wrap(model)
        self.lengths = [len(e.words) + len(e.reply) for e in training]
        self.per_epoch = -(-len(training) // train.batch)
        self.updates = train.epochs * self.per_epoch
        self._started = 0.0

    def resume(self) -> bool:
        """Go on from the folder's checkpoint, if there is one."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            return False
        saved = load_checkpoint(path, self.model, self.optimizer)
        self.progress = Progress(**saved)
        if not self.group.first:
            torch.manual_seed(self.train.seed + 7919 * self.group.rank + self.progress.update)
        return True

    def run(self, watch: Watcher = lambda event: None, stop_at: int | None = None) -> Progress:
        """Train to the end, or to update `stop_at`, validating and saving on the way."""
        progress = self.progress
        if progress.update == 0:
            torch.manual_seed(self.train.seed + self.group.rank)
        self._started = time.monotonic() - progress.seconds
        self.model.train()
        while progress.epoch < self.train.epochs and not self._exhausted():
            for indices in self._rest_of_epoch():
                losses, lr = self._update(indices)
                progress.batch += 1
                watch(Update(progress, self.updates, len(indices), losses, lr))
                every = self.train.validate_every
                if every and progress.update % every == 0:
                    self._validate(watch)
                if progress.update % self.train.save_every == 0 or progress.update == stop_at:
                    self.save()
                if progress.update == stop_at or self._exhausted():
                    return progress
            progress.epoch, progress.batch = progress.epoch + 1, 0
            if not self.train.validate_every or progress.epoch == self.train.epochs:
                self._validate(watch)
            self.save()
        return progress

    def save(self) -> None:
        self.progress.seconds = time.monotonic() - self._started
        if self.group.first:
            save_checkpoint(self.folder / CHECKPOINT, self.model, self.optimizer, asdict(self.progress))
        self.group.wait()

    def _rest_of_epoch(self) -> Iterator[list[int]]:
        order = list(bucketed(self.lengths, self.train.batch, seed=self.train.seed * 100_003 + self.progress.epoch))
        return iter(order[self.progress.batch :])

    def _exhausted(self) -> bool:
        return self.progress.worse > self.train.patience

    def _update(self, indices: list[int]) -> tuple[dict[str, float], float]:
        """One optimizer step on the batch `indices`; returns the losses of this process's share."""
        train, progress = self.train, self.progress
        lr = rate(train, progress.update + 1, self.updates, self.model.width)
        for options in self.optimizer.param_groups:
            options["lr"] = lr
        whole = {"token": sum(len(self.training[i].reply) for i in indices), "row": len(indices)}
        mine = self.group.share(indices)
        idle = not mine  # fewer rows than processes: take part with a loss of zero
        mine = mine or indices[:1]
        size = -(-len(mine) // train.accumulate)
        parts = [mine[i : i + size] for i in range(0, len(mine), size)]
        self.optimizer.zero_grad(set_to_none=True)
        logged: dict[str, float] = {}
        for part in parts:
            inputs, gold = collate([self.training[i] for i in part], multiple=8 if train.bf16 else 1)
            with self._unsynchronised(part is not parts[-1]), self._autocast():
                losses = self.wrapped(inputs, gold, progress.update)
                shares = {name: loss.total / whole[loss.per] for name, loss in losses.items()}
                total = sum(losses[name].weight * share for name, share in shares.items())
                (total * (0 if idle else self.group.world)).backward()
            for name, share in shares.items():
                logged[name] = logged.get(name, 0.0) + share.item()
        if train.clip:
            self._clip(train.clip)
        self.optimizer.step()
        progress.update += 1
        if not all(map(math.isfinite, logged.values())):
            raise EmpathiaError(
                f"the loss is not finite at update {progress.update}", "lower train.lr or set train.clip"
            )
        return logged, lr

    def _clip(self, most: float) -> None:
        """Scale the gradients down to norm `most`; leave them alone, unwritten, where they are within it."""
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if norm > most:
            nn.utils.clip_grads_with_norm_(parameters, most, norm)

    def _unsynchronised(self, more: bool) -> Any:
        return self.wrapped.no_sync() if more and self.group.world > 1 else nullcontext()  # type: ignore[operator]

    def _autocast(self) -> Any:
        return torch.autocast("cpu", dtype=torch.bfloat16) if self.train.bf16 else nullcontext()

    def _validate(self, watch: Watcher) -> None:
        progress = self.progress
        found = validate(self.model, self.validation, self.group)
        progress.history.append({"update": progress.update, "perplexity": found.perplexity, "accuracy": found.accuracy})
        if progress.update >= self.train.select_from:
            if progress.best is None or found.perplexity < progress.best:
                progress.best, progress.best_update, progress.worse = found.perplexity, progress.update, 0
                if self.group.first:
                    save_weights(self.folder / WEIGHTS, self.model)
            else:
                progress.worse += 1
        watch(found)


def check(train: Train) -> None:
    """Refuse what cannot train before any data is read."""
    if min(train.batch, train.epochs, train.accumulate, train.save_every) < 1:
        raise BadConfig("train.batch, train.epochs, train.accumulate and train.save_every must be at least 1")
    if len(train.betas) != 2 or not all(0 <= beta < 1 for beta in train.betas):
        raise BadConfig("train.betas takes two numbers from 0 to below 1")
    if min(train.lr, train.eps, train.weight_decay, train.clip) < 0:
        raise BadConfig("train.lr, train.eps, train.weight_decay and train.clip must not be negative")
    if not 0 <= train.seed < 2**31:
        raise BadConfig("train.seed must be from 0 to 2147483647")
    if train.bf16 and (problem := bf16_problem()):
        raise BadConfig(f"train.bf16 does not work: {problem}", "set train.bf16=false")
