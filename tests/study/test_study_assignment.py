"""Leases, quotas, everyone's own order, the fourth annotator, changing one's mind."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_people import make_study

from empathia.core.errors import BadInput
from empathia.study import annotators
from empathia.study.assignment import Click, LeaseExpired, NotYours, Receipt, exclude, lease_next, save
from empathia.study.store import Study


class Room:
    """A study with a clock that the test moves."""

    def __init__(self, folder: Path) -> None:
        self.time = 1_000_000.0
        self.study = Study(folder, clock=lambda: self.time)
        self.keys = 0

    def lease(self, who: str) -> list[int]:
        """The items of the annotator's assignment, in their order."""
        with self.study.store.writing() as db:
            annotators.join(db, who, self.time)
            found = lease_next(db, who, self.study.settings, self.time)
            rows = db.execute("SELECT item FROM placements WHERE assignment = ? ORDER BY position", (found,))
            return [row["item"] for row in rows]

    def answer(self, who: str, item: int, value: Any, done: bool = True, key: str = "") -> Receipt:
        self.keys += 1
        with self.study.store.writing() as db:
            click = Click(key or f"key-{self.keys}", item, value, done, 2.0)
            return save(db, who, click, self.study.settings, self.time)

    def prefer(self, who: str, item: int, candidate: int | None) -> None:
        """Vote for a candidate wherever it stands."""
        layout = json.loads(self.one("SELECT layout FROM placements WHERE annotator = ? AND item = ?", who, item))
        side = "tie" if candidate is None else ("left", "right")[layout.index(candidate)]
        self.answer(who, item, {"choice": side})

    def one(self, sql: str, *values: Any) -> Any:
        with self.study.store.reading() as db:
            return db.execute(sql, values).fetchone()[0]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Callable[..., Room]]:
    rooms: list[Room] = []

    def make(design: str = "ab", **given: Any) -> Room:
        rooms.append(Room(make_study(tmp_path / str(len(rooms)), design, **given)))
        return rooms[-1]

    yield make
    for made in rooms:
        made.study.close()


def test_a_lease_is_kept_until_it_expires_and_then_goes_to_someone_else(room: Callable[..., Room]) -> None:
    r = room(emotions=("sad",), annotators=1)
    (item,) = r.lease("anna")
    assert r.lease("anna") == [item], "asking again, also on another device, gives the same work"
    assert r.lease("ben") == []
    r.time += 19 * 60
    r.answer("anna", item, {}, done=False)
    r.time += 19 * 60
    assert r.lease("ben") == [], "a click prolongs the lease"
    r.time += 2 * 60
    assert r.lease("ben") == [item]
    with pytest.raises(LeaseExpired):
        r.answer("anna", item, {"choice": "left"})
    assert r.lease("anna") == []
    r.answer("ben", item, {"choice": "left"})
    assert r.one("SELECT COUNT(*) FROM assignments WHERE finished IS NOT NULL") == 1


def test_an_expired_lease_nobody_took_is_simply_prolonged(room: Callable[..., Room]) -> None:
    r = room(emotions=("sad",), annotators=1)
    (item,) = r.lease("anna")
    r.time += 10_000
    r.answer("anna", item, {"choice": "tie"})
    assert r.lease("ben") == []


def test_a_fourth_is_called_exactly_on_a_three_way_split(room: Callable[..., Room]) -> None:
    r = room(emotions=("sad", "proud"), annotators=3)
    items = {i: n for n, i in enumerate(sorted({*r.lease("anna")} | {1, 2}))}
    for who, vote in (("anna", 0), ("ben", 1), ("cleo", None)):
        for _ in items:
            (item,) = r.lease(who)
            r.prefer(who, item, vote if items[item] == 0 else 0)
    assert [r.one("SELECT quota FROM tasks WHERE id = ?", t) for t in (1, 2)] == [4, 3]
    (item,) = r.lease("dora")
    assert items[item] == 0
    assert r.lease("emil") == []
    r.prefer("dora", item, 1)
    assert r.lease("emil") == [] and r.lease("dora") == []


def test_a_changed_vote_takes_back_a_call_that_nobody_has_followed(room: Callable[..., Room]) -> None:
    r = room(emotions=("sad",), annotators=3)
    for who, vote in (("anna", 0), ("ben", 1), ("cleo", None)):
        (item,) = r.lease(who)
        r.prefer(who, item, vote)
    assert r.one("SELECT quota FROM tasks") == 4
    r.prefer("cleo", item, 1)
    assert r.one("SELECT quota FROM tasks") == 3
    r.prefer("cleo", item, None)
    assert r.lease("dora") == [item]
    r.prefer("cleo", item, 1)
    assert r.one("SELECT quota FROM tasks") == 4, "a place once given stays"


def test_an_excluded_annotators_places_open_again(room: Callable[..., Room]) -> None:
    r = room(emotions=("sad",), annotators=1)
    (item,) = r.lease("anna")
    r.prefer("anna", item, 0)
    assert r.lease("ben") == []
    with r.study.store.writing() as db:
        exclude(db, "anna", r.study.settings, r.time)
    assert r.lease("ben") == [item]


def test_everyone_has_an_order_and_sides_of_their_own(room: Callable[..., Room]) -> None:
    r = room(per_emotion=10, annotators=20)
    orders, first_left = [], Counter[bool]()
    for i in range(8):
        order = []
        for _ in range(30):
            (item,) = r.lease(f"p{i}")
            order.append(item)
            r.answer(f"p{i}", item, {"choice": "tie"})
        orders.append(tuple(order))
        assert sorted(order) == list(range(1, 31))
    assert len(set(orders)) == 8
    with r.study.store.reading() as db:
        first_left.update(row[0] == "[0, 1]" for row in db.execute("SELECT layout FROM placements"))
    assert 80 < first_left[True] < 160, "sides are mixed"


def test_the_same_key_is_saved_once_and_another_use_of_it_refused(room: Callable[..., Room]) -> None:
    r = room()
    (item,) = r.lease("anna")
    first = r.answer("anna", item, {"choice": "left"}, key="same-key")
    r.time += 5
    again = r.answer("anna", item, {"choice": "left"}, key="same-key")
    assert again.again and again.saved == first.saved
    assert r.one("SELECT COUNT(*) FROM clicks") == 1
    with pytest.raises(BadInput, match="already used"):
        r.answer("anna", item, {"choice": "right"}, key="same-key")


def test_a_tasks_ten_dialogues_go_together_and_earn_points(room: Callable[..., Room]) -> None:
    r = room("bins", systems=4, per_emotion=4, emotions=("sad", "proud", "afraid", "joyful", "angry"), per_annotator=10)
    items = r.lease("anna")
    assert len(items) == 10
    points = 0
    for number, item in enumerate(items):
        layout = json.loads(r.one("SELECT layout FROM placements WHERE item = ?", item))
        gold = r.one("SELECT gold FROM items WHERE id = ?", item)
        bins = {str(slot): "bad" for slot in range(len(layout))}
        if gold is not None and points < 2:
            bins[str(layout.index(gold))] = "okay"
            points += 1
        assert r.answer("anna", item, {"bins": bins}).task_finished == (number == 9)
    assert r.one("SELECT bonus FROM assignments") == 2
    assert r.lease("anna") == [], "the most one person may do"
    assert len(r.lease("ben")) == 10
    with pytest.raises(BadInput, match="still unanswered"):
        r.answer("anna", items[0], {"bins": {}}, done=False)


def test_only_what_was_given_can_be_answered(room: Callable[..., Room]) -> None:
    r = room()
    (item,) = r.lease("anna")
    other = next(i for i in (1, 2, 3) if i != item)
    for who, what in (("anna", other), ("anna", 999), ("ben", item)):
        with pytest.raises(NotYours):
            r.answer(who, what, {"choice": "left"})
    with pytest.raises(BadInput, match="still unanswered"):
        r.answer("anna", item, {}, done=True)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_quotas_hold_whatever_people_do(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Random leases, answers, disappearances and returns: no task ever has more finished answers than its quota."""
    rng = random.Random(seed)
    r = Room(make_study(tmp_path_factory.mktemp("any"), "ab", annotators=2))
    people = [f"p{i}" for i in range(6)]
    held: dict[str, int] = {}
    for _ in range(60):
        who = rng.choice(people)
        act = rng.random()
        if act < 0.45:
            for item in r.lease(who):
                held[who] = item
        elif act < 0.85 and who in held:
            try:
                r.answer(who, held[who], {"choice": rng.choice(("left", "right", "tie"))})
            except LeaseExpired:
                del held[who]
        else:
            r.time += rng.choice((60, 1500))
        over = r.one(
            "SELECT COUNT(*) FROM tasks t WHERE quota < (SELECT COUNT(*) FROM assignments a "
            "WHERE a.task = t.id AND (a.finished IS NOT NULL OR a.expires > ?))", r.time
        )  # fmt: skip
        assert over == 0
        assert r.one("SELECT max(quota) FROM tasks") <= 3
    r.study.close()
