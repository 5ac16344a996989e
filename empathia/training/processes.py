"""Several processes training as one, started by `torchrun`; or just this one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class Processes:
    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def share(self, indices: list[int]) -> list[int]:
        """This process's rows of a batch."""
        return indices[self.rank :: self.world]

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model, its gradients averaged over the processes. Not every part takes part in every batch (MoEL)."""
        return DistributedDataParallel(model, find_unused_parameters=True) if self.world > 1 else model

    def total(self, sums: Tensor) -> Tensor:
        if self.world > 1:
            dist.all_reduce(sums)
        return sums

    def wait(self) -> None:
        if self.world > 1:
            dist.barrier()


@contextmanager
def processes() -> Iterator[Processes]:
    """The group that `torchrun` set up in the environment, closed at the end."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Processes()
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Processes(dist.get_rank(), world)
    finally:
        dist.destroy_process_group()
