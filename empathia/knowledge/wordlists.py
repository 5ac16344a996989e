"""The word lists of `words.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


def listed(name: str) -> frozenset[str]:
    return frozenset(_read()[name].split())


def paired(name: str) -> dict[str, str]:
    """A list of `word:word`, or a table of words."""
    value = _read()[name]
    if isinstance(value, str):
        return dict(pair.split(":") for pair in value.split())
    return dict(value)


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
