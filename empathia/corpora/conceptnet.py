"""ConceptNet CN-100K (Li et al., 2016): the part of ConceptNet that knowledge-base completion is tried on.

Read from `SPLIT.txt` or from the authors' gzipped files (dev1 and dev2 are the split `valid`): relation,
head, tail and, in the latter, a score. In the dev and test files a score of 0 marks a false tuple, made for
classification; those are passed over.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from ..core.errors import BadFile
from .base import Corpus, Files, Refuse, Source
from .rows import decoded, numbered, text_lines
from .tuples import labels, measures, tabbed, tuples
from .types import KnowledgeTuple

ARCHIVES = {"train": ("train100k.txt.gz",), "valid": ("dev1.txt.gz", "dev2.txt.gz"), "test": ("test.txt.gz",)}
AUTHORS = "https://ttic.uchicago.edu/~kgimpel/comsense_resources"
FALSE = ("0", "0.0")


def read(files: Files, split: str, refuse: Refuse) -> list[KnowledgeTuple]:
    flat = files.find(f"{split}.txt")
    if flat is not None:
        lines = [(flat, text_lines(flat, refuse))]
    else:
        lines = [(path, numbered(_gunzipped(path, refuse))) for path in map(files.need, ARCHIVES[split])]
    found: list[KnowledgeTuple] = []
    for path, texts in lines:
        rows = tabbed(texts, path, (3, 4), refuse)
        true = ((line, (f[1], f[0], f[2])) for line, f in rows if len(f) == 3 or f[3].strip() not in FALSE)
        found += tuples(true, path, refuse)
    return found


def _gunzipped(path: Path, refuse: Refuse) -> str:
    try:
        return decoded(gzip.decompress(path.read_bytes()), path, refuse)
    except (OSError, EOFError) as error:
        hint = "delete it and run: empathia data get conceptnet"
        raise BadFile(path, f"not a whole .gz file: {error}", hint=hint) from error


CORPUS = Corpus(
    name="conceptnet",
    title="ConceptNet CN-100K",
    citation="Li et al. (2016), Commonsense Knowledge Base Completion, ACL",
    licence="CC BY-SA",
    folder="conceptnet",
    splits=("train", "valid", "test"),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="relation",
    sources=tuple(Source(name, f"{AUTHORS}/{name}") for names in ARCHIVES.values() for name in names),
    instead=("train.txt", "valid.txt", "test.txt"),
)
