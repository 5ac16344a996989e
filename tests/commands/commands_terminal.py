"""`empathia …` as a terminal would see it, without starting a process."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from empathia.cli import main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


def empathia(*arguments: str | Path, stdin: bytes = b"") -> Said:
    """What a command says; an exception that would be a traceback is let through."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code = 0
    with (
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return Said(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())


def answered(*arguments: str | Path, stdin: bytes = b"") -> str:
    """The output of a command that must succeed."""
    said = empathia(*arguments, stdin=stdin)
    assert said.code == 0, said.err
    return said.out


def refused(code: int, *arguments: str | Path, stdin: bytes = b"") -> str:
    """The one line on standard error of a command that must fail with `code`."""
    said = empathia(*arguments, stdin=stdin)
    assert said.code == code, said
    assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("empathia: "), said
    return said.err
