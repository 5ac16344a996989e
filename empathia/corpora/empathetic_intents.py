"""EmpatheticIntents (Welivita and Pu, 2020): the training set of the authors' 41-class classifier.

Lines of `id <SEP> text`. The ids follow `core.taxonomy.EMOTIONS_AND_INTENTS`; the published `labels.txt`
gives neutral the id 38, which is questioning's, but the data and the authors' code number it 40, so that
file is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..core.errors import BadFile
from ..core.taxonomy import EMOTIONS_AND_INTENTS
from .base import Corpus, Files, Refuse, Source
from .counts import of_texts
from .rows import quoted, text_lines
from .types import LabelledUtterance

COMMIT = "de8dc61e4b260f81b718e0a73e05b3928f620f2d"
AUTHORS = f"https://raw.githubusercontent.com/anuradha1992/EmpatheticIntents/{COMMIT}/datasets"
SEPARATOR = "<SEP>"


def read(files: Files, split: str, refuse: Refuse) -> list[LabelledUtterance]:
    path = files.need(f"{split}.txt")
    utterances = []
    for line, row in text_lines(path, refuse):
        number, separator, text = row.partition(SEPARATOR)
        number, text = number.strip(), text.strip()
        if not separator:
            refuse(BadFile(path, f"no {SEPARATOR} between id and text", line=line, column=1))
        elif not number.isdecimal() or int(number) >= len(EMOTIONS_AND_INTENTS):
            refuse(BadFile(path, f"{quoted(number)} is not an id from 0 to 40", line=line, column="id"))
        elif not text:
            refuse(BadFile(path, "is empty", line=line, column="text"))
        else:
            utterances.append(LabelledUtterance(f"{split}:{line}", text, EMOTIONS_AND_INTENTS[int(number)]))
    return utterances


def measures(utterances: list[LabelledUtterance]) -> Mapping[str, float]:
    return {**of_texts("utterances", (u.text for u in utterances)), "labels": len({u.label for u in utterances})}


def labels(utterance: LabelledUtterance) -> Iterable[str]:
    return (utterance.label,)


CORPUS = Corpus(
    name="empathetic-intents",
    title="EmpatheticIntents",
    citation="Welivita and Pu (2020), A Taxonomy of Empathetic Response Intents in Human Social Conversations, COLING",
    licence="research",
    folder="empathetic_intents",
    splits=("train", "valid", "test"),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="emotion or intent",
    sources=tuple(Source(f"{split}.txt", f"{AUTHORS}/train_data/{split}.txt") for split in ("train", "valid", "test")),
)
