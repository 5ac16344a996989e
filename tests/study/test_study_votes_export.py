"""Votes from the chat become A/B answers; answers leave as CSV, JSONL and Parquet."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars
import pytest
from study_people import Person, make_study, serving

from empathia.core.errors import BadFile, BadInput
from empathia.core.types import Turn
from empathia.study.analysis import ALL, analyse
from empathia.study.export import FORMATS, TABLES, export_study, table_bytes
from empathia.study.records import load_records
from empathia.study.sampling import Candidate
from empathia.study.store import Study
from empathia.study.votes import Vote, import_votes, read_votes


def vote(number: int, choice: str, swapped: bool = False, session: str = "s", text: str = "I lost my keys.") -> Vote:
    pair = (Candidate("mime", "Oh no, where did you last see them?"), Candidate("moel", "That is great."))
    a, b = reversed(pair) if swapped else pair
    return Vote(f"v{number}", session, 1000.0 + number, (Turn("speaker", text),), a, b, choice, "annoyed")


def write_votes(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_votes_become_ab_answers_and_come_in_once(tmp_path: Path) -> None:
    votes = [
        vote(1, "a", session="x"), vote(2, "b", swapped=True, session="y"), vote(3, "tie", session="z"),
        vote(4, "b", session="x", text="My cat is back!"), vote(5, "a", session="x"),
    ]  # fmt: skip
    path = write_votes(tmp_path / "votes.jsonl", [v.as_dict() for v in votes])
    assert read_votes(path) == votes
    assert import_votes(tmp_path / "votes", read_votes(path)) == 5
    assert import_votes(tmp_path / "votes", read_votes(path)) == 0
    assert import_votes(tmp_path / "votes", [vote(6, "a", session="w")]) == 1
    study = Study(tmp_path / "votes")
    with study.store.reading() as db:
        records = load_records(db)
        quotas = [
            tuple(row)
            for row in db.execute(
                "SELECT quota, COUNT(a.id) FROM tasks t JOIN assignments a ON a.task = t.id GROUP BY t.id"
            )
        ]
    study.close()
    assert len(records) == 6 and all(r.counted for r in records)
    assert sorted(quotas) == [(1, 1), (5, 5)], "votes on the same pair of replies meet in one item, either way round"
    found = analyse(records, study.settings, resamples=50)
    (contest,) = [c for c in found.contests if c.group == ALL]
    assert (contest.a, contest.b, contest.wins, contest.losses, contest.ties) == ("mime", "moel", 1, 1, 0)
    assert sum(r.value["choice"] == "left" for r in records) == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"choice": "left"}, "column choice: 'choice' must be a, b or tie"), ({"id": ""}, "column id"),
        ({"a": {"system": "x"}}, "column a: 'a' needs 'system' and 'reply'"), ({"context": []}, "column context"),
        ({"time": "now"}, "column time"), ({"b": {"system": "mime", "reply": ""}}, "two different systems"),
    ],
)  # fmt: skip
def test_bad_votes_are_named_by_line_and_field(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    path = write_votes(tmp_path / "votes.jsonl", [vote(1, "a").as_dict(), {**vote(2, "b").as_dict(), **changes}])
    with pytest.raises(BadFile, match=f"votes.jsonl, line 2, .*{words}|votes.jsonl, line 2, {words}"):
        read_votes(path)


def test_votes_do_not_mix_with_an_assigned_study(tmp_path: Path) -> None:
    folder = make_study(tmp_path, "ab")
    with pytest.raises(BadInput, match="annotators of its own"):
        import_votes(folder, [vote(1, "a")])


def test_every_table_in_every_format_says_the_same(tmp_path: Path) -> None:
    study = Study(make_study(tmp_path, "bins", systems=2, task_size=3, checkpoints=1, check=False, practice=False))
    for table in TABLES:
        for fmt in FORMATS:
            table_bytes(study, table, fmt)  # before anyone came
    with serving(study) as port:
        for name in ("anna", "ben, the «second»"):
            person = Person(port, study.store.meta("secret"), name)
            person.post("/api/begin")
            person.work(lambda item: {"bins": {str(i): "good" for i in range(len(item["replies"]))}})
    paths = export_study(study, tmp_path / "out", FORMATS)
    assert sorted(p.name for p in paths) == sorted(f"{t}.{f}" for t in TABLES for f in FORMATS)
    for table, rows in (("answers", 14), ("annotators", 2), ("clicks", 6)):
        lines = (tmp_path / "out" / f"{table}.jsonl").read_text(encoding="utf-8").splitlines()
        parquet = polars.read_parquet(tmp_path / "out" / f"{table}.parquet")
        csv = polars.read_csv(io.BytesIO((tmp_path / "out" / f"{table}.csv").read_bytes()))
        assert len(lines) == len(parquet) == len(csv) == rows
        assert parquet.columns == csv.columns == list(json.loads(lines[0]))
    answers = polars.read_parquet(tmp_path / "out" / "answers.parquet")
    assert set(answers["system"]) == {"System0", "System1", "gold"} and set(answers["value"]) == {"good"}
    assert set(answers["annotator"]) == {"anna", "ben, the «second»"}
    people = polars.read_csv(tmp_path / "out" / "annotators.csv")
    assert people["bonus"].to_list() == [1, 1] and people["bonus_possible"].to_list() == [1, 1]
    with pytest.raises(BadInput, match="did you mean 'csv'"):
        table_bytes(study, "answers", "cvs")
    study.close()
