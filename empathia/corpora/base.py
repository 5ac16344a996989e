"""What a corpus is: its card, its files on this machine, and how bad rows in them are met."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import places
from ..core.errors import BadFile, BadInput, EmpathiaError, MissingFile, nearest

#: Called with what is wrong in a row: `strict` raises it, a list's `append` notes it and reading goes on.
Refuse = Callable[[BadFile], None]


def strict(problem: BadFile) -> None:
    problem.hint = problem.hint or "mend the row, or pass --lenient to leave such rows out"
    raise problem


@dataclass(frozen=True, slots=True)
class Source:
    """One file at its authors' public address. `sha256` only where someone has verified it."""

    file: str
    address: str
    sha256: str | None = None


@dataclass(frozen=True)
class Corpus:
    """A published corpus. `read(files, split, refuse)` gives its rows; `measures` and `labels` count them."""

    name: str
    title: str
    citation: str
    licence: str
    folder: str
    splits: tuple[str, ...]
    read: Callable[[Files, str, Refuse], list[Any]]
    measures: Callable[[list[Any]], Mapping[str, float]]
    labels: Callable[[Any], Iterable[str]]
    label_kind: str
    sources: tuple[Source, ...]
    instead: tuple[str, ...] = ()  # files that `read` takes in place of the sources' own, if all are there
    by_hand: str = ""  # where a person can get it otherwise

    @property
    def files(self) -> Files:
        return Files(self.name, self.folder)

    def here(self) -> Path | None:
        """The folder that holds the corpus, if some folder does."""
        for names in (self.instead, tuple(source.file for source in self.sources)):
            paths = [self.files.find(name) for name in names]
            if names and all(paths):
                return next(root / self.folder for root in roots() if (root / self.folder / names[0]).is_file())
        return None

    def load(self, split: str, lenient: bool = False, skipped: list[BadFile] | None = None) -> list[Any]:
        """The rows of one split. Lenient reading leaves bad rows out and appends what was wrong to `skipped`."""
        if split not in self.splits:
            raise BadInput(f"{self.name} has no split '{split}'", nearest(split, self.splits))
        if not lenient:
            return self.read(self.files, split, strict)
        return self.read(self.files, split, (skipped if skipped is not None else []).append)


@dataclass(frozen=True, slots=True)
class Files:
    """A corpus' files: below `EMPATHIA_DATA` first, then below `EMPATHIA_HOME/data`, where downloads go
    when the former cannot be written to."""

    corpus: str
    folder: str

    def find(self, name: str) -> Path | None:
        for root in roots():
            if (root / self.folder / name).is_file():
                return root / self.folder / name
        return None

    def need(self, name: str) -> Path:
        path = self.find(name)
        if path is None:
            wanted = places.data() / self.folder / name
            raise MissingFile(
                f"{self.corpus} is not here: no {wanted}",
                f"run: empathia data get {self.corpus} (or set EMPATHIA_DATA to the folder that holds {self.folder}/)",
            )
        return path


def roots() -> tuple[Path, ...]:
    """The folders corpora are looked for in, in order."""
    return tuple(dict.fromkeys((places.data(), places.home() / "data")))


def writable_root() -> Path:
    """Where a download goes: the data folder, or `EMPATHIA_HOME/data` when that one is read-only.

    The permission bits count even for root: a folder without any write bit is meant to stay as it is.
    """
    for root in roots():
        nearest_there = root
        while not nearest_there.exists() and nearest_there != nearest_there.parent:
            nearest_there = nearest_there.parent
        if nearest_there.is_dir() and nearest_there.stat().st_mode & 0o222 and os.access(nearest_there, os.W_OK):
            return root
    raise EmpathiaError(f"cannot write to {roots()[-1]}", "set EMPATHIA_HOME to a folder you can write to")
