"""Reading and counting tab-separated knowledge tuples; shared by ATOMIC and ConceptNet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..core.errors import BadFile
from .base import Refuse
from .types import KnowledgeTuple

Rows = Iterator[tuple[int, list[str]]]  # line, fields


def tabbed(lines: Iterable[tuple[int, str]], path: Path, widths: tuple[int, ...], refuse: Refuse) -> Rows:
    """The fields of each line; a line with another number of them is refused."""
    for line, text in lines:
        fields = text.split("\t")
        if len(fields) in widths:
            yield line, fields
        else:
            problem = f"{len(fields)} fields where {widths[0]} are expected"
            refuse(BadFile(path, problem, line=line, column=min(len(fields), widths[0]) + 1))


def tuples(rows: Iterable[tuple[int, tuple[str, str, str]]], path: Path, refuse: Refuse) -> Iterator[KnowledgeTuple]:
    """Tuples from (head, relation, tail) fields; an empty field is refused."""
    for line, (head, relation, tail) in rows:
        row = KnowledgeTuple(head.strip(), relation.strip(), tail.strip())
        if row.head and row.relation and row.tail:
            yield row
        else:
            column = "head" if not row.head else "relation" if not row.relation else "tail"
            refuse(BadFile(path, "is empty", line=line, column=column))


def measures(rows: list[KnowledgeTuple]) -> Mapping[str, float]:
    heads, relations = {row.head for row in rows}, {row.relation for row in rows}
    return {"tuples": len(rows), "heads": len(heads), "relations": len(relations)}


def labels(row: KnowledgeTuple) -> Iterable[str]:
    return (row.relation,)
