"""Errors that tell the user what to do next.

Anything a user can cause raises `EmpathiaError`; the command line prints it as one line and exits with
its code, so a traceback always means a bug of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class EmpathiaError(Exception):
    """A user's mistake or a missing thing: `message` says what is wrong, `hint` what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class BadInput(EmpathiaError):
    """Text, a flag or a value that cannot be used."""

    exit_code = 2


class BadConfig(EmpathiaError):
    """A recipe or override that does not fit."""

    exit_code = 2


class MissingFile(EmpathiaError):
    """Something that must be on disk is not."""

    exit_code = 3


class BadFile(EmpathiaError):
    """A file that is there but wrong; names the file, and the line and column where there are any."""

    exit_code = 4

    def __init__(
        self,
        path: Path | str,
        problem: str,
        *,
        line: int | None = None,
        column: str | int | None = None,
        hint: str = "",
    ) -> None:
        where = str(path)
        if line is not None:
            where += f", line {line}"
        if column is not None:
            where += f", column {column}"
        super().__init__(f"{where}: {problem}", hint)
        self.path, self.line, self.column = Path(path), line, column


class DownloadFailed(EmpathiaError):
    """The network did not give what was asked for."""

    exit_code = 5


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: «did you mean …?» with the closest known one, else all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else "known: " + ", ".join(known)
