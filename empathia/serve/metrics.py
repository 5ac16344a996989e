"""What the operator can count: Prometheus metrics with a few fixed labels, never a word anyone wrote."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

#: set by several workers behind one address: the folder where each counts, and any of them adds up
SHARED = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self.requests = Counter("empathia_requests", "Requests answered.", ("route", "status"), registry=own)
        self.seconds = Histogram(
            "empathia_request_seconds", "From arrival to the last byte.", ("route",), buckets=_SECONDS, registry=own
        )
        self.replies = Counter("empathia_replies", "Replies written by a responder.", ("model",), registry=own)
        self.guard_answers = Counter("empathia_guard_answers", "Messages answered by fixed text.", registry=own)
        self.refusals = Counter("empathia_refusals", "Requests refused.", ("reason",), registry=own)
        self.left = Counter("empathia_clients_left", "Clients gone before the end.", registry=own)
        self.busy = Gauge("empathia_slots_busy", "Replies being written.", multiprocess_mode="livesum", registry=own)
        self.queued = Gauge("empathia_queue_length", "Requests waiting.", multiprocess_mode="livesum", registry=own)
        self.load(0, 0)

    def load(self, busy: int, queued: int) -> None:
        self.busy.set(busy)
        self.queued.set(queued)

    def text(self) -> bytes:
        shared = os.environ.get(SHARED)
        if not shared:
            return generate_latest(self._registry)
        _forget_the_dead(Path(shared))
        everybody = CollectorRegistry()
        MultiProcessCollector(everybody, shared)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)


def _forget_the_dead(folder: Path) -> None:
    """A killed worker is busy with nothing any more."""
    for file in folder.glob("gauge_live*_*.db"):
        number = int(file.stem.rpartition("_")[2])
        if not Path(f"/proc/{number}").exists() and Path("/proc/self").exists():
            with suppress(FileNotFoundError):
                file.unlink()
