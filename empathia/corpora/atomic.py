"""ATOMIC (Sap et al., 2019) and ATOMIC-2020 (Hwang et al., 2021): what follows from everyday events.

Read from `atomic.tsv` (head, relation, tail, split, with that header) or from ATOMIC-2020's own archive,
whose dev and test files are the split `heldout`, not to be trained on. The archive says «no inference» by
the tail `none` or an empty one; such rows carry no knowledge and are passed over.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from ..core.errors import BadFile
from .base import Corpus, Files, Refuse, Source
from .rows import decoded, numbered, text_lines
from .tuples import labels, measures, tabbed, tuples
from .types import KnowledgeTuple

ARCHIVE = "atomic2020_data-feb2021.zip"
MEMBERS = {"train": ("train.tsv",), "heldout": ("dev.tsv", "test.tsv")}
COLUMNS = ["head", "relation", "tail", "split"]


def read(files: Files, split: str, refuse: Refuse) -> list[KnowledgeTuple]:
    flat = files.find("atomic.tsv")
    if flat is not None:
        return _flat(flat, split, refuse)
    archive = files.need(ARCHIVE)
    found: list[KnowledgeTuple] = []
    for path, text in _members(archive, MEMBERS[split], refuse):
        rows = tabbed(numbered(text), path, (3,), refuse)
        said = ((line, (f[0], f[1], f[2])) for line, f in rows if f[2].strip() not in ("", "none"))
        found += tuples(said, path, refuse)
    return found


def _flat(path: Path, split: str, refuse: Refuse) -> list[KnowledgeTuple]:
    rows = tabbed(text_lines(path, refuse), path, (len(COLUMNS),), refuse)
    first = next(rows, None)
    if first is None or first[1] != COLUMNS:
        raise BadFile(path, f"the first line must name the columns {', '.join(COLUMNS)}", line=1)
    return list(tuples(((line, (f[0], f[1], f[2])) for line, f in rows if f[3] == split), path, refuse))


def _members(archive: Path, names: tuple[str, ...], refuse: Refuse) -> list[tuple[Path, str]]:
    try:
        with zipfile.ZipFile(archive) as bundle:
            inside = {Path(name).name: name for name in bundle.namelist() if not name.startswith("__MACOSX")}
            paths = [archive / inside[name] for name in names]
            return [(path, decoded(bundle.read(inside[path.name]), path, refuse)) for path in paths]
    except (zipfile.BadZipFile, KeyError) as error:
        hint = "delete it and run: empathia data get atomic"
        raise BadFile(archive, f"not the archive it should be: {error}", hint=hint) from error


CORPUS = Corpus(
    name="atomic",
    title="ATOMIC and ATOMIC-2020",
    citation="Hwang et al. (2021), (Comet-)Atomic 2020, AAAI; Sap et al. (2019), ATOMIC, AAAI",
    licence="CC BY",
    folder="atomic",
    splits=("train", "heldout"),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="relation",
    sources=(Source(ARCHIVE, f"https://ai2-atomic.s3-us-west-2.amazonaws.com/data/{ARCHIVE}"),),
    instead=("atomic.tsv",),
)
