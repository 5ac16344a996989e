"""What this process may use of the machine."""

from __future__ import annotations

import os


def cores() -> int:
    """Cores this process may run on: fewer than the machine has, inside a container or under `taskset`."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
