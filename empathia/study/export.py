"""A study's answers as CSV, JSONL or Parquet: three tables anyone can open."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ..core.errors import BadInput, nearest
from ..core.files import atomic
from .quality import annotator_quality
from .records import Judgement, judgements, load_records
from .store import Study

FORMATS: tuple[str, ...] = ("csv", "jsonl", "parquet")
#: answers: one row per single judgement; annotators: one per person; clicks: every click ever saved.
TABLES: tuple[str, ...] = ("answers", "annotators", "clicks")
#: Columns of a table that has no rows yet.
_COLUMNS: Mapping[str, list[str]] = {
    "answers": [f.name for f in fields(Judgement)],
    "annotators": ["id", "joined", "flags"],
    "clicks": ["annotator", "key", "item", "value", "done", "seconds", "received"],
}


def table_bytes(study: Study, table: str, fmt: str) -> bytes:
    """One table of a study in one format."""
    if fmt not in FORMATS:
        raise BadInput(f"no export format '{fmt}'", nearest(fmt, FORMATS))
    if table not in TABLES:
        raise BadInput(f"no export table '{table}'", nearest(table, TABLES))
    rows = {"answers": _answers, "annotators": _annotators, "clicks": _clicks}[table](study)
    if fmt == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    import polars

    frame = polars.DataFrame(rows, infer_schema_length=None) if rows else polars.DataFrame(schema=_COLUMNS[table])
    out = io.BytesIO()
    if fmt == "csv":
        frame.write_csv(out)
    else:
        frame.write_parquet(out)
    return out.getvalue()


def export_study(study: Study, folder: Path, formats: Iterable[str]) -> list[Path]:
    written = []
    for fmt in formats:
        for table in TABLES:
            path = folder / f"{table}.{fmt}"
            content = table_bytes(study, table, fmt)
            with atomic(path, "wb") as out:
                out.write(content)
            written.append(path)
    return written


def _answers(study: Study) -> list[Mapping[str, Any]]:
    with study.store.reading() as db:
        records = load_records(db)
    return [j.as_dict() for j in judgements(records, study.settings)]


def _annotators(study: Study) -> list[Mapping[str, Any]]:
    with study.store.reading() as db:
        people = db.execute("SELECT * FROM annotators ORDER BY joined, id").fetchall()
        records = load_records(db)
    quality = {q.annotator: q for q in annotator_quality(records, study.settings)}
    rows: list[Mapping[str, Any]] = []
    for person in people:
        found = quality.get(person["id"])
        measured = asdict(found) if found else {}
        measured.pop("annotator", None)
        flags = "; ".join(measured.pop("flags", ()))
        rows.append({**dict(person), **measured, "flags": flags})
    return rows


def _clicks(study: Study) -> list[Mapping[str, Any]]:
    with study.store.reading() as db:
        return [dict(row) for row in db.execute("SELECT * FROM clicks ORDER BY received, rowid")]
