"""What this process may use of the machine."""

from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of glibc's mallopt
_MB = 2**20


def cores() -> int:
    """Cores this process may run on: fewer than the machine has, inside a container or under `taskset`."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_memory() -> bool:
    """Have the C library keep large blocks that are freed, for the next of their size; whether it will. It hands them
    back otherwise, and each new one is paid for page by page: 5 to 12 % of a training run here, whose gradients of
    word vectors come and go with every update. 32 MB is the most that glibc takes as a threshold."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    wanted = {_MMAP_THRESHOLD: 32 * _MB, _TRIM_THRESHOLD: 2047 * _MB, _TOP_PAD: 256 * _MB}
    return mallopt is not None and all(mallopt(name, value) for name, value in wanted.items())
