"""What a server can call on: responders by name, perception, embeddings. Loaded when needed, and not before."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..core.errors import EmpathiaError, nearest
from ..core.types import Context, Evidence, Responder
from .errors import Problem

log = logging.getLogger("empathia.serve")


@dataclass(frozen=True)
class Source:
    """A responder that is not loaded yet."""

    load: Callable[[], Responder]
    description: str = ""
    owner: str = "empathia"


@dataclass(frozen=True)
class Services:
    """`responders` in order of preference: the first that can be loaded is the default."""

    responders: Mapping[str, Responder | Source]
    perceive: Callable[[Context], Evidence] | None = None
    embed: Callable[[Sequence[str]], Any] | None = None  # rows of numbers, one per text
    embeds_with: str = "embeddings"
    country: str | None = None


@dataclass
class Catalogue:
    """The responders, loaded one at a time: the default in the background from the start, others when first asked."""

    sources: Mapping[str, Responder | Source]
    state: Literal["loading", "ready", "failed"] = "loading"
    _loaded: dict[str, Responder] = field(default_factory=dict)
    _broken: set[str] = field(default_factory=set)
    _one: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._loaded |= {name: found for name, found in self.sources.items() if not isinstance(found, Source)}

    def begin(self) -> None:
        threading.Thread(target=self._find_default, daemon=True, name="loading").start()

    def names(self) -> list[str]:
        """The default first, responders that could not be loaded last."""
        return sorted(self.sources, key=lambda name: name in self._broken)

    @property
    def default(self) -> str:
        return self.names()[0] if self.sources else "none"

    def resolve(self, asked: str | None) -> str:
        """The name of the responder that is meant."""
        if asked and asked not in self.sources:
            raise Problem(
                404, "there is no such model", nearest(asked, self.sources), code="model_not_found", param="model"
            )
        name = asked or self.default
        if name not in self._loaded and self.state == "loading" and name == self.default:
            raise self.unready()
        if not asked and self.state == "failed":
            raise self.unready()
        return name

    def unready(self) -> Problem:
        if self.state == "loading":
            return Problem(503, "the model is still loading", "try again soon", code="loading", retry_after=2)
        return Problem(503, "no model could be loaded", "the operator's log says why", code="no_model", retry_after=30)

    def load(self, name: str) -> Responder:
        """The responder itself. May take long: call it in a thread."""
        if name in self._loaded:
            return self._loaded[name]
        with self._one:
            if name not in self._loaded:
                source = self.sources[name]
                assert isinstance(source, Source)
                self._loaded[name] = source.load()
                self._broken.discard(name)
            return self._loaded[name]

    def _find_default(self) -> None:
        for name in self.sources:
            try:
                self.load(name)
            except EmpathiaError as error:
                log.warning("%s cannot be loaded: %s", name, error)
            except Exception as error:
                log.exception("%s cannot be loaded: %s", name, type(error).__name__)
            else:
                self.state = "ready"
                return
            self._broken.add(name)
        self.state = "failed"
