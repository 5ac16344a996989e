"""Starts a server process for every line on standard input, quickly: everything is imported before the fork."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from empathia.study.app import make_app
from empathia.study.store import Study


def main(folder: Path, port: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    uvicorn.Config(FastAPI(), lifespan="off").load()
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            app = make_app(Study(folder))
            uvicorn.run(app, port=port, log_level="critical", access_log=False, lifespan="off")
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
