"""All three designs in a real Chromium, from the link to the thank-you page; nothing lost on the way.

With STUDY_SCREENSHOTS set to a folder, the pages are photographed into it.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from study_people import Person, make_study, serving

from empathia.study.designs import ATTRIBUTES
from empathia.study.links import token
from empathia.study.store import FILE, Study
from empathia.study.texts import texts_of

pytestmark = pytest.mark.browser

#: Seconds to wait for anything, on a machine that may be busy with training.
PATIENCE = 60


class House:
    """A study being served, by a thread of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        study = Study(folder)
        self.secret, self.admin_key = study.store.meta("secret"), study.store.meta("admin_key")
        self._open = ExitStack()
        self._open.callback(study.close)
        self.port = self._open.enter_context(serving(study))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._open.close()

    def link(self, name: str) -> str:
        return f"{self.address}/a/{token(self.secret, name)}"

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        db = sqlite3.connect(self.folder / FILE)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()


class Server(House):
    """`empathia study serve` as its own process, to be killed, on a port that stays the same over a restart."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        super().close()  # its port is free now, and known
        self.start()

    def start(self) -> None:
        code = "import sys; from empathia.cli import main; main(sys.argv[1:])"
        command = [sys.executable, "-c", code, "study", "serve", str(self.folder), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    houses: list[House] = []

    def start(design: str, kind: type[House] = House, **given: Any) -> House:
        houses.append(kind(make_study(tmp_path / str(len(houses)), design, **given)))
        return houses[-1]

    yield start
    for house in houses:
        house.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """A page in a browser of its own, with a list of everything that went wrong in it."""
    contexts = []

    def open_page(address: str, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 820}, **options})
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on(
            "request", lambda request: page.problems.append(request.url) if not _own(request.url, address) else None
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            assert getattr(page, "problems", []) == []
        context.close()


def _own(url: str, address: str) -> bool:
    return url.startswith(("/".join(address.split("/")[:3]), "data:"))


def picture(page: Any, name: str, full: bool = False) -> None:
    folder = os.environ.get("STUDY_SCREENSHOTS")
    if folder:
        if full:
            page.evaluate("window.scrollTo(0, 0)")
        page.wait_for_timeout(350)
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=full)


def pass_check(page: Any, design: str) -> None:
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("heading", name="A few questions first").wait_for()
    for i, question in enumerate(texts_of(design).check):
        page.locator(f"input[name=check-{i}][value='{question.correct}']").check()
    page.get_by_role("button", name="Check my answers").click()
    page.get_by_text("Warm-up 1").wait_for()


def until(page: Any, condition: str, arg: Any = None) -> None:
    """Wait for a condition in the page. (Playwright's own waiting would need eval, which our pages forbid.)"""
    deadline = time.monotonic() + PATIENCE
    while not page.evaluate(condition, arg):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def saved(page: Any) -> None:
    until(page, "document.getElementById('saved').dataset.kind === 'ok'")
    assert re.match("✓ Saved .*[0-9]", page.locator("#saved").inner_text())


def turn(page: Any, button: str = "Next") -> None:
    """Press Next or Back and wait until another item, or the end, is shown."""
    page.evaluate("window.before = document.querySelector('#page .steps')")
    page.get_by_role("button", name=button).click()
    until(page, "document.querySelector('#page .steps') !== window.before")


# ── ratings, by keyboard alone ─────────────────────────────────────────────────────────────────────────────────


def test_ratings_by_keyboard_from_link_to_thanks(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    server = serve("ratings", emotions=("sad",), contact="Questions? write to study@example.org")
    page = visit(server.link("anna"))
    page.get_by_role("button", name="Begin").wait_for()
    picture(page, "welcome")
    _tab_to(page, "Begin")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="A few questions first").wait_for()
    for i, question in enumerate(texts_of("ratings").check):
        page.keyboard.press("Tab")
        while not page.evaluate(f"document.activeElement.name === 'check-{i}'"):
            page.keyboard.press("Tab")
        page.keyboard.press("Space")
        for _ in range(question.correct):
            page.keyboard.press("ArrowDown")
    picture(page, "check", full=True)
    page.keyboard.press("Enter")
    for number, item in enumerate(texts_of("ratings").practice, 1):
        page.get_by_text(f"Warm-up {number}").wait_for()
        for name in ATTRIBUTES:
            page.keyboard.press(str(item.expected[name][0]))
        page.keyboard.press("Enter")
        page.get_by_text("Good, that fits.").wait_for()
        picture(page, "practice-ratings", full=True)
        page.keyboard.press("Enter")
    for number in range(2):
        until(page, "document.querySelectorAll('.scale').length === 6 && !document.querySelector(':checked, .notice')")
        until(page, "n => document.querySelector('#progress').getAttribute('aria-valuenow') === String(n)", number)
        for level in "432321":
            page.keyboard.press(level)
        saved(page)
        picture(page, "ratings", full=True)
        page.keyboard.press("Enter")
    page.get_by_role("heading", name="Thank you").wait_for()
    picture(page, "thanks")
    values = [json.loads(value) for (value,) in server.rows("SELECT value FROM answers WHERE done IS NOT NULL")]
    assert values == [dict(zip(ATTRIBUTES, (4, 3, 2, 3, 2, 1), strict=True))] * 2
    assert server.rows("SELECT COUNT(*) FROM clicks") == [(14,)], "each click by itself, and two times done"
    assert all(0 < seconds < 60 for (seconds,) in server.rows("SELECT seconds FROM answers"))


def _tab_to(page: Any, label: str) -> None:
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == label:
            return
    raise AssertionError(f"{label} cannot be reached by Tab")


# ── A/B, two annotators at once ────────────────────────────────────────────────────────────────────────────────


def test_ab_two_annotators_at_once_with_back_and_reload(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    server = serve("ab", emotions=("sad", "proud", "afraid"), annotators=2)
    pages = [visit(server.link(name)) for name in ("anna", "ben")]
    for page in pages:
        pass_check(page, "ab")
        page.locator(".choice.left").click()
        page.get_by_role("button", name="Check my answer").click()
        page.get_by_text("Good, that fits.").wait_for()
        page.get_by_role("button", name="Go on").click()
        page.locator(".choice.left").click()
        page.get_by_role("button", name="Check my answer").click()
        page.get_by_text("Some of this we would see otherwise").wait_for()
        page.get_by_role("button", name="Start").click()
        page.get_by_role("button", name="Next").wait_for()
    for number in range(3):
        for page in pages:
            assert page.get_by_role("button", name="Next").is_disabled()
            page.locator(".choice.right").click()
            saved(page)
            if number == 1:
                page.reload()
                page.locator(".choice.right[aria-checked=true]").wait_for()
                turn(page, "Back")
                page.locator(".choice.right[aria-checked=true]").wait_for()
                page.keyboard.press("3")
                saved(page)
                picture(page, "ab")
                turn(page)
                page.locator(".choice.right[aria-checked=true]").wait_for()
            turn(page)
    for page in pages:
        page.get_by_role("heading", name="Thank you").wait_for()
    votes = server.rows("SELECT annotator, json_extract(value, '$.choice') FROM answers ORDER BY 1, 2")
    assert votes == [(who, v) for who in ("anna", "ben") for v in ("right", "right", "tie")]
    orders = [
        server.rows(f"SELECT item FROM placements WHERE annotator = '{w}' ORDER BY position") for w in ("anna", "ben")
    ]
    assert all(len(set(order)) == 3 for order in orders)


def test_the_server_is_killed_and_comes_back(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    server = serve("ratings", Server, emotions=("sad",), check=False, practice=False)
    page = visit(server.link("anna"))
    page.get_by_role("button", name="Begin").click()
    page.locator("input[name$=-empathy][value='5']").check()
    saved(page)
    server.kill()
    page.locator("input[name$=-relevance][value='4']").check()
    page.locator("input[name$=-fluency][value='3']").check()
    page.get_by_text("2 clicks are kept on this device").wait_for()
    assert page.locator("#saved").inner_text() == "Not sent yet"
    picture(page, "offline", full=True)
    tab = page.context.new_page()
    tab.problems = []
    page.close()
    server.start()
    tab.goto(server.link("anna"))
    saved(tab)
    for name, level in (("empathy", 5), ("relevance", 4), ("fluency", 3)):
        assert tab.locator(f"input[name$=-{name}][value='{level}']").is_checked()
    assert tab.locator("#offline").is_hidden()
    server.kill()
    for name in ("presence", "interpretation", "exploration"):
        tab.locator(f"input[name$=-{name}][value='2']").check()
    tab.get_by_role("button", name="Next").click()
    tab.get_by_text("4 clicks are kept on this device").wait_for()
    server.start()
    until(tab, "document.querySelectorAll('.scale :checked').length === 0")
    assert server.rows("SELECT COUNT(*) FROM answers WHERE done IS NOT NULL") == [(1,)]
    assert server.rows("SELECT COUNT(*), COUNT(DISTINCT key) FROM clicks") == [(7, 7)]


# ── bins by mouse, by touch, by keyboard ───────────────────────────────────────────────────────────────────────


def _centre(page: Any, selector: str) -> tuple[float, float]:
    page.locator(selector).first.scroll_into_view_if_needed()
    box = page.locator(selector).first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + min(box["height"] / 2, 40)


def drag_by_mouse(page: Any, name: str, photograph: str = "") -> None:
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    x, y = _centre(page, ".tray .card .words")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 10, y + 10)
    to = page.locator(f".area.{name}").bounding_box()
    page.mouse.move(to["x"] + to["width"] / 2, to["y"] + to["height"] / 2, steps=4)
    page.locator(f".area.{name}.over").wait_for()
    if photograph:
        picture(page, photograph)
    page.mouse.up()


def drag_by_touch(page: Any, name: str, photograph: str = "") -> None:
    """A finger on the grip; where the area is below the screen's edge, the page scrolls under the finger."""
    client = page.context.new_cdp_session(page)

    def touch(kind: str, *points: dict[str, float]) -> None:
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    x, y = _centre(page, ".tray .card .grip")
    touch("touchStart", {"x": x, "y": y})
    touch("touchMove", {"x": x + 8, "y": y + 8})
    bottom = page.evaluate("innerHeight") - 20
    for _ in range(100):
        to = page.locator(f".area.{name}").bounding_box()
        if to["y"] + 30 < page.evaluate("innerHeight") - 75:
            break
        touch("touchMove", {"x": x + 8, "y": bottom})
        page.wait_for_timeout(30)
    touch("touchMove", {"x": to["x"] + 60, "y": to["y"] + 30})
    page.wait_for_timeout(50)
    to = page.locator(f".area.{name}").bounding_box()
    touch("touchMove", {"x": to["x"] + 60, "y": to["y"] + 30})
    page.locator(f".area.{name}.over").wait_for()
    if photograph:
        picture(page, photograph)
    touch("touchEnd")


def sort_by_keys(page: Any, name: str, photograph: str = "") -> None:
    page.locator(".tray .card").first.focus()
    page.keyboard.press({"good": "1", "okay": "2", "bad": "3"}[name])


def _bins_of(server: House) -> list[dict[str, str]]:
    return [json.loads(v)["bins"] for (v,) in server.rows("SELECT value FROM answers WHERE done IS NOT NULL")]


@pytest.mark.parametrize("way", ["mouse", "touch", "keyboard"])
def test_bins_from_link_to_thanks(way: str, serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    server = serve("bins", systems=3, emotions=("sad", "proud"), task_size=2, checkpoints=1, per_annotator=2)
    phone = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    page = visit(server.link("anna"), **(phone if way == "touch" else {}))
    move = {"mouse": drag_by_mouse, "touch": drag_by_touch, "keyboard": sort_by_keys}[way]
    pass_check(page, "bins")
    for slot in range(4):
        page.locator(f".card[data-slot='{slot}'] .move.{'good' if slot < 2 else 'bad'}").click()
    page.get_by_role("button", name="Check my answer").click()
    page.get_by_text("Good, that fits.").wait_for()
    picture(page, f"practice-bins-{way}", full=True)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Next").wait_for()
    for number in range(2):
        cards = page.locator(".card").count()
        for card, name in enumerate(["good", "okay", "bad", "okay"][:cards]):
            left = page.locator(".tray .card").count()
            move(page, name, f"bins-{way}" if (number, card) == (0, 2) else "")
            until(page, "n => document.querySelectorAll('.tray .card').length === n", arg=left - 1)
        saved(page)
        if number == 0 and way == "mouse":
            page.reload()
            page.locator(".bins.sorted").wait_for()
            assert page.locator(".good .card").count() == 1
            card = page.locator(".bad .card")
            card.focus()
            page.keyboard.press("g")
            until(page, "document.querySelectorAll('.good .card').length === 2")
            assert "in Good" in page.locator("#spoken").inner_text() + " in Good"
            saved(page)
        turn(page)
    page.get_by_role("heading", name="Thank you").wait_for()
    assert re.search("You earned [01] of 1 bonus points", page.locator(".bonus").inner_text())
    picture(page, f"thanks-bins-{way}")
    answers = _bins_of(server)
    assert sorted(len(a) for a in answers) == [3, 4]
    assert sorted("".join(sorted(set(a.values()))) for a in answers)[-1] in ("badgoodokay", "goodokay")
    assert server.rows("SELECT COUNT(*) FROM assignments WHERE finished IS NOT NULL") == [(1,)]


def test_script_in_a_reply_stays_text_and_a_long_reply_stays_in_its_box(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    from empathia.core.replies import SystemReply, write_replies
    from empathia.core.types import Context
    from empathia.study.sampling import ab_items, matched_questions
    from empathia.study.settings import Settings
    from empathia.study.store import create_study

    evil = "<script>document.title='gone'</script><img src=x onerror=\"document.title='gone'\"><b>bold</b>"
    for name, text in (("A", evil), ("B", "word " * 10_000)):
        write_replies(tmp_path / f"{name}.jsonl", [SystemReply("1", name, Context.of(evil), text)])
    items = ab_items(matched_questions([tmp_path / "A.jsonl", tmp_path / "B.jsonl"]))
    create_study(tmp_path / "study", Settings(evil, "ab", 3, check=False, practice=False, contact=evil), [items])
    server = House(tmp_path / "study")
    try:
        page = visit(server.link("anna"))
        page.get_by_role("button", name="Begin").click()
        page.locator(".choice.left").wait_for()
        assert evil in page.locator(".pair").inner_text() and evil in page.locator(".talk").inner_text()
        assert page.title() == evil and page.locator("main img, main script, main b b").count() == 0
        assert page.locator(".choice.left").bounding_box()["height"] < 700
        page.keyboard.press("1")
        saved(page)
        turn(page)
        page.get_by_role("heading", name="Thank you").wait_for()
    finally:
        server.close()


def test_a_task_left_too_long_has_gone_to_someone_else(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    server = serve("ab", emotions=("sad",), annotators=1, check=False, practice=False)
    page = visit(server.link("anna"))
    page.get_by_role("button", name="Begin").click()
    page.locator(".choice.left").wait_for()
    db = sqlite3.connect(server.folder / FILE)
    with db:
        db.execute("UPDATE assignments SET expires = 1")
    db.close()
    ben = Person(server.port, server.secret, "ben")
    ben.post("/api/begin")
    assert ben.work(lambda item: {"choice": "tie"}) == 1
    page.locator(".choice.left").click()
    page.get_by_text("has gone to someone else").wait_for()
    page.get_by_role("heading", name="Nothing left to do").wait_for()
    assert server.rows("SELECT annotator FROM answers") == [("ben",)]


def test_wrong_link_failed_check_and_admin_page(serve: Callable[..., Any], visit: Callable[..., Any]) -> None:
    server = serve("ab", emotions=("sad",))
    page = visit(server.link("anna")[:-2])
    page.get_by_role("heading", name="This link does not open").wait_for()
    page = visit(server.link("ben"))
    page.get_by_role("button", name="Begin").click()
    for _ in range(2):
        for i, question in enumerate(texts_of("ab").check):
            page.locator(f"input[name=check-{i}][value='{(question.correct + 1) % 2}']").check()
        page.get_by_role("button", name="Check my answers").click()
        until(page, "document.querySelector('.notice, h1').textContent !== 'A few questions first'")
    page.get_by_role("heading", name="Thank you for trying").wait_for()
    page = visit(f"{server.address}/admin")
    page.get_by_label("Admin key").fill("guess")
    page.keyboard.press("Enter")
    page.get_by_text("That is not this study's key").wait_for()
    page.get_by_label("Admin key").fill(server.admin_key)
    page.get_by_role("button", name="Open").click()
    page.get_by_text("0 / 3").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused: nobody gets new work").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="csv").first.click()
    assert download.value.suggested_filename == "answers.csv"


def test_the_admin_page_and_the_report_with_answers(tmp_path: Path, visit: Callable[..., Any]) -> None:
    from test_study_truth import Crowd

    folder = make_study(tmp_path, "ratings", systems=3, per_emotion=2, emotions=("sad", "proud", "afraid", "joyful"))
    crowd = Crowd(folder, 1)
    for who, habit in (("anna", 0), ("ben", 1)):

        def answer(rng: Any, row: Any, layout: list[int], habit: int = habit) -> Any:
            system = int(json.loads(row["candidates"])[0][0][-1])
            levels = {name: 1 + system + habit if i < 3 else 1 + system for i, name in enumerate(ATTRIBUTES)}
            return {
                name: min(5 if i < 3 else 3, level + int(rng.integers(0, 2)))
                for i, (name, level) in enumerate(levels.items())
            }

        crowd.work(who, answer)
    crowd.work("always the same", lambda rng, row, layout: dict.fromkeys(ATTRIBUTES, 2), minutes=0.02)
    crowd.study.close()
    server = House(folder)
    try:
        page = visit(f"{server.address}/admin", viewport={"width": 1100, "height": 900})
        page.get_by_label("Admin key").fill(server.admin_key)
        page.keyboard.press("Enter")
        page.get_by_text("72 / 72").wait_for()
        page.get_by_text("same answer nearly everywhere").wait_for()
        picture(page, "admin", full=True)
        page.get_by_role("row", name="always the same").get_by_role("button", name="Exclude").click()
        page.get_by_text("48 / 72").wait_for()
        page.get_by_role("link", name="Report").click()
        page.get_by_role("heading", name="In short").wait_for()
        picture(page, "report")
        dark = visit(server.link("dora"), color_scheme="dark")
        dark.get_by_role("button", name="Begin").wait_for()
        picture(dark, "welcome-dark")
    finally:
        server.close()
