"""Cause turns for EmpatheticDialogues' valid and test splits (Gao et al., 2021).

Machine-made: the authors trained a detector on RECCON and applied it. One JSON object a line: `utters` (the
tokenised turns), `context` (the emotion), `emotion_cause` (turn numbers from 0) and, where the file has it,
`conv_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..core.errors import BadFile
from ..core.taxonomy import EMOTIONS
from .base import Corpus, Files, Refuse, Source
from .counts import share
from .rows import json_lines, quoted
from .types import DialogueCauses

AUTHORS = "https://raw.githubusercontent.com/A-Rain/EmpDialogue_RecEC/9e791b6f12dc00583a754b1a7b5f6bc7d16a8900/Data"


def read(files: Files, split: str, refuse: Refuse) -> list[DialogueCauses]:
    path = files.need(f"{split}.jsonl")
    rows = []
    for line, row in json_lines(path, refuse):
        problem = _problem(row)
        if problem is None:
            words = tuple(tuple(turn) for turn in row["utters"])
            name = row.get("conv_id") or f"{split}:{line}"
            rows.append(DialogueCauses(name, row["context"], words, tuple(row["emotion_cause"])))
        else:
            refuse(BadFile(path, problem[1], line=line, column=problem[0]))
    return rows


def _problem(row: dict[str, Any]) -> tuple[str, str] | None:
    turns, causes = row.get("utters"), row.get("emotion_cause")
    if not isinstance(turns, list) or not all(
        isinstance(t, list) and all(isinstance(w, str) for w in t) for t in turns
    ):
        return "utters", "must be a list of tokenised turns"
    if not isinstance(row.get("conv_id", ""), str):
        return "conv_id", "must be a text"
    if row.get("context") not in EMOTIONS:
        return "context", f"{quoted(row.get('context'))} is not one of the 32 emotions"
    if not isinstance(causes, list) or not all(isinstance(c, int) and 0 <= c < len(turns) for c in causes):
        return "emotion_cause", "must be a list of turn numbers from 0"
    return None


def measures(rows: list[DialogueCauses]) -> Mapping[str, float]:
    causes = sum(len(row.turns) for row in rows)
    return {
        "conversations": len(rows),
        "turns": sum(len(row.words) for row in rows),
        "cause turns": causes,
        "cause turns per conversation": share(causes, len(rows)),
    }


def labels(row: DialogueCauses) -> Iterable[str]:
    return (row.emotion,)


CORPUS = Corpus(
    name="ed-causes",
    title="EmpatheticDialogues, emotion causes (machine-made)",
    citation="Gao et al. (2021), Improving Empathetic Response Generation by Recognizing Emotion Cause, EMNLP Findings",
    licence="research",
    folder="ed_causes",
    splits=("valid", "test"),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="emotion",
    sources=tuple(Source(f"{split}.jsonl", f"{AUTHORS}/{split}_with_cause.json") for split in ("valid", "test")),
)
