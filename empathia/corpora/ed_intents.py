"""What EmpatheticIntents' classifier said of every utterance of EmpatheticDialogues: silver labels, not gold.

Read from `intents.csv` (`conv_id,utterance_idx,label`) beside EmpatheticDialogues, or from the authors' 32
files, one per emotion, in `annotated/`; and joined to the conversations of the asked split, so it needs
EmpatheticDialogues too. A row's id is `CONVERSATION#TURN`, as in `Dialogue.examples`.
"""

from __future__ import annotations

from pathlib import Path

from ..core.errors import BadFile
from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS
from . import empathetic_dialogues, empathetic_intents
from .base import Corpus, Files, Refuse, Source
from .rows import csv_table, decoded, quoted
from .types import LabelledUtterance

_KNOWN = frozenset(EMOTIONS_AND_INTENTS)


def read(files: Files, split: str, refuse: Refuse) -> list[LabelledUtterance]:
    flat = files.find("intents.csv")
    if flat is not None:
        labels = _flat(flat, refuse)
    else:
        labels = {}
        for emotion in EMOTIONS:
            labels.update(_by_emotion(files.need(f"annotated/{emotion}.csv"), refuse))
    rows = []
    for dialogue in empathetic_dialogues.read(empathetic_dialogues.CORPUS.files, split, refuse):
        for i, turn in enumerate(dialogue.turns):
            label = labels.get((dialogue.id, i))
            if label is not None:
                rows.append(LabelledUtterance(f"{dialogue.id}#{i}", turn.text, label))
    return rows


def _flat(path: Path, refuse: Refuse) -> dict[tuple[str, int], str]:
    labels = {}
    text = decoded(path.read_bytes(), path, refuse)
    for line, row in csv_table(text, path, ("conv_id", "utterance_idx", "label"), refuse):
        if not row[1].isdecimal() or int(row[1]) < 1:
            refuse(BadFile(path, f"{quoted(row[1])} is not a number from 1", line=line, column="utterance_idx"))
        elif row[2].lower() not in _KNOWN:
            refuse(BadFile(path, f"{quoted(row[2])} is not one of the 41 labels", line=line, column="label"))
        else:
            labels[row[0], int(row[1]) - 1] = row[2].lower()
    return labels


def _by_emotion(path: Path, refuse: Refuse) -> dict[tuple[str, int], str]:
    labels: dict[tuple[str, int], str] = {}
    turns: dict[str, int] = {}
    text = decoded(path.read_bytes(), path, refuse)
    for line, row in csv_table(text, path, ("Dialog_ID", "Type", "Actor", "Text", "Label"), refuse):
        if row[1] != "utterance":  # the situation is labelled too
            continue
        turn = turns.get(row[0], 0)
        turns[row[0]] = turn + 1
        if row[4].lower() in _KNOWN:
            labels[row[0], turn] = row[4].lower()
        else:
            refuse(BadFile(path, f"{quoted(row[4])} is not one of the 41 labels", line=line, column="Label"))
    return labels


_ANNOTATED = f"{empathetic_intents.AUTHORS}/empatheticdialogues_annotated"

CORPUS = Corpus(
    name="ed-intents",
    title="EmpatheticDialogues, intents (silver)",
    citation=empathetic_intents.CORPUS.citation,
    licence="research",
    folder=empathetic_dialogues.CORPUS.folder,
    splits=("train", "valid", "test"),
    read=read,
    measures=empathetic_intents.measures,
    labels=empathetic_intents.labels,
    label_kind="emotion or intent",
    sources=tuple(Source(f"annotated/{emotion}.csv", f"{_ANNOTATED}/{emotion}.csv") for emotion in EMOTIONS),
    instead=("intents.csv",),
)
