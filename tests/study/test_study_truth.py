"""Simulated annotators with known habits: the report recovers the truth within its intervals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_people import make_study

from empathia.core.taxonomy import EMOTIONS
from empathia.study import annotators
from empathia.study.analysis import ALL, Findings, analyse
from empathia.study.assignment import Click, lease_next, save
from empathia.study.quality import HASTY, SAME
from empathia.study.records import load_records
from empathia.study.report import html_report, summary, write_report
from empathia.study.store import Study

RUNS = 4


class Crowd:
    """People who work straight on the store. `answer(rng, who, item)` sees candidates, never anyone's layout."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.study = Study(folder, clock=lambda: self.time)
        self.rng = np.random.default_rng(seed)
        self.time = 1_000_000.0

    def work(self, who: str, answer: Any, minutes: float = 0.5) -> None:
        settings = self.study.settings
        with self.study.store.writing() as db:
            annotators.join(db, who, self.time)
            while (assignment := lease_next(db, who, settings, self.time)) is not None:
                rows = db.execute(
                    "SELECT p.layout, i.* FROM placements p JOIN items i ON i.id = p.item WHERE p.assignment = ?",
                    (assignment,),
                ).fetchall()
                for row in rows:
                    self.time += 60 * minutes
                    value = answer(self.rng, row, json.loads(row["layout"]))
                    key = f"{who}-{row['id']}"
                    save(db, who, Click(key, row["id"], value, True, 60 * minutes), settings, self.time)

    def findings(self, **options: Any) -> Findings:
        with self.study.store.reading() as db:
            records = load_records(db)
        return analyse(records, self.study.settings, resamples=400, **options)


@pytest.fixture
def crowds(tmp_path: Path) -> Iterator[Any]:
    made: list[Crowd] = []

    def make(design: str, seed: int, **given: Any) -> Crowd:
        folder = make_study(tmp_path / str(seed), design, emotions=EMOTIONS, seed=seed, **given)
        made.append(Crowd(folder, seed))
        return made[-1]

    yield make
    for crowd in made:
        crowd.study.close()


def _system(row: Any) -> int:
    return int(json.loads(row["candidates"])[0][0][-1])


def test_ratings_recover_a_known_difference_under_lenient_and_strict_annotators(crowds: Any) -> None:
    """System1 is truly 0.6 better. Annotators shift every mark by a habit of their own, the same for both systems."""
    inside = 0
    for seed in range(RUNS):
        crowd = crowds("ratings", seed, per_emotion=3, attributes=("empathy",))
        for who, habit in (("strict", -0.4), ("fair", 0.0), ("lenient", 0.4)):

            def answer(rng: Any, row: Any, layout: list[int], habit: float = habit) -> Any:
                # Unbiased rounding keeps the mean of the marks equal to the truth; marks stay inside 1 to 5.
                mark = 2.7 + 0.6 * _system(row) + habit + rng.uniform(-0.7, 0.7)
                return {"empathy": int(np.floor(mark) + (rng.random() < mark % 1))}

            crowd.work(who, answer)
        found = crowd.findings()
        (test,) = found.tests
        assert test.wilcoxon_p < 0.001 and test.difference < 0
        inside += test.low <= -0.6 <= test.high
        means = {m.system: m for m in found.means if m.group == ALL}
        assert abs(means["System0"].value - 2.7) < 0.25 and abs(means["System1"].value - 3.3) < 0.25
    assert inside >= RUNS - 1, f"the true difference lay inside {inside} of {RUNS} intervals"


def test_ab_recovers_the_win_rate_under_a_habit_of_clicking_left(crowds: Any) -> None:
    """Each context has a true verdict (45 % System1, 25 % System0, 30 % tie); annotators follow it 4 times in 5.

    One of the three clicks left whenever they do not follow it. Shuffled sides keep that from helping a system.
    """
    inside = total = 0
    for seed in range(RUNS):
        crowd = crowds("ab", seed, per_emotion=3)
        drawn = np.random.default_rng(1000 + seed)
        truth = dict(enumerate(drawn.choice([1, 0, 2], size=96, p=[0.45, 0.25, 0.30]), 1))
        for who in ("one", "two", "left-hander", "fourth"):

            def answer(rng: Any, row: Any, layout: list[int], who: str = who, verdicts: Any = truth) -> Any:
                if rng.random() < 0.8:
                    true = verdicts[row["id"]]
                    return {"choice": "tie" if true == 2 else ("left", "right")[layout.index(true)]}
                return {"choice": "left" if who == "left-hander" else str(rng.choice(["left", "right", "tie"]))}

            crowd.work(who, answer)
        found = crowd.findings()
        contest = next(c for c in found.contests if c.group == ALL)
        shares = np.bincount(list(truth.values()), minlength=3) / 96
        for true, interval in (
            (shares[0], contest.win_interval), (shares[1], contest.loss_interval), (shares[2], contest.tie_interval),
        ):  # fmt: skip
            inside += interval.low <= true <= interval.high
            total += 1
        assert contest.losses > contest.wins, "System1, the second of the pair, is truly better"
        assert found.agreements[0].alpha > 0.4 and contest.undecided == 0
    assert inside >= total - 1, f"{inside} of {total}"


def test_bins_recover_shares_once_the_papers_filters_have_thrown_spammers_out(crowds: Any) -> None:
    inside = total = 0
    truth = {0: (0.2, 0.3, 0.5), 1: (0.5, 0.3, 0.2)}
    for seed in range(RUNS):
        crowd = crowds("bins", seed, per_emotion=3, annotators=8)

        def honest(rng: Any, row: Any, layout: list[int]) -> Any:
            bins = {}
            for slot, candidate in enumerate(layout):
                shares = (0.9, 0.08, 0.02) if candidate == row["gold"] else truth[candidate]
                bins[str(slot)] = str(rng.choice(["good", "okay", "bad"], p=shares))
            return {"bins": bins}

        def spammer(rng: Any, row: Any, layout: list[int]) -> Any:
            return {"bins": {str(slot): "bad" for slot in range(len(layout))}}

        for i in range(6):
            crowd.work(f"honest-{i}", honest, minutes=1)
        for i in range(2):
            crowd.work(f"spammer-{i}", spammer, minutes=0.1)
        found = crowd.findings()
        flags = {q.annotator: set(q.flags) for q in found.quality}
        assert all(flags[f"spammer-{i}"] == {SAME, HASTY} for i in range(2))
        assert not any(flags[f"honest-{i}"] for i in range(6))
        for system, shares in truth.items():
            for name, share in zip(("good", "okay", "bad"), shares, strict=True):
                mean = next(m for m in found.means if (m.system, m.question, m.group) == (f"System{system}", name, ALL))
                inside += mean.low <= share <= mean.high
                total += 1
        assert found.tests[0].bootstrap_p < 0.05
        spoiled = crowd.findings(drop_flagged=False)
        bad = next(m for m in spoiled.means if (m.system, m.question, m.group) == ("System1", "bad", ALL))
        assert bad.low > 0.2, "without the filters the spammers would have shifted the result"
    # 95 % intervals: of 36, two misses are to be expected.
    assert inside >= total - 4, f"{inside} of {total}"


def test_the_report_is_written_whole(crowds: Any, tmp_path: Path) -> None:
    crowd = crowds("ab", 0, per_emotion=1)
    for who in ("one", "two", "three", "four"):
        crowd.work(who, lambda rng, row, layout: {"choice": str(rng.choice(["left", "right", "tie"]))})
    found = crowd.findings()
    path = write_report(found, tmp_path / "report")
    text = path.read_text(encoding="utf-8")
    assert "<h2>In short</h2>" in text and text.count("data:image/png;base64,") == 2 and "http" not in text
    names = sorted(p.name for p in path.parent.iterdir())
    assert names == ["agreement.png", "report.html", "tables.md", "tables.tex", "verdicts.png"]
    assert (path.parent / "verdicts.png").read_bytes().startswith(b"\x89PNG")
    assert "System0 vs System1" in (path.parent / "tables.md").read_text(encoding="utf-8")
    assert r"\toprule" in (path.parent / "tables.tex").read_text(encoding="utf-8")
    assert any("fourth annotator decided" in line for line in summary(found))
    assert "System0" in html_report(found)
