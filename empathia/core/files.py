"""Reading and writing files so that nothing is half-written and every bad line is named."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .errors import BadFile, EmpathiaError, MissingFile


@contextmanager
def atomic(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file that appears under `path` whole, or not at all."""
    made = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        made = Path(name)
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        umask = os.umask(0)
        os.umask(umask)
        made.chmod(0o666 & ~umask)
        made.replace(path)
    except OSError as error:
        raise EmpathiaError(
            f"cannot write {path}: {error.strerror or error}", "free some space or choose another folder"
        ) from error
    finally:
        if made is not None:
            made.unlink(missing_ok=True)


def existing(path: Path | str, hint: str = "check the path") -> Path:
    path = Path(path)
    if not path.exists():
        raise MissingFile(f"no such file: {path}", hint)
    return path


def write_json(path: Path, value: Any) -> None:
    with atomic(path) as out:
        json.dump(value, out, indent=2, ensure_ascii=False)
        out.write("\n")


def read_json(path: Path) -> Any:
    try:
        return json.loads(existing(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise BadFile(path, f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except UnicodeDecodeError as error:
        raise BadFile(path, f"not UTF-8 at byte {error.start}") from error


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with atomic(path) as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def json_line(name: Path | str, number: int, raw: bytes) -> Any:
    """The value on one line of `name`; what is no JSON is told with its place."""
    try:
        return json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadFile(name, "not UTF-8", line=number, column=error.start + 1) from error
    except json.JSONDecodeError as error:
        raise BadFile(name, f"not JSON: {error.msg}", line=number, column=error.colno) from error


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each non-empty line; anything but a JSON object is named and refused."""
    with existing(path).open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            if not raw.strip():
                continue
            row = json_line(path, number, raw)
            if not isinstance(row, dict):
                raise BadFile(path, "expected a JSON object on each line", line=number)
            yield number, row
