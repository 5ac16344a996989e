"""How a decoder is named on the command line: `greedy`, `beam5`, `top-k3`, `nucleus0.9`, with `:key=value` changes."""

from __future__ import annotations

import re
from typing import Any

from ..core.config import build, override
from ..core.errors import BadConfig
from ..decoding.contract import Decoding

HELP = "greedy, beam5, top-k3, nucleus0.9; more with beam5:block_ngrams=3,length_penalty=1"


def decoding_of(text: str) -> Decoding:
    """A search from its short name.

    >>> str(decoding_of("beam5:block_ngrams=3"))
    'beam5-block3-max50'
    """
    name, _, changes = text.partition(":")
    values: dict[str, Any] = {}
    if name == "greedy":
        values["method"] = "greedy"
    elif found := re.fullmatch(r"beam(\d+)", name):
        values |= {"method": "beam", "beam": int(found[1])}
    elif found := re.fullmatch(r"top-k(\d+)", name):
        values |= {"method": "sample", "top_k": int(found[1])}
    elif found := re.fullmatch(r"nucleus(\d*\.?\d+)", name):
        values |= {"method": "sample", "top_p": float(found[1])}
    else:
        raise BadConfig(f"no decoder '{text}'", f"take one of: {HELP}")
    for change in filter(None, changes.split(",")):
        override(values, change)
    return build(Decoding, values, "decoder")
