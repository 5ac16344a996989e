"""The COMETs that a command can open: ours without torch, by llama.cpp; the published one through transformers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import places
from ..core.errors import BadInput
from ..core.files import existing

if TYPE_CHECKING:
    from ..companion.engines.contract import Engine
    from ..knowledge import Inferrer
    from ..knowledge.comet import Drawn

_CONFIG = "adapter_config.json"


def own_comet() -> Path | None:
    """The adapter of our own COMET: the one trained here, else the one that ships, else none."""
    for folder in (places.home() / "knowledge" / "comet", places.shipped() / "knowledge"):
        if (folder / _CONFIG).is_file():
            return folder
    return None


def open_comet(folder: Path, announce: Callable[[str], None] | None = None) -> Inferrer:
    """The COMET in a folder: an adapter of ours, or the published encoder–decoder."""
    if (existing(folder, "name the folder of a COMET") / _CONFIG).is_file():
        from ..companion.engines.llama import Llama
        from ..companion.merge import merged
        from ..companion.weights import base
        from ..knowledge.comet import Comet, ask_ours

        engine = Llama(merged(base(announce), folder, announce=announce), tuned=True, context=128)
        return Comet("comet", f"comet|{engine.signature}|sampled", ask_ours, Sampler(engine))
    if (folder / "config.json").is_file():
        from ..knowledge.beams import published

        return published(folder)
    raise BadInput(f"{folder} holds no COMET", f"name a folder with {_CONFIG} (ours) or COMET-BART's config.json")


class Sampler:
    """Continuations by an engine: the likeliest first, then drawn ones, the same for the same prompt."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(self, prompts: Sequence[str], most: int) -> list[list[Drawn]]:
        return [self._drawn(prompt, most) for prompt in prompts]

    def _drawn(self, prompt: str, most: int) -> list[Drawn]:
        from ..companion.engines.contract import Sampling
        from ..knowledge.comet import LONGEST, Drawn

        steady = Sampling(temperature=0.0, max_tokens=LONGEST, stop=("\n",))
        varied = Sampling(temperature=0.8, top_p=0.9, max_tokens=LONGEST, stop=("\n",))
        made = self._engine.candidates(prompt, 1, steady)
        if most > 1:
            made += self._engine.candidates(prompt, most - 1, varied)
        return [Drawn(one.text, math.exp((one.log_probability or 0.0) / max(1, one.tokens))) for one in made]
