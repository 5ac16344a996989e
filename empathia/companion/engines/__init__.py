"""Where words come from: one small seam (`contract`), and a language model behind it, near or far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...core.errors import BadInput, MissingFile
from .contract import Engine


def open_engine(spec: str | None = None, announce: Callable[[str], None] | None = None, **options: Any) -> Engine:
    """The language model that `spec` names: nothing (ours), a `.gguf` file, a `transformers` folder, or the address of
    an OpenAI-compatible server, `https://host/v1#model`. `options` go to the engine; see docs/engines.md."""
    if spec is None:
        from ..weights import default
        from .llama import Llama

        weights = default(announce)
        return Llama(weights.path, tuned=weights.tuned, **options)
    if spec.startswith(("http://", "https://")):
        from .remote import Remote

        address, _, model = spec.partition("#")
        return Remote(address, model or None, **options)
    path = Path(spec).expanduser()
    if path.is_file():
        from ..weights import named
        from .llama import Llama

        return Llama(named(path), **options)
    if (path / "config.json").is_file():
        from .folder import Folder

        return Folder(path, **options)
    if path.is_dir():
        raise BadInput(f"{path} holds no model: there is no config.json", "name the folder that transformers saved")
    if path.suffix == ".gguf" or "/" in spec.strip("/") or spec.startswith((".", "/", "~")):
        raise MissingFile(f"no such model: {spec}", "check the path")
    raise BadInput(
        f"'{spec}' is no language model",
        "name a .gguf file, a folder of transformers, or an address: https://host/v1#model",
    )
