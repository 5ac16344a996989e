"""The board: every recorded figure of the project, quality or speed, beside what was published.

`benchmarks/results/<topic>.json` is a list of objects with `name`, `value`, `unit`, `signature`,
`command` and `commit`, written by the command that measured them. A figure is known by its name
(`mime/bleu_4`: system, slash, metric) and signature; measuring it again replaces it.
`benchmarks/published.json` holds, under the same names, what papers and released files report.
"""

from __future__ import annotations

import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..core.errors import BadFile, BadInput, MissingFile, nearest
from ..core.files import read_json, write_json
from ..core.locks import locked
from ..core.places import data, home, runs
from ..core.types import Score

_REQUIRED = {"name": str, "value": (int, float), "unit": str, "signature": str, "command": str, "commit": str}
_VARIANT = re.compile(r"(-released)?(-(greedy|beam\d+|sample))?(?=/)")
_PUBLISHED = {"name": str, "value": (int, float), "source": str}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number on the board."""

    name: str
    value: float
    unit: str
    signature: str
    command: str
    commit: str
    low: float | None = None
    high: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, six digits of each number, unset bounds left out."""
        row = {key: value for key, value in asdict(self).items() if value is not None}
        return {key: float(f"{value:.6g}") if isinstance(value, float) else value for key, value in row.items()}


@dataclass(frozen=True, slots=True)
class Published:
    """What a paper's table or a released file says for the same name."""

    name: str
    value: float
    source: str
    note: str = ""


def record(
    topic: str,
    name: str,
    value: float,
    unit: str,
    signature: str,
    command: str | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    folder: Path | None = None,
) -> Path:
    """Put one figure on the board and return its file; `command` defaults to the running one."""
    figure = Figure(name, value, unit, signature, command or running_command(), commit_of(folder), low, high)
    return record_all(topic, [figure], folder)


def record_scores(
    topic: str, system: str, scores: Iterable[Score], command: str | None = None, folder: Path | None = None
) -> Path:
    """Put a system's scores on the board, each as `system/metric`."""
    command, commit = command or running_command(), commit_of(folder)
    figures = [
        Figure(f"{system}/{s.name}", s.value, unit_of(s), s.signature, command, commit, s.low, s.high) for s in scores
    ]
    return record_all(topic, figures, folder)


def record_all(topic: str, figures: Sequence[Figure], folder: Path | None = None) -> Path:
    """Add figures to a topic, each in place of the one with its name and signature."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", topic):
        raise BadInput(f"'{topic}' cannot be a topic", "use lower-case letters, digits, - and _")
    for figure in figures:
        if not math.isfinite(figure.value):
            raise BadInput(f"{figure.name} is not a finite number: {figure.value}")
    path = results_folder(folder) / f"{topic}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        known = {(f.name, f.signature): f for f in (read_topic(path) if path.exists() else [])}
        known |= {(f.name, f.signature): f for f in figures}
        write_json(path, [known[key].as_dict() for key in sorted(known)])
    return path


def read_board(topic: str | None = None, folder: Path | None = None) -> dict[str, list[Figure]]:
    """Topic → its figures, all topics or one."""
    results = results_folder(folder)
    files = {path.stem: path for path in sorted(results.glob("*.json"))}
    if topic is not None:
        if topic not in files:
            raise MissingFile(f"no topic '{topic}' on the board", nearest(topic, files) if files else "it is empty")
        files = {topic: files[topic]}
    return {name: read_topic(path) for name, path in files.items()}


def read_topic(path: Path) -> list[Figure]:
    return [Figure(**row) for row in _rows(path, _REQUIRED, Figure.__slots__)]


def read_published(folder: Path | None = None) -> dict[str, list[Published]]:
    """Name → what was published under it, in the order of the file; none where there is no such file."""
    path = results_folder(folder).parent / "published.json"
    found: dict[str, list[Published]] = {}
    for row in _rows(path, _PUBLISHED, Published.__slots__) if path.exists() else []:
        found.setdefault(row["name"], []).append(Published(**row))
    return found


def published_for(name: str, published: Mapping[str, Sequence[Published]]) -> list[Published]:
    """What was published for a figure: under its own name, and under the system's without `-released` and decoder.

    Papers seldom say how they decoded, so `mime-beam5/bleu_4` stands beside what they give for `mime/bleu_4`.
    """
    plain = _VARIANT.sub("", name)
    return [found for key in dict.fromkeys([name, plain]) for found in published.get(key, [])]


def results_folder(folder: Path | None = None) -> Path:
    """`benchmarks/results` of the repository at `folder`, else of the one around the working directory."""
    if folder is not None:
        return Path(folder) / "benchmarks" / "results"
    here = Path.cwd()
    for place in (here, *here.parents):
        if (place / "benchmarks").is_dir():
            return place / "benchmarks" / "results"
    raise MissingFile("no benchmarks folder here or above", "run this inside a clone of empathia")


def unit_of(score: Score) -> str:
    """A score's unit as its signature states it; BLEU is in percent, everything else a plain number."""
    stated = re.search(r"(?:^|\|)unit:([^|]+)", score.signature)
    if stated:
        return stated.group(1)
    return "%" if score.name.startswith("bleu") else ""


def running_command() -> str:
    """The command line of this process as one could type it again, free of this machine's folders."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        started = ["python", "-m", program.parent.name]
    else:
        started = ["python", _portable(str(program))] if program.suffix == ".py" else [program.name]
    return " ".join([*started, *(_portable(argument) for argument in sys.argv[1:])])


def commit_of(folder: Path | None = None) -> str:
    """The commit the code stands at, with `+` if tracked files (results aside) differ from it."""
    where = results_folder(folder).parent.parent
    head = _git(where, "rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    changed = _git(where, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results")
    return head + ("+" if changed else "")


def _portable(argument: str) -> str:
    """An argument, quoted; an absolute path in it relative to here or to the variable it lies below, else its name."""
    option, equals, value = argument.rpartition("=")
    path = Path(value)
    if not path.is_absolute():
        return shlex.quote(argument)
    known = [("", Path.cwd()), ("$EMPATHIA_RUNS/", runs()), ("$EMPATHIA_DATA/", data()), ("$EMPATHIA_HOME/", home())]
    for prefix, folder in known:
        if path.is_relative_to(folder):
            return option + equals + prefix + shlex.quote(str(path.relative_to(folder)))
    return option + equals + shlex.quote(path.name)


def _rows(path: Path, required: Mapping[str, Any], known: Iterable[str]) -> list[dict[str, Any]]:
    rows = read_json(path)
    if not isinstance(rows, list):
        raise BadFile(path, "expected a list of objects")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise BadFile(path, f"entry {number} is not an object")
        for key, kind in required.items():
            if not isinstance(row.get(key), kind):
                raise BadFile(path, f"entry {number} needs '{key}'", column=key)
        extra = row.keys() - set(known)
        if extra:
            raise BadFile(path, f"entry {number} has an unknown field '{min(extra)}'", hint=nearest(min(extra), known))
    return rows


def _git(where: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=where, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
