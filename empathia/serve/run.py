"""Start the server: one process, or several behind one address."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from ..core.errors import BadInput
from .metrics import SHARED

_LINE = {"plain": {"format": "%(asctime)s %(levelname)s %(message)s", "datefmt": "%H:%M:%S"}}


def run(build: Callable[[], Any], listening: socket.socket, workers: int = 1, level: str = "warning") -> None:
    """Serve `build()` until stopped. With several workers each process builds its own, so `build` must pickle."""
    config = uvicorn.Config(
        build,
        factory=True,
        workers=workers,
        log_config=_logging(level),
        access_log=False,  # ours names routes, never addresses or queries: watch.py
        server_header=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=60,
        timeout_worker_healthcheck=60,  # a worker that loads a model may be silent for a while
    )
    if workers == 1:
        with suppress(KeyboardInterrupt):  # uvicorn raises it again when it has ended
            uvicorn.Server(config).run(sockets=[listening])
        return
    with tempfile.TemporaryDirectory(prefix="empathia-metrics-") as folder:
        os.environ[SHARED] = folder
        Multiprocess(config, sockets=[listening]).run()


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to the address, or an error that helps."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(1024)
    except OSError as error:
        raise BadInput(
            f"cannot listen on {host}:{port}: {(error.strerror or str(error)).lower()}",
            "choose another --port, or stop what uses it",
        ) from error
    bound.set_inheritable(True)
    return bound


def _logging(level: str) -> dict[str, Any]:
    """Our own log and uvicorn's on standard error. Libraries below stay at warnings: they like to quote."""
    names = ("empathia", "uvicorn")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": _LINE,
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
        "loggers": {name: {"handlers": ["stderr"], "level": level.upper(), "propagate": False} for name in names},
    }
