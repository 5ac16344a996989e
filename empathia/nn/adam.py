"""An optimizer's state as named tensors, so that a checkpoint needs no pickle."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

_MARK = "adam."


def state_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """`adam.PARAMETER.FIELD` → tensor."""
    state = optimizer.state_dict()["state"]
    return {f"{_MARK}{i}.{n}": torch.as_tensor(v) for i, fields in state.items() for n, v in fields.items()}


def restore(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Take the state from a checkpoint's tensors; names without the mark are others'."""
    saved = optimizer.state_dict()
    saved["state"] = {}
    for name, value in tensors.items():
        if name.startswith(_MARK):
            _, i, field = name.split(".", 2)
            saved["state"].setdefault(int(i), {})[field] = value
    optimizer.load_state_dict(saved)
