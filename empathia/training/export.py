"""A small copy of a run, to ship: the commonest words only, half precision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save

from ..core.errors import BadInput
from ..core.files import atomic
from ..text.vocabulary import SPECIALS, Vocabulary
from .checkpoint import weights_of
from .loop import WEIGHTS
from .run import CARD, CONFIG, VOCABULARY, Run


def export(run: Run, folder: Path, words: int) -> Path:
    """Keep the `words` commonest words (ids are ordered by frequency), their vectors and output rows, as float16."""
    if not isinstance(run.vocabulary, Vocabulary):
        raise BadInput(f"'{run.name}' has no words to choose from", "copy its folder as it is")
    size = len(SPECIALS) + words
    if not 0 < words <= run.vocabulary.size - len(SPECIALS):
        raise BadInput(f"the run has {run.vocabulary.size - len(SPECIALS)} words, not {words}", "ask for fewer")
    tables = {"embedding.words.weight", "output.weight", "output.bias", "face.counts_V"}
    tensors = {}
    for name, tensor in weights_of(run.model).items():
        kept = tensor[:size] if name in tables else tensor
        tensors[name] = kept.to(torch.float16).contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    Vocabulary(run.vocabulary.words[len(SPECIALS) : size]).save(folder / VOCABULARY)
    data = replace(run.recipe.data, vectors="none")
    with atomic(folder / CONFIG) as out:
        out.write(replace(run.recipe, data=data).dump())
    with atomic(folder / WEIGHTS, "wb") as out:
        out.write(save(tensors))
    card = run.folder / CARD
    told = card.read_text(encoding="utf-8") if card.exists() else f"# {run.name}\n"
    with atomic(folder / CARD) as out:
        out.write(f"{told}\nThis copy: the {words} commonest words, float16; made by `empathia export`.\n")
    return folder
