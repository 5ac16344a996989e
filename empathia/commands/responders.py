"""Which responder a name on the command line means."""

from __future__ import annotations

from ..core.errors import MissingFile
from ..core.types import Responder

#: the runs to talk to when none is named, best first
PREFERRED = ("mime", "moel", "multi_trs", "transformer")


def responder_of(name: str | None, decoder: str | None = None) -> Responder:
    """A trained run by name or path; without a name, the best that is there."""
    from ..training.responder import RunResponder
    from ..training.run import open_run, trained_runs
    from .decoders import decoding_of

    if name is None:
        there = trained_runs()
        name = next((n for n in PREFERRED if n in there), min(there, default=None))
        if name is None:
            raise MissingFile("nothing to talk to yet", "train a system with: empathia train recipes/mime.toml")
    return RunResponder(open_run(name), decoding_of(decoder) if decoder else None)
