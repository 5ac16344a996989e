"""Every system in one file each, found by its file name."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from ..core.errors import BadConfig, nearest

if TYPE_CHECKING:
    from .base import EmpatheticModel


def names() -> tuple[str, ...]:
    """The systems in this folder."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name != "base"))


def find(name: str) -> type[EmpatheticModel]:
    """The model class of `models/<name>.py`: the one subclass that the file itself defines."""
    from .base import EmpatheticModel

    if name not in names():
        raise BadConfig(f"no model '{name}'", nearest(name, names()))
    module = importlib.import_module(f"{__name__}.{name}")
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, EmpatheticModel) and value.__module__ == module.__name__
    )
