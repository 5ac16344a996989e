"""Which responder a name on the command line means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..core.errors import BadInput
from ..core.types import Responder

#: the companion's own name
COMPANION = "empathia"
RETRIEVAL = "retrieval"


def responder_of(
    name: str | None,
    decoder: str | None = None,
    announce: Callable[[str], None] | None = None,
    know: bool = False,
) -> Responder:
    """The companion, by default; the companion on another language model (a GGUF file, a transformers folder, an
    address); `retrieval`; or a trained run by name or path."""
    if name is None or name == COMPANION or names_language_model(name):
        return companion_of(None if name == COMPANION else name, announce, know)
    if know:
        raise BadInput(
            f"'{name}' is told no commonsense", "leave --know out; a system that reads it finds it by itself"
        )
    if name == RETRIEVAL:
        return retrieval(announce)
    from ..training.responder import RunResponder
    from ..training.run import open_run
    from .decoders import decoding_of
    from .finders import Finder

    run = open_run(name)
    find = Finder(run.model.needs(run.model.config), announce)
    return RunResponder(run, decoding_of(decoder) if decoder else None, find)


def names_language_model(name: str) -> bool:
    """An address, a GGUF file, or a folder that holds no run of ours but a model of `transformers`."""
    if name.startswith(("http://", "https://")) or name.endswith(".gguf"):
        return True
    return (Path(name) / "config.json").is_file() and not (Path(name) / "config.toml").is_file()


def companion_of(model: str | None, announce: Callable[[str], None] | None = None, know: bool = False) -> Responder:
    from ..companion import Companion, Settings
    from ..guard import Guard, no_reader

    guard = Guard(reader=no_reader)  # the danger reader has learned how speakers talk, not how listeners answer
    return Companion(model, Settings(know=know), announce, unsafe=lambda text: guard.read(text) is not None)


def retrieval(announce: Callable[[str], None] | None = None) -> Responder:
    from ..exemplars import RetrievalResponder, recall
    from ..perception import load

    perception = load()
    return RetrievalResponder(
        recall(announce=announce), lambda context: perception.contexts([context])[0].emotion or {}
    )
