"""From a corpus to encoded splits, a vocabulary and starting word vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from ..core.errors import BadConfig, MissingFile
from ..core.types import Dialogue, Example
from ..corpora import load
from ..models.base import EmpatheticModel
from ..text.batches import Encoded
from ..text.vectors import find_vectors, fit, read_vectors
from ..text.vocabulary import Codec, Vocabulary
from .evidence import with_evidence
from .recipe import BaseRecipe, Data

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Split:
    examples: list[Example]
    encoded: list[Encoded]

    def __len__(self) -> int:
        return len(self.encoded)

    def first(self, count: int | None) -> Split:
        return Split(self.examples[:count], self.encoded[:count])


def build_vocabulary(data: Data) -> Vocabulary:
    """From the training split, or from all of them, situations included, as the released systems do."""
    splits = SPLITS if data.vocabulary == "all" else SPLITS[:1]
    corpora = (data.corpus, *(name for name in data.words_of if name != data.corpus))
    dialogues = (d for corpus in corpora for split in splits for d in _dialogues(corpus, split))
    return Vocabulary.build(_texts(dialogues), data.min_count)


def _texts(dialogues: Iterator[Dialogue]) -> Iterator[str]:
    for dialogue in dialogues:
        yield from (turn.text for turn in dialogue.turns)
        if dialogue.situation:
            yield dialogue.situation


def _dialogues(corpus: str, split: str) -> list[Dialogue]:
    found = [row if isinstance(row, Dialogue) else getattr(row, "dialogue", None) for row in load(corpus, split)]
    dialogues = [row for row in found if row is not None]
    if found and not dialogues:
        raise BadConfig(f"'{corpus}' holds no dialogues to train on", "set data.corpus=empathetic-dialogues")
    return dialogues


def read_examples(data: Data, split: str) -> list[Example]:
    """A split's examples, with the evidence that the recipe names."""
    examples = [example for dialogue in _dialogues(data.corpus, split) for example in dialogue.examples()]
    return with_evidence(examples, data.evidence, data.corpus, split)


def read_split(recipe: BaseRecipe, split: str, codec: Codec) -> Split:
    encoder = recipe.encoder(codec)
    examples = read_examples(recipe.data, split)
    return Split(examples, [encoder.example(e) for e in examples])


def start_vectors(model: EmpatheticModel, vocabulary: Vocabulary, data: Data, seed: int) -> str:
    """Put pretrained word vectors into the model where there are any; returns what was done, for the card."""
    if data.vectors == "none":
        return "random word vectors"
    try:
        path = find_vectors() if data.vectors == "auto" else Path(data.vectors)
    except MissingFile as missing:
        return f"random word vectors ({missing})"
    width = model.config.blocks.width
    fitted = fit(read_vectors(path, vocabulary.words), vocabulary.words, width, seed)
    with torch.no_grad():
        table = model.embedding.words.weight
        table.copy_(torch.from_numpy(fitted.matrix_VD))
        if data.vector_norm:
            table *= data.vector_norm / table.norm(dim=1).mean()
        table[vocabulary.pad] = 0
    return str(fitted)
