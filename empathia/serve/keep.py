"""`--keep FILE`: finished exchanges, one JSON object a line. Without it nothing is stored anywhere.

Conversations in which the guard saw danger are never written, not even their harmless turns.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from ..core.errors import BadInput


class Keep:
    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(self._open())
        except OSError as error:
            raise BadInput(f"cannot write {path}: {error.strerror}", "choose another file for --keep") from error

    def append(self, row: dict[str, Any]) -> None:
        """One line, whole and on the disk when this returns; workers take turns."""
        line = (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8")
        file = self._open()
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file).st_size
            try:
                if os.write(file, line) < len(line):
                    raise OSError("the disk is full")
                os.fsync(file)
            except OSError:
                os.ftruncate(file, size)
                raise
        finally:
            os.close(file)

    def _open(self) -> int:
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
