"""The loop: epochs over a question's rows, a validation after each, checkpoints in between."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from safetensors.torch import save as serialised
from torch import Tensor, nn

from ...core.files import atomic
from ...nn.adam import restore, state_tensors
from .network import Encoder, heads_of
from .rows import Batch, Row, batches


@dataclass(frozen=True)
class Settings:
    """How one encoder is trained; the recipe's `[train]`."""

    epochs: int = 3
    pieces: int = 1600  # word pieces of a batch
    lr: float = 1e-4
    head_lr: float = 1e-3
    warmup: float = 0.06
    decay: float = 0.01
    dropout: float = 0.1
    average: float = 0.999  # of the weights over steps; what is kept in the end
    seed: int = 1
    save_minutes: float = 3.0
    start: str = ""  # another question's trained folder to begin from; "" is the pretrained encoder


class Question(Protocol):
    name: str

    def rows(self, epoch: int, seed: int) -> list[Row]: ...
    def held_out(self, split: str) -> list[Row]: ...
    def loss(self, encoder: Encoder, heads: nn.ModuleDict, batch: Batch) -> Tensor: ...
    def measure(self, encoder: Encoder, heads: nn.ModuleDict, rows: Sequence[Row]) -> dict[str, float]: ...


class Network(nn.Module):
    def __init__(self, question: str, encoder: Encoder) -> None:
        super().__init__()
        self.encoder, self.heads = encoder, heads_of(question)

    def own(self) -> dict[str, Tensor]:
        """Everything but the shared word vectors."""
        return {name: value for name, value in self.state_dict().items() if name != "encoder.words.weight"}


def fit(question: Question, settings: Settings, pretrained: Path, folder: Path, say: Callable[[str], None]) -> Network:
    """Train, or go on from the folder's checkpoint; its weights.safetensors is the best epoch's average."""
    torch.manual_seed(settings.seed)
    folder.mkdir(parents=True, exist_ok=True)
    network = Network(question.name, Encoder.pretrained(pretrained, settings.dropout))
    if settings.start:
        began = {
            n: v for n, v in load_file(Path(settings.start) / "weights.safetensors").items() if n.startswith("encoder.")
        }
        network.load_state_dict(began, strict=False)
    state = _State(network, settings, folder)
    epochs = [question.rows(0, settings.seed)]
    per_epoch = sum(1 for _ in batches(epochs[0], settings.pieces, random.Random(0)))
    state.total = per_epoch * settings.epochs
    state.resume()
    valid = question.held_out("valid")
    say(f"{question.name}: {len(epochs[0])} rows, {per_epoch} batches an epoch, {len(valid)} to validate")
    for epoch in range(state.epoch, settings.epochs):
        network.train()
        rows, began_at, losses = question.rows(epoch, settings.seed), time.monotonic(), []
        for i, batch in enumerate(batches(rows, settings.pieces, random.Random(f"{settings.seed} {epoch}"))):
            if i < state.batch:
                continue
            loss = question.loss(network.encoder, network.heads, batch)
            loss.backward()
            state.step()
            losses.append(loss.item())
            state.batch = i + 1
            if state.batch % 50 == 0:
                spent = time.monotonic() - began_at
                recent = sum(losses[-50:]) / len(losses[-50:])
                speed = len(losses) / spent
                say(f"epoch {epoch + 1} batch {state.batch}/{per_epoch} loss {recent:.3f} {speed:.2f} batches/s")
            state.save_sometimes()
        state.epoch, state.batch = epoch + 1, 0
        found = state.validate(question, valid)
        say(f"epoch {epoch + 1} valid " + " ".join(f"{name} {value:.4f}" for name, value in found.items()))
        state.save()
    network.load_state_dict(load_file(folder / "weights.safetensors"), strict=False)
    return network.eval()


class _State:
    """Network, optimizer, averaged weights and progress, as one checkpoint."""

    def __init__(self, network: Network, settings: Settings, folder: Path) -> None:
        self.network, self.settings, self.folder = network, settings, folder
        trained = {n: p for n, p in network.named_parameters() if p.requires_grad}
        plain = [p for n, p in trained.items() if n.startswith("encoder.")]
        fresh = [p for n, p in trained.items() if not n.startswith("encoder.")]
        self.optimizer = torch.optim.AdamW(
            [{"params": plain, "peak": settings.lr}, {"params": fresh, "peak": settings.head_lr}],
            weight_decay=settings.decay,
            fused=True,
        )
        self.average = {n: v.clone() for n, v in network.own().items()}
        self.epoch = self.batch = self.steps = self.total = 0
        self.best = -1.0
        self._saved_at = time.monotonic()

    def step(self) -> None:
        self.steps += 1
        warm = max(1, int(self.settings.warmup * self.total))
        share = min(self.steps / warm, max(0.0, (self.total - self.steps) / max(1, self.total - warm)))
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * share
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        keep = min(self.settings.average, self.steps / (self.steps + 10))
        now = self.network.own()
        torch._foreach_lerp_([self.average[n] for n in now], list(now.values()), 1 - keep)

    def validate(self, question: Question, rows: Sequence[Row]) -> dict[str, float]:
        """Measure the averaged weights, and keep them if they are the best so far."""
        current = {n: v.clone() for n, v in self.network.own().items()}
        self.network.load_state_dict(self.average, strict=False)
        self.network.eval()
        with torch.inference_mode():
            found = question.measure(self.network.encoder, self.network.heads, rows)
        if found["best"] > self.best:
            self.best = found["best"]
            _write(self.folder / "weights.safetensors", self.average)
        self.network.load_state_dict(current, strict=False)
        return found

    def save_sometimes(self) -> None:
        if time.monotonic() - self._saved_at > 60 * self.settings.save_minutes:
            self.save()

    def save(self) -> None:
        tensors = {f"now.{n}": v for n, v in self.network.own().items()}
        tensors |= {f"average.{n}": v for n, v in self.average.items()}
        tensors |= state_tensors(self.optimizer)
        progress = {"epoch": self.epoch, "batch": self.batch, "steps": self.steps, "best": self.best}
        tensors["random"] = torch.get_rng_state()
        _write(self.folder / "checkpoint.safetensors", tensors, {n: str(v) for n, v in progress.items()})
        self._saved_at = time.monotonic()

    def resume(self) -> None:
        path = self.folder / "checkpoint.safetensors"
        if not path.exists():
            return
        with safe_open(path, "pt") as file:
            progress = file.metadata()
        tensors = load_file(path)
        self.network.load_state_dict({n[4:]: v for n, v in tensors.items() if n.startswith("now.")}, strict=False)
        self.average = {n[8:]: v for n, v in tensors.items() if n.startswith("average.")}
        restore(self.optimizer, tensors)
        torch.set_rng_state(tensors["random"])
        self.epoch, self.batch, self.steps = (int(progress[n]) for n in ("epoch", "batch", "steps"))
        self.best = float(progress["best"])


def _write(path: Path, tensors: dict[str, Tensor], facts: dict[str, str] | None = None) -> None:
    with atomic(path, "wb") as file:
        file.write(serialised({name: value.contiguous() for name, value in tensors.items()}, facts))
