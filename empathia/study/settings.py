"""`study.toml`: what a study asks, of whom, and how it ends. Written once, readable and editable."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ..core.errors import BadConfig, BadFile, nearest
from ..core.files import atomic, existing
from .designs import ATTRIBUTES, DESIGNS

FILE = "study.toml"

_COMMENTS: Mapping[str, str] = {
    "design": "ratings, ab or bins; fixed when the study was made",
    "attributes": "scales of a ratings study",
    "annotators": "people per item; an A/B item on which they split calls one more",
    "task_size": "items handed out together (MEED2: ten dialogues)",
    "checkpoints": "items of each task that hide the gold reply (MEED2: three)",
    "per_annotator": "most items one person may do; 0 means as many as there are",
    "lease_minutes": "after so many minutes without a click, a task goes to someone else",
    "entry": "links: signed personal links only; address: also an id in the address, as Prolific sends it",
    "id_parameter": "name of that id in the address",
    "completion_url": "where the thank-you page sends people, e.g. Prolific's completion link",
    "screened_url": "where people go who fail the comprehension check twice",
    "contact": "shown at the foot of every page",
    "same_answer": "an annotator is flagged who gave one answer in this share of cases or more",
    "minutes": "a task done faster than this, with fewer bonus points than `bonus`, is flagged (MEED2 5.4.2)",
    "bonus": "bonus points a task must have for its answers to count in a bins study",
}


@dataclass(frozen=True, slots=True)
class Filters:
    same_answer: float = 0.9
    minutes: float = 5.0
    bonus: int = 2


@dataclass(frozen=True, slots=True)
class Settings:
    title: str
    design: str
    annotators: int
    seed: int = 0
    attributes: tuple[str, ...] = ATTRIBUTES
    task_size: int = 1
    checkpoints: int = 0
    per_annotator: int = 0
    lease_minutes: float = 20.0
    entry: str = "links"
    id_parameter: str = "PROLIFIC_PID"
    completion_url: str = ""
    screened_url: str = ""
    contact: str = ""
    check: bool = True
    practice: bool = True
    sampling: str = "all"
    filters: Filters = field(default_factory=Filters)
    systems: Mapping[str, str] = field(default_factory=dict)  # name → the file it came from


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "float": (int, float), "bool": (bool,), "tuple[str, ...]": (list,),
}  # fmt: skip


def write_settings(folder: Path, settings: Settings) -> None:
    tables = ("filters", "systems")
    plain = {key: value for key, value in asdict(settings).items() if key not in tables}
    lines = ["# One human evaluation. Change wording and limits freely; what is asked stays as it was made."]
    lines += [_line(key, value) for key, value in plain.items()]
    lines += ["", "[filters]", *(_line(key, value) for key, value in asdict(settings.filters).items())]
    lines += ["", "[systems]", *(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in settings.systems.items())]
    with atomic(folder / FILE) as out:
        out.write("\n".join(lines) + "\n")


def _line(key: str, value: Any) -> str:
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    return f"{line}  # {_COMMENTS[key]}" if key in _COMMENTS else line


def read_settings(folder: Path) -> Settings:
    path = existing(Path(folder) / FILE, "make one with: empathia study new NAME --design ab --systems a.jsonl b.jsonl")
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadFile(path, f"not TOML: {error}") from error
    filters = _typed(path, raw.pop("filters", {}), Filters)
    systems = raw.pop("systems", {})
    settings: Settings = _typed(path, raw, Settings, filters=filters, systems=systems)
    _check(path, settings)
    return settings


def _typed(path: Path, raw: dict[str, Any], kind: type, **given: Any) -> Any:
    """An instance of a settings class; an unknown key or a value of another type is an error."""
    defaults = {f.name: f for f in fields(kind)}
    for key, value in raw.items():
        if key not in defaults:
            raise BadConfig(f"{path}: unknown setting '{key}'", nearest(key, defaults))
        wanted = str(defaults[key].type)
        kinds = _KINDS[wanted]
        if not isinstance(value, kinds) or (isinstance(value, bool) and wanted != "bool"):
            raise BadConfig(f"{path}: '{key}' must be of type {wanted}, not {value!r}")
        if wanted.startswith("tuple"):
            raw[key] = tuple(map(str, raw[key]))
    try:
        return kind(**raw, **given)
    except TypeError as error:
        missing = str(error).split(":")[-1].strip()
        raise BadConfig(f"{path}: setting missing: {missing}") from error


def _check(path: Path, settings: Settings) -> None:
    if settings.design not in DESIGNS:
        raise BadConfig(f"{path}: no design '{settings.design}'", nearest(settings.design, DESIGNS))
    for name in settings.attributes:
        if name not in ATTRIBUTES:
            raise BadConfig(f"{path}: no attribute '{name}'", nearest(name, ATTRIBUTES))
    if settings.entry not in ("links", "address"):
        raise BadConfig(f"{path}: entry must be 'links' or 'address', not '{settings.entry}'")
    if settings.annotators < 1 or settings.task_size < 1 or settings.lease_minutes <= 0:
        raise BadConfig(f"{path}: annotators, task_size and lease_minutes must be above zero")
    for url in (settings.completion_url, settings.screened_url):
        if url and not url.startswith(("https://", "http://")):
            raise BadConfig(f"{path}: '{url}' is not a web address", "begin it with https://")
