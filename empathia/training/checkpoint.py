"""Everything needed to go on exactly where a run was cut: one safetensors file, written atomically.

No pickle: a checkpoint from a stranger can hold nothing but numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from ..core.errors import BadFile
from ..core.files import atomic, existing


def save_weights(path: Path, model: nn.Module) -> None:
    with atomic(path, "wb") as out:
        out.write(save(weights_of(model)))


def load_weights(path: Path, model: nn.Module) -> None:
    tensors, _ = _read(path)
    _fill(path, model, tensors)


def save_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: dict[str, Any]) -> None:
    """Weights, optimizer state, random state and `progress` (plain data)."""
    tensors = {f"model.{name}": tensor for name, tensor in weights_of(model).items()}
    for i, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{i}.{name}": torch.as_tensor(value) for name, value in state.items()}
    tensors["random"] = torch.get_rng_state()
    with atomic(path, "wb") as out:
        out.write(save(tensors, metadata={"progress": json.dumps(progress)}))


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Put everything back; returns the saved progress."""
    tensors, metadata = _read(path)
    progress = _progress(path, metadata)
    random = tensors.pop("random", None)
    if random is None:
        raise _foreign(path)
    _fill(path, model, {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")})
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, i, key = name.split(".", 2)
            state.setdefault(int(i), {})[key] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    torch.set_rng_state(random)
    return progress


def read_progress(path: Path) -> dict[str, Any]:
    """The saved progress alone."""
    with _opened(path) as file:
        return _progress(path, file.metadata() or {})


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Each tensor once: a tied output layer is stored as the word vectors alone."""
    seen: set[int] = set()
    kept = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            kept[name] = tensor.contiguous()
    return kept


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(existing(path), framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise BadFile(path, f"damaged: {error}", hint="delete it to start over, or restore it") from error


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with _opened(path) as file:
        names = list(file.keys())
        return {name: file.get_tensor(name) for name in names}, file.metadata() or {}


def _progress(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    try:
        progress: dict[str, Any] = json.loads(metadata["progress"])
    except (KeyError, json.JSONDecodeError) as error:
        raise _foreign(path) from error
    return progress


def _foreign(path: Path) -> BadFile:
    return BadFile(path, "not a checkpoint", hint="delete it to start over")


def _fill(path: Path, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    wanted = weights_of(model)
    wrong = [n for n in wanted if n not in tensors or tensors[n].shape != wanted[n].shape]
    if wrong or len(tensors) != len(wanted):
        name = wrong[0] if wrong else next(n for n in tensors if n not in wanted)
        raise BadFile(
            path, f"does not fit this model at '{name}'", hint="was the recipe changed? train under a new name"
        )
    model.load_state_dict(tensors, strict=False)
