"""A server of the small listeners, in a process of its own; `CODE` starts it."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from serve_house import services
from serve_listeners import Broken, BrokenMidway, Echo, Plain

from empathia.serve import Access, Limits, make_app
from empathia.serve.run import listen, run

CODE = "import serve_workers; serve_workers.main()"


def build(pause: float, limits: Limits, keep: Path | None) -> FastAPI:
    everybody = (Echo(pause=pause), Plain(pause=pause), Broken(), BrokenMidway("midway"))
    return make_app(services(*everybody), limits, Access(), keep)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--level", default="warning")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--waiting", type=int, default=32)
    given = parser.parse_args()
    listening = listen("127.0.0.1", 0)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}")
    run(partial(build, given.pause, Limits(waiting=given.waiting), given.keep), listening, given.workers, given.level)
