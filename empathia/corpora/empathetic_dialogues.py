"""EmpatheticDialogues (Rashkin et al., 2019): 25 k conversations, each grounded in one of 32 emotions.

The official files write commas as `_comma_` and quote nothing: a `"` is a character like any other, and a
CSV reader that believes in quotes silently glues rows together. Re-saved copies quote properly. Both are
read; see `_rows`.

Who speaks: `speaker_idx` is a participant's number, not a role, so the speaker (the one who tells what
happened) is whoever utters the first turn and the other is the listener.

Turns stay as published, one per row, in order of `utterance_idx`. In the published splits speaker and
listener always alternate; should a file hold two successive turns of one participant they are kept apart,
so that turn *i* of a dialogue is always row *i* of its conversation (which the per-utterance labels in
`intents.csv` rely on), and each listener turn after the first turn remains one example.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..core.errors import BadFile, MissingFile
from ..core.taxonomy import EMOTIONS
from ..core.types import Dialogue, Turn
from .base import Corpus, Files, Refuse, Source
from .counts import of_dialogues
from .rows import csv_rows, decoded, quoted

ARCHIVE = "empatheticdialogues.tar.gz"
COLUMNS = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags")
#: The official valid and test rows may carry a ninth, unnamed field: retrieval candidates.
WIDTHS = (len(COLUMNS), len(COLUMNS) + 1)

_KNOWN = frozenset(EMOTIONS)
_QUOTED_LINE = re.compile(r'(?:[^",]*|"(?:[^"]|"")*")(?:,(?:[^",]*|"(?:[^"]|"")*"))*')

_Row = tuple[int, int, list[str]]  # utterance_idx, line, fields


def read(files: Files, split: str, refuse: Refuse) -> list[Dialogue]:
    """The conversations of one split. A conversation that holds a bad row is left out whole when lenient."""
    path, text = _text(files, split, refuse)
    conversations: dict[str, list[_Row]] = {}
    spoilt: set[str] = set()
    for line, row in _rows(text, path, refuse):
        problem = _problem(row)
        if problem is None:
            conversations.setdefault(row[0], []).append((int(row[1]), line, row))
        else:
            spoilt.add(row[0])
            refuse(BadFile(path, problem[1], line=line, column=problem[0]))
    dialogues = []
    for name, rows in conversations.items():
        if name not in spoilt:
            dialogue = _dialogue(name, rows, path, refuse)
            if dialogue is not None:
                dialogues.append(dialogue)
    return dialogues


def _text(files: Files, split: str, refuse: Refuse) -> tuple[Path, str]:
    """A split's text from its csv or, failing that, from inside the official archive."""
    plain = files.find(f"{split}.csv")
    if plain is not None:
        return plain, decoded(plain.read_bytes(), plain, refuse)
    archive = files.find(ARCHIVE)
    if archive is None:
        files.need(f"{split}.csv")
        raise AssertionError("need() raises for a file that find() does not find")
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and Path(member.name).name == f"{split}.csv":
                    handle = tar.extractfile(member)
                    assert handle is not None  # a plain file, as just asked
                    inside = archive / member.name
                    return inside, decoded(handle.read(), inside, refuse)
    except (tarfile.TarError, EOFError, OSError) as error:
        hint = "delete it and run: empathia data get empathetic-dialogues"
        raise BadFile(archive, f"not a whole tar.gz: {error}", hint=hint) from error
    raise MissingFile(f"{archive} holds no {split}.csv", "delete it and run: empathia data get empathetic-dialogues")


def _rows(text: str, path: Path, refuse: Refuse) -> Iterator[tuple[int, list[str]]]:
    """Data rows with their lines, by the file's own dialect.

    A writer of quoted CSV quotes every field that holds a `"`. So a row of the right width with a `"` inside
    an unquoted field betrays the official dialect, where one line is one row; and so does a stray `"` anywhere
    if every line has the right width.
    """
    lines = text.split("\n")
    suspect = (line.rstrip("\r") for line in lines if '"' in line)
    stray = [line.split(",") for line in suspect if not _QUOTED_LINE.fullmatch(line)]
    official = any(_bare_quotes(row) for row in stray) or all(line.count(",") + 1 in WIDTHS for line in lines if line)
    rows = _plain_rows(lines) if stray and official else csv_rows(text, path, refuse)
    first = next(rows, None)
    if first is None or tuple(first[1][: len(COLUMNS)]) != COLUMNS:
        raise BadFile(path, f"the first line must name the columns {','.join(COLUMNS)}", line=1)
    yield from rows


def _plain_rows(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r")
        if line:
            yield number, line.split(",")


def _bare_quotes(row: list[str]) -> bool:
    bare = any('"' in field.replace('""', "") and not field.startswith('"') for field in row)
    return bare and len(row) in WIDTHS


def _problem(row: list[str]) -> tuple[str, str] | None:
    """The column at fault and what is wrong with it, if anything is."""
    if len(row) not in WIDTHS:
        at = COLUMNS[len(row)] if len(row) < len(COLUMNS) else str(len(COLUMNS) + 1)
        return at, f"{len(row)} fields where {len(COLUMNS)} are expected"
    if not row[0].strip():
        return "conv_id", "is empty"
    if not row[1].isdecimal():
        return "utterance_idx", f"{quoted(row[1])} is not a number"
    if row[2] not in _KNOWN:
        return "context", f"{quoted(row[2])} is not one of the 32 emotions"
    if not row[4].strip():
        return "speaker_idx", "is empty"
    if not row[5].strip():
        return "utterance", "is empty"
    return None


def _dialogue(name: str, rows: list[_Row], path: Path, refuse: Refuse) -> Dialogue | None:
    rows.sort(key=lambda row: row[0])
    _, _, opening = rows[0]
    teller, emotion, situation = opening[4], opening[2], opening[3]
    other, before = None, None
    turns = []
    for number, line, row in rows:
        if number == before:
            refuse(BadFile(path, f"turn {number} of {quoted(name)} is there twice", line=line, column="utterance_idx"))
            return None
        if row[2] != emotion:
            refuse(BadFile(path, f"'{row[2]}', but {quoted(name)} began as '{emotion}'", line=line, column="context"))
            return None
        if row[4] != teller:
            other = other or row[4]
            if row[4] != other:
                refuse(BadFile(path, f"a third participant in {quoted(name)}", line=line, column="speaker_idx"))
                return None
        turns.append(Turn("speaker" if row[4] == teller else "listener", _commas(row[5])))
        before = number
    return Dialogue(name, tuple(turns), emotion, _commas(situation))


def _commas(text: str) -> str:
    return text.replace("_comma_", ",").strip() if "_comma_" in text else text.strip()


def measures(dialogues: list[Dialogue]) -> Mapping[str, float]:
    return {**of_dialogues(dialogues), "emotions": len({d.emotion for d in dialogues})}


def labels(dialogue: Dialogue) -> Iterable[str]:
    return (dialogue.emotion,) if dialogue.emotion else ()


CORPUS = Corpus(
    name="empathetic-dialogues",
    title="EmpatheticDialogues",
    citation="Rashkin et al. (2019), Towards Empathetic Open-domain Conversation Models, ACL",
    licence="CC BY-NC 4.0",
    folder="empatheticdialogues",
    splits=("train", "valid", "test"),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="emotion",
    sources=(Source(ARCHIVE, "https://dl.fbaipublicfiles.com/parlai/empatheticdialogues/empatheticdialogues.tar.gz"),),
    instead=("train.csv", "valid.csv", "test.csv"),
)
