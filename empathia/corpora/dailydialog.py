"""DailyDialog (Li et al., 2017): everyday conversations with an act and an emotion per turn.

Three parallel text files a split, one conversation a line; `__eou__` ends each turn. The participants simply
take turns: the first is the speaker, the other the listener. Read from the files, or from the authors'
archive, which holds a further archive per split.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..core.errors import BadFile
from ..core.types import Dialogue, Turn
from .base import Corpus, Files, Refuse, Source
from .counts import of_dialogues
from .rows import decoded, quoted
from .types import ActDialogue

ARCHIVE = "ijcnlp_dailydialog.zip"
ACTS = ("inform", "question", "directive", "commissive")  # numbered from 1
EMOTIONS = ("neutral", "anger", "disgust", "fear", "happiness", "sadness", "surprise")  # numbered from 0
NAMES = {"train": "train", "valid": "validation", "test": "test"}
KINDS = ("", "act_", "emotion_")


def read(files: Files, split: str, refuse: Refuse) -> list[ActDialogue]:
    paths, texts = zip(*_texts(files, NAMES[split], refuse), strict=True)
    lines = [text.rstrip("\n").split("\n") for text in texts]
    for path, other in zip(paths[1:], lines[1:], strict=True):
        if len(other) != len(lines[0]):
            raise BadFile(path, f"{len(other):,} lines where {paths[0].name} has {len(lines[0]):,}")
    dialogues = []
    for number, (words, acts, emotions) in enumerate(zip(*lines, strict=True), 1):
        try:
            dialogues.append(_dialogue(f"{split}:{number}", number, (words, acts, emotions), paths))
        except BadFile as problem:
            refuse(problem)
    return dialogues


def _texts(files: Files, name: str, refuse: Refuse) -> list[tuple[Path, str]]:
    wanted = [f"dialogues_{kind}{name}.txt" for kind in KINDS]
    archive = files.find(ARCHIVE)
    if archive is None or files.find(wanted[0]) is not None:
        return [(path, decoded(path.read_bytes(), path, refuse)) for path in map(files.need, wanted)]
    try:
        with zipfile.ZipFile(archive) as outer:
            inner = next(member for member in outer.namelist() if Path(member).name == f"{name}.zip")
            with zipfile.ZipFile(io.BytesIO(outer.read(inner))) as bundle:
                members = {Path(member).name: member for member in bundle.namelist()}
                paths = [archive / inner / file for file in wanted]
                return [(path, decoded(bundle.read(members[path.name]), path, refuse)) for path in paths]
    except (zipfile.BadZipFile, StopIteration, KeyError) as error:
        hint = "delete it and run: empathia data get dailydialog"
        raise BadFile(archive, f"not the archive it should be: {error}", hint=hint) from error


def _dialogue(name: str, line: int, rows: tuple[str, str, str], paths: tuple[Path, ...]) -> ActDialogue:
    texts = [text.strip() for text in rows[0].split("__eou__")]
    if texts[-1]:
        raise BadFile(paths[0], "the last turn lacks its __eou__", line=line, column=len(rows[0]))
    texts.pop()
    if not texts or not all(texts):
        raise BadFile(paths[0], "a turn is empty", line=line, column=f"turn {texts.index('') + 1 if texts else 1}")
    acts = _labels(rows[1], ACTS, 1, len(texts), paths[1], line)
    emotions = _labels(rows[2], EMOTIONS, 0, len(texts), paths[2], line)
    turns = tuple(Turn("listener" if i % 2 else "speaker", text) for i, text in enumerate(texts))
    return ActDialogue(Dialogue(name, turns), acts, emotions)


def _labels(row: str, names: tuple[str, ...], first: int, turns: int, path: Path, line: int) -> tuple[str, ...]:
    numbers = row.split()
    if len(numbers) != turns:
        raise BadFile(path, f"{len(numbers)} labels for {turns} turns", line=line, column=min(len(numbers), turns) + 1)
    for column, number in enumerate(numbers, 1):
        if not number.isdecimal() or not first <= int(number) < first + len(names):
            raise BadFile(
                path, f"{quoted(number)} is no label from {first} to {first + len(names) - 1}", line=line, column=column
            )
    return tuple(names[int(number) - first] for number in numbers)


def measures(rows: list[ActDialogue]) -> Mapping[str, float]:
    felt = sum(emotion != "neutral" for row in rows for emotion in row.emotions)
    return {**of_dialogues(row.dialogue for row in rows), "turns with emotion": felt}


def labels(row: ActDialogue) -> Iterable[str]:
    return row.emotions


CORPUS = Corpus(
    name="dailydialog",
    title="DailyDialog",
    citation="Li et al. (2017), DailyDialog: A Manually Labelled Multi-turn Dialogue Dataset, IJCNLP",
    licence="CC BY-NC-SA 4.0",
    folder="dailydialog",
    splits=("train", "valid", "test"),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="emotion of a turn",
    sources=(Source(ARCHIVE, f"http://yanran.li/files/{ARCHIVE}"),),
    instead=tuple(f"dialogues_{kind}{name}.txt" for name in NAMES.values() for kind in KINDS),
)
