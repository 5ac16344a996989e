"""RECCON-DD (Poria et al., 2021): DailyDialog conversations with the spans that cause each emotion.

The files count turns from 1; ours count from 0. Evidence `b` (background) means that the cause is not in
the conversation: a `Cause` without a turn. Whoever opens is the speaker, the other the listener. Fifteen
emotion labels are misspelt or of another list (happy, happines, excited, sad, angry, surprised) and are
read as the DailyDialog emotion they stand for. Two causes lie after the turn they explain; they are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import BadFile
from ..core.files import read_json
from ..core.types import Dialogue, Turn
from .base import Corpus, Files, Refuse, Source
from .counts import of_dialogues
from .rows import quoted
from .types import Cause, CauseDialogue

EMOTIONS = ("neutral", "anger", "disgust", "fear", "happiness", "sadness", "surprise")
MEANT = {
    "happy": "happiness",
    "happines": "happiness",
    "excited": "happiness",
    "sad": "sadness",
    "angry": "anger",
    "surprised": "surprise",
}
EVIDENCE, SPANS = "expanded emotion cause evidence", "expanded emotion cause span"
AUTHORS = "https://raw.githubusercontent.com/declare-lab/RECCON/main/data/original_annotation"


def read(files: Files, split: str, refuse: Refuse) -> list[CauseDialogue]:
    path = files.need(f"dailydialog_{split}.json")
    whole = read_json(path)
    if not isinstance(whole, dict):
        raise BadFile(path, "must be one JSON object, dialogues by their ids")
    dialogues = []
    for name, parts in whole.items():
        try:
            dialogues.append(_dialogue(name, parts, path))
        except BadFile as problem:
            refuse(problem)
    return dialogues


def _dialogue(name: str, parts: Any, path: Path) -> CauseDialogue:
    if not isinstance(parts, list) or len(parts) != 1 or not isinstance(parts[0], list) or not parts[0]:
        raise BadFile(path, "must be a list that holds one list of utterances", column=name)
    turns, emotions, causes = [], [], []
    for i, row in enumerate(parts[0]):
        at = f"{name}, turn {i + 1}"
        if not isinstance(row, dict):
            raise BadFile(path, "must be an object", column=at)
        text, emotion = row.get("utterance"), row.get("emotion")
        if not isinstance(text, str) or not text.strip():
            raise BadFile(path, "'utterance' must be a text", column=at)
        emotion = MEANT.get(str(emotion), emotion)
        if emotion not in EMOTIONS:
            raise BadFile(path, f"{quoted(emotion)} is not an emotion of DailyDialog", column=at)
        evidence, spans = row.get(EVIDENCE, []), row.get(SPANS, [])
        if not isinstance(evidence, list) or not isinstance(spans, list) or len(evidence) != len(spans):
            raise BadFile(path, "evidence and spans must be lists of one length", column=at)
        turns.append(Turn("speaker" if row.get("speaker") == parts[0][0].get("speaker") else "listener", text.strip()))
        emotions.append(emotion)
        causes.append(tuple(_cause(e, s, len(parts[0]), path, at) for e, s in zip(evidence, spans, strict=True)))
    return CauseDialogue(Dialogue(name, tuple(turns)), tuple(emotions), tuple(causes))


def _cause(evidence: Any, span: Any, turns: int, path: Path, at: str) -> Cause:
    if evidence == "b":
        return Cause(None, str(span))
    if not isinstance(evidence, int) or not 1 <= evidence <= turns:
        raise BadFile(path, f"evidence {quoted(evidence)} is not a turn from 1 to {turns}, nor 'b'", column=at)
    return Cause(evidence - 1, str(span))


def measures(rows: list[CauseDialogue]) -> Mapping[str, float]:
    return {
        **of_dialogues(row.dialogue for row in rows),
        "turns with causes": sum(bool(causes) for row in rows for causes in row.causes),
        "causes": sum(len(causes) for row in rows for causes in row.causes),
    }


def labels(row: CauseDialogue) -> Iterable[str]:
    return row.emotions


CORPUS = Corpus(
    name="reccon",
    title="RECCON-DD",
    citation="Poria et al. (2021), Recognizing Emotion Cause in Conversations, Cognitive Computation",
    licence="research",
    folder="reccon",
    splits=("train", "valid", "test"),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="emotion of a turn",
    sources=tuple(
        Source(f"dailydialog_{split}.json", f"{AUTHORS}/dailydialog_{split}.json")
        for split in ("train", "valid", "test")
    ),
)
