"""Where data, caches and runs live. The environment is read when asked, not at import."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`EMPATHIA_HOME`, else `~/.empathia`: everything empathia writes by itself is below it."""
    return Path(os.environ.get("EMPATHIA_HOME") or Path.home() / ".empathia").expanduser()


def data() -> Path:
    """`EMPATHIA_DATA`, else `home()/data`: one folder per corpus, in its published layout."""
    given = os.environ.get("EMPATHIA_DATA")
    return Path(given).expanduser() if given else home() / "data"


def cache() -> Path:
    """Whatever can be made again: downloads, indexes, merged models."""
    return home() / "cache"


def shipped() -> Path:
    """The small trained weights that stand in the repository, so that a fresh clone can answer at once."""
    return Path(__file__).resolve().parents[2] / "weights"


def runs() -> Path:
    """Trained models: `EMPATHIA_RUNS`, else `home()/runs`; one folder per run."""
    given = os.environ.get("EMPATHIA_RUNS")
    return Path(given).expanduser() if given else home() / "runs"
