"""Rows of text files, each with the physical line it starts on, so that a bad one can be named.

Only `\\n` ends a line here: the corpora hold U+2028, U+0085 and other characters that `str.splitlines`
would cut at.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.errors import BadFile
from .base import Refuse


def decoded(raw: bytes, path: Path | str, refuse: Refuse) -> str:
    """UTF-8 text without a byte-order mark. A line with bad bytes is refused and, if reading goes on, blank."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        lines = raw.split(b"\n")
        for i, line in enumerate(lines):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                refuse(BadFile(path, "not UTF-8", line=i + 1, column=error.start + 1))
                lines[i] = b""
        return b"\n".join(lines).decode("utf-8-sig")


def quoted(value: object) -> str:
    """A value as an error message shows it: short, on one line."""
    text = " ".join(str(value).split())
    return f"'{text}'" if len(text) <= 40 else f"'{text[:39]}…'"


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each non-empty line."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def text_lines(path: Path, refuse: Refuse) -> Iterator[tuple[int, str]]:
    return numbered(decoded(path.read_bytes(), path, refuse))


def json_lines(path: Path, refuse: Refuse) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON object on each non-empty line."""
    for number, line in text_lines(path, refuse):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            refuse(BadFile(path, f"not JSON: {error.msg}", line=number, column=error.colno))
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            refuse(BadFile(path, "not a JSON object", line=number, column=1))


def csv_rows(text: str, path: Path | str, refuse: Refuse) -> Iterator[tuple[int, list[str]]]:
    """Rows of a quoted CSV and the line each starts on, however many lines its quoted fields span."""
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True)
    start = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            refuse(BadFile(path, f"not CSV: {error}", line=start))
        else:
            if row:
                yield start, row
        start = reader.line_num + 1


def csv_table(text: str, path: Path | str, columns: tuple[str, ...], refuse: Refuse) -> Iterator[tuple[int, list[str]]]:
    """Rows of a CSV that names exactly `columns`; a row of another width is refused."""
    rows = csv_rows(text, path, refuse)
    first = next(rows, None)
    if first is None or tuple(first[1]) != columns:
        raise BadFile(path, f"the first line must name the columns {','.join(columns)}", line=1)
    for line, row in rows:
        if len(row) == len(columns):
            yield line, row
        else:
            at = columns[len(row)] if len(row) < len(columns) else len(columns) + 1
            refuse(BadFile(path, f"{len(row)} fields where {len(columns)} are expected", line=line, column=at))
