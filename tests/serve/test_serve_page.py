"""The page in a real Chromium, on the real server, with a scripted listener."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from page_listener import BY_INTENT, EVIL, HELD, PLAIN, STORIES, Listener
from serve_house import House, services, serving, until
from serve_listeners import BrokenMidway

from empathia.cli import main
from empathia.core.types import Responder, Turn
from empathia.serve import Access, Limits, Services, Source

pytestmark = pytest.mark.browser

#: Seconds to wait for anything, on a machine that may be busy with training.
PATIENCE = 60
LONELY = "My sister moved to Canada last week. The flat is so quiet now."
BETTER = (
    "Mostly her laugh, I think. But today we cooked together over video, and for an hour it was as if she was here."
)
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "device_scale_factor": 1.5}


@pytest.fixture
def companion() -> Listener:
    return Listener("companion")


@pytest.fixture
def mime() -> Listener:
    return Listener("mime", voice=1)


@pytest.fixture
def open_house() -> Iterator[Callable[..., House]]:
    """A served page until the end of the test."""
    with ExitStack() as stack:

        def start(given: Services | Responder, *more: Any, **settings: Any) -> House:
            given = given if isinstance(given, Services) else services(given, *more)
            return stack.enter_context(serving(given, **settings))

        yield start


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """A page in a browser of its own. Nothing may go wrong in it, nor leave for another origin."""
    contexts, problems = [], []

    def watch(page: Any, address: str) -> None:
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if _is_wrong(said) else None)
        page.on("request", lambda asked: problems.append(asked.url) if not _is_own(asked.url, address) else None)

    def open_page(house: House, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1240, "height": 820}, **options})
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        page = context.new_page()
        watch(page, house.url)
        page.goto(house.url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def _is_wrong(said: Any) -> bool:
    """Errors of the page and breaches of its policy; a refused request, which it must live with, is none."""
    return said.type in ("error", "warning") and not said.text.startswith("Failed to load resource")


def _is_own(url: str, address: str) -> bool:
    return url.startswith((f"{address}/", f"blob:{address}/"))


def seen(page: Any, condition: str, arg: Any = None) -> None:
    """Wait for a condition in the page. (Playwright's own waiting would need eval, which the page forbids.)"""
    deadline = time.monotonic() + PATIENCE
    while not page.evaluate(condition, arg):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def ready(page: Any) -> None:
    """What the server offers has arrived."""
    seen(page, "document.getElementById('model').options.length > 0")


def begin(page: Any, text: str) -> None:
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")


def tell(page: Any, text: str) -> str:
    """Say something and wait for the whole reply."""
    begin(page, text)
    return answered(page)


def answered(page: Any) -> str:
    page.get_by_role("button", name="Send").wait_for()
    return said(page)[-1]


def said(page: Any) -> list[str]:
    return page.locator(".turn .bubble > .words:not(.reminder)").all_text_contents()


def saved(page: Any, button: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


# ── talking ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_is_typed_and_answered_and_its_words_come_one_by_one(companion, open_house, visit):
    page = visit(open_house(companion))
    ready(page)
    assert "Not a person" in page.get_by_role("banner").inner_text()
    companion.gate.clear()
    begin(page, LONELY)
    answer = STORIES["sister"].answers[0]
    first = "".join(f"{word} " for word in answer.split()[:HELD])
    seen(page, "words => document.querySelector('.listener .words').textContent === words", first)
    assert page.get_by_role("button", name="Stop").is_visible() and page.get_by_role("button", name="Send").is_hidden()
    companion.gate.set()
    assert answered(page) == answer
    assert page.locator("#spoken").inner_text() == answer, "a screen reader is told the whole reply, once"
    assert tell(page, BETTER) == STORIES["video"].answers[0]
    assert companion.contexts[-1].turns == (Turn("speaker", LONELY), Turn("listener", answer), Turn("speaker", BETTER))
    assert page.evaluate("document.activeElement.id") == "words"
    page.get_by_text("Not a person, not a therapist").click()
    assert "It stores nothing." in page.locator("#about").inner_text()


def test_stop_leaves_the_words_so_far_and_frees_the_server(companion, open_house, visit):
    house = open_house(companion)
    page = visit(house)
    companion.gate.clear()
    begin(page, "I passed my exam")
    until(lambda: len(said(page)[-1].split()) == HELD)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped here.").wait_for()
    part = said(page)[-1]
    assert STORIES["exam"].answers[0].startswith(part.strip())
    until(lambda: companion.stopped == 1 and house.desk.slots.busy == 0)
    companion.gate.set()
    assert tell(page, "So I went home.") == PLAIN.answers[0]
    assert [turn.text for turn in companion.contexts[-1].turns] == ["I passed my exam", part, "So I went home."]


def test_retry_edit_start_over_and_bring_back(companion, open_house, visit):
    page = visit(open_house(companion))
    first = tell(page, "I passed my exam")
    page.get_by_role("button", name="Retry").click()
    answered(page)
    seen(page, "document.querySelector('.listener .words').textContent.endsWith(')')")
    assert companion.wishes[0].seed is None and companion.wishes[1].seed is not None
    assert said(page)[-1] == f"{first} ({companion.wishes[1].seed})"
    page.get_by_role("button", name="Retry").click()
    until(lambda: len(companion.wishes) == 3)
    assert companion.wishes[2].seed != companion.wishes[1].seed
    answered(page)

    tell(page, "And then it rained.")
    edit = page.get_by_role("button", name="Edit my last message")
    edit.click()
    assert page.get_by_label("Your message").input_value() == "And then it rained."
    page.get_by_role("button", name="Cancel").click()
    assert len(said(page)) == 4 and page.get_by_label("Your message").input_value() == ""
    edit.click()
    assert tell(page, BETTER) == STORIES["video"].answers[0]
    assert [turn.speaker for turn in companion.contexts[-1].turns] == ["speaker", "listener", "speaker"]
    assert said(page)[2] == BETTER and len(said(page)) == 4

    before = said(page)
    page.get_by_role("button", name="Start over").click()
    page.get_by_role("heading", name="What is on your mind?").wait_for()
    assert said(page) == []
    page.get_by_role("button", name="Bring it back").click()
    assert said(page) == before
    page.get_by_role("button", name="Start over").click()
    tell(page, "Something new")
    assert len(companion.contexts[-1].turns) == 1 and page.get_by_role("button", name="Bring it back").count() == 0


def test_the_conversation_is_exported_with_its_evidence(companion, open_house, visit, tmp_path):
    page = visit(open_house(companion))
    assert page.get_by_role("button", name="Export").is_disabled()
    tell(page, LONELY)
    found = json.loads(saved(page, "Export", tmp_path).read_text("utf-8"))
    heard, answer = found["turns"]
    assert heard == {"role": "user", "content": LONELY}
    assert answer["content"] == STORIES["sister"].answers[0] and answer["chosen"] == 0
    (only,) = answer["answers"]
    assert only["model"] == "companion" and only["state"] == "done" and only["guard"]["level"] == "none"
    assert (
        only["evidence"]["emotion"]["lonely"] == 0.58 and len(only["candidates"]) == 3 and "generate" in only["timings"]
    )


def test_a_script_in_a_reply_or_a_message_stays_text(companion, open_house, visit):
    page = visit(open_house(companion))
    evil = f"A script: {EVIL}"
    assert tell(page, evil) == EVIL
    page.get_by_role("button", name="Why this reply").click()
    page.locator("[data-part=candidates] summary").click()
    assert EVIL in page.locator("[data-part=candidates]").inner_text()
    assert said(page) == [evil, EVIL] and page.title() == "empathia"
    assert page.locator("img, li script, li b, aside b b, aside script").count() == 0


# ── why ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_why_shows_all_there_is_for_the_reply_chosen(companion, open_house, visit):
    page = visit(open_house(companion))
    tell(page, LONELY)
    tell(page, BETTER)
    assert page.locator("mark").count() == 0, "nothing is marked until someone asks why"
    page.get_by_role("button", name="Why this reply").last.click()
    panel = page.get_by_role("complementary")
    shown = panel.locator("[data-part]").evaluate_all("parts => parts.map(part => part.dataset.part)")
    assert shown == ["feeling", "causes", "plan", "exemplars", "inferences", "candidates", "timings"]
    bars = panel.locator("[data-part=feeling] .bar").all_inner_texts()
    assert bars[0].split() == ["sentimental", "58", "%"] and len(bars) == 4
    chart = panel.get_by_role("img")
    assert "message 1: lonely, 12 % good; message 2: sentimental, 55 % good" in chart.get_attribute("aria-label")
    assert chart.locator("circle").count() == 2 and chart.locator("circle.selected").count() == 1
    assert page.locator(".turn mark").all_text_contents() == ["moved to Canada", "so quiet", "her laugh"]
    assert panel.locator("mark").all_text_contents() == ["moved to Canada", "so quiet", "her laugh"]
    plan = panel.locator("[data-part=plan] .bar").all_inner_texts()
    assert [line.split()[0] for line in plan[:3]] == ["questioning", "acknowledging", "sympathizing"]
    assert [line.split()[0] for line in plan[3:]] == ["Warmth", "Understanding", "Exploring"]
    assert [line.split()[-1] for line in plan[3:]] == ["much", "some", "none"]
    assert "lonely · score 0.71 · ours" in panel.locator("[data-part=exemplars]").inner_text()
    assert "you may feel left behind" in panel.locator("[data-part=inferences]").inner_text()
    panel.get_by_text("What it weighed").click()
    assert panel.get_by_role("row").count() == 4
    chosen = panel.get_by_role("row", name="chosen")
    assert STORIES["video"].answers[0] in chosen.inner_text() and "0.74" in chosen.inner_text()
    panel.get_by_text("How long it took").click()
    assert "recall 0.02 s" in panel.locator("[data-part=timings]").inner_text().replace("\n", " ")
    panel.get_by_text("What it weighed").click()
    panel.get_by_text("How long it took").click()
    panel.evaluate("panel => panel.scrollTop = 0")

    page.locator(".listener .bubble").first.click()
    assert panel.locator("[data-part=feeling] .bar").first.inner_text().split()[0] == "lonely"
    assert page.locator(".turn mark").all_text_contents() == ["moved to Canada", "so quiet"]
    assert chart.locator("circle").first.get_attribute("class") == "point selected"
    panel.get_by_role("button", name="Close").click()
    assert panel.count() == 0 and page.locator(".turn mark").count() == 0

    tell(page, "🙂 I passed my exam 🙂")  # Python counts a smile as one character, JavaScript as two
    page.get_by_role("button", name="Why this reply").last.click()
    assert page.locator(".turn mark").last.inner_text() == "passed my exam"
    tell(page, "a bare word")
    page.get_by_role("button", name="Why this reply").last.click()
    assert panel.locator("[data-part]").count() == 0 and "Answered by companion." in panel.inner_text()


# ── how to answer ──────────────────────────────────────────────────────────────────────────────────────────────


def test_an_intent_that_is_chosen_is_sent_and_obeyed(companion, open_house, visit):
    page = visit(open_house(companion))
    ready(page)
    page.get_by_text("How to answer").click()
    target = page.get_by_label("The reply should be")
    assert target.locator("optgroup").evaluate_all("groups => groups.map(g => g.children.length)") == [8, 32]
    target.select_option("questioning")
    page.get_by_label("Warmth").select_option("much")
    page.get_by_label("Exploring").select_option("none")
    page.get_by_label("Manner").select_option("steady")
    page.get_by_label("Seed").fill("7")
    page.get_by_label("Candidates").fill("3")
    assert page.get_by_label("Compare with").is_hidden(), "one model cannot be compared"
    with page.expect_request("**/v1/reply") as sent:
        text = tell(page, LONELY)
    mechanisms = {"emotional_reaction": 2, "exploration": 0}
    wish = {"intent": "questioning", "mechanisms": mechanisms, "stochastic": False, "seed": 7, "candidates": 3}
    body = sent.value.post_data_json
    assert body == {
        "messages": [{"role": "user", "content": LONELY}],
        "model": "companion",
        "wish": wish,
        "stream": True,
    }
    assert companion.wishes[-1].intent == "questioning" and companion.wishes[-1].mechanisms == mechanisms
    assert text == f"{BY_INTENT['questioning']} (7)"
    assert page.locator("#how-now").inner_text() == (
        "questioning · much warmth · none exploring · steady · seed 7 · 3 candidates"
    )
    page.get_by_role("button", name="Why this reply").click()
    assert "You asked for questioning." in page.locator("[data-part=plan]").inner_text()
    target.select_option("grateful")
    page.get_by_label("Manner").select_option("varied")
    tell(page, "Once more")
    assert companion.wishes[-1].emotion == "grateful" and companion.wishes[-1].intent is None
    assert companion.wishes[-1].stochastic is True


def compare(page: Any, blind: bool) -> None:
    ready(page)
    page.get_by_text("How to answer").click()
    page.get_by_label("Compare with").select_option("mime")
    page.get_by_label("hide which is which").set_checked(blind)
    page.get_by_text("How to answer").click()


def test_two_models_are_compared_and_the_votes_reach_the_study(companion, mime, open_house, visit, tmp_path):
    page = visit(open_house(companion, mime))
    compare(page, blind=False)
    tell(page, LONELY)
    page.get_by_text("Which reply is better?").wait_for()
    assert said(page)[1:] == list(STORIES["sister"].answers)
    assert page.locator("article h3").all_inner_texts() == ["Reply A companion", "Reply B mime"]
    begin(page, "And now?")
    page.get_by_text("Please choose the better reply first.").wait_for()
    page.get_by_role("article", name="Reply B").get_by_role("button", name="Why this reply").click()
    assert "Answered by mime." in page.get_by_role("complementary").inner_text()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="B is better").click()
    page.get_by_text("You preferred mime to companion.").wait_for()
    assert said(page)[1:] == [STORIES["sister"].answers[1]]

    tell(page, "I passed my exam today!")
    page.get_by_text("Which reply is better?").wait_for()
    for listener in (companion, mime):
        assert listener.contexts[-1].turns[1].text == STORIES["sister"].answers[1], (
            "both go on with the preferred reply"
        )
    page.get_by_role("button", name="About the same").click()
    page.get_by_text("You found companion and mime the same.").wait_for()

    file = saved(page, "Export 2 votes", tmp_path)
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [row["choice"] for row in rows] == ["b", "tie"]
    assert rows[0]["context"] == [{"speaker": "speaker", "text": LONELY}] and rows[0]["emotion"] == "lonely"
    assert rows[0]["a"] == {"system": "companion", "reply": STORIES["sister"].answers[0]}
    study = tmp_path / "chat"
    main(["study", "votes", str(study), str(file)])
    main(["study", "votes", str(study), str(file)])  # twice adds nothing
    with sqlite3.connect(study / "study.sqlite") as db:
        answers = db.execute("SELECT json_extract(value, '$.choice') FROM answers ORDER BY done").fetchall()
    assert answers == [("right",), ("tie",)]


def test_a_blind_comparison_tells_nothing_before_the_vote(companion, mime, open_house, visit):
    page = visit(open_house(companion, mime))
    compare(page, blind=True)
    orders = set()
    for number in range(12):
        tell(page, f"I passed my exam, number {number}")
        page.get_by_text("Which reply is better?").wait_for()
        shown = page.locator(".turn.wide")
        names = ("companion", "mime")
        assert not any(name in shown.inner_text() for name in names)
        assert shown.get_by_role("button", name="Why this reply").count() == 0
        left = page.locator("article .words").first.inner_text()
        orders.add(left)
        page.get_by_role("button", name="A is better").click()
        kept = "companion" if left == STORIES["exam"].answers[0] else "mime"
        other = "mime" if kept == "companion" else "companion"
        assert f"You preferred {kept} to {other}." in page.locator(".vote-note").last.inner_text()
        if len(orders) == 2:
            break
    assert orders == set(STORIES["exam"].answers), "sides are shuffled"


def test_a_model_that_fails_leaves_the_other_to_go_on_with(companion, open_house, visit):
    page = visit(open_house(companion, BrokenMidway("mime")))
    compare(page, blind=False)
    tell(page, LONELY)
    page.get_by_role("button", name="Go on with A").wait_for()
    assert page.get_by_role("button", name="B is better").is_hidden()
    assert "The reply broke off." in page.get_by_role("article", name="Reply B").inner_text()
    page.get_by_role("button", name="Go on with A").click()
    assert said(page)[1:] == [STORIES["sister"].answers[0]]
    assert page.get_by_role("button", name="Export 1 vote").count() == 0, "that was no vote"


# ── the guard ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_guards_text_is_shown_apart_once_and_with_its_lines(companion, mime, open_house, visit):
    page = visit(open_house(companion, mime))
    compare(page, blind=True)
    text = tell(page, "I want to kill myself")
    guarded = page.locator(".bubble.guarded")
    assert guarded.count() == 1 and "not written by a model" in guarded.inner_text()
    assert text.count("\n") >= 4 and "988" in text and companion.contexts == mime.contexts == []
    assert guarded.locator(".words").first.evaluate("p => getComputedStyle(p).whiteSpace").startswith("pre-wrap")
    assert guarded.bounding_box()["height"] > 200
    assert page.get_by_role("button", name="Retry").is_hidden()
    page.get_by_role("button", name="Why this reply").click()
    assert "fixed text of the crisis guard" in page.get_by_role("complementary").inner_text()
    page.get_by_role("button", name="Close").click()
    page.get_by_text("How to answer").click()
    page.get_by_label("Compare with").select_option("")
    for _ in range(2):
        tell(page, "I was at the lake today.")
    assert tell(page, "The water was cold.") == PLAIN.answers[0]
    reminder = page.locator(".reminder:visible")
    assert reminder.count() == 1 and "988" in reminder.inner_text()
    assert tell(page, "I passed my exam") == STORIES["exam"].answers[0]
    assert PLAIN.answers[0] in [turn.text for turn in companion.contexts[-1].turns], (
        "reminders are not part of the talk"
    )


# ── when something is in the way ───────────────────────────────────────────────────────────────────────────────


def test_a_key_is_asked_for_and_kept_for_the_tab(companion, open_house, visit):
    page = visit(open_house(companion, access=Access(keys=("sesame",))))
    field = page.get_by_label("Key", exact=True)
    field.fill("simsalabim")
    page.keyboard.press("Enter")
    page.get_by_text("That key did not open it.").wait_for()
    field.fill("sesame")
    page.get_by_role("button", name="Open").click()
    ready(page)
    assert tell(page, LONELY) == STORIES["sister"].answers[0]
    page.reload()
    ready(page)
    assert page.get_by_role("dialog").count() == 0 and said(page) == [], "the key stays, the conversation does not"
    assert page.evaluate("[Object.keys(localStorage), Object.keys(sessionStorage)]") == [[], ["empathia key"]]


def test_without_a_key_the_page_says_what_is_needed(companion, open_house, visit):
    page = visit(open_house(companion, access=Access(keys=("sesame",))))
    page.get_by_label("Key", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("This server answers only with its key.").wait_for()
    begin(page, LONELY)
    page.get_by_label("Key", exact=True).fill("sesame")
    page.keyboard.press("Enter")
    assert answered(page) == STORIES["sister"].answers[0]
    ready(page)


def test_a_server_that_is_loading_is_waited_for_and_the_guard_is_not(companion, open_house, visit):
    loaded = threading.Event()

    def load() -> Listener:
        loaded.wait(PATIENCE)
        return companion

    page = visit(open_house(Services({"companion": Source(load)}, country="US")))
    page.get_by_text("empathia is waking up").wait_for()
    assert "988" in tell(page, "I want to kill myself"), "the guard needs no model"
    page.get_by_role("button", name="Start over").click()
    begin(page, LONELY)
    page.locator(".dots").wait_for()
    assert companion.contexts == []
    loaded.set()
    assert answered(page) == STORIES["sister"].answers[0]
    ready(page)
    assert page.locator("#notice").is_hidden()


def test_a_server_without_any_model_says_so(open_house, visit):
    def load() -> Responder:
        raise OSError("no weights here")

    page = visit(open_house(Services({"companion": Source(load)}, country="US")))
    page.get_by_text("has no model to answer with").wait_for()
    begin(page, LONELY)
    page.locator(".note", has_text="Please tell whoever runs it.").wait_for()


def test_a_full_queue_is_explained_and_retry_works(companion, open_house, visit):
    house = open_house(companion, limits=Limits(parallel=1, waiting=0))
    companion.gate.clear()
    first, second = visit(house), visit(house)
    begin(first, LONELY)
    until(lambda: len(said(first)[-1].split()) == HELD)
    begin(second, BETTER)
    problem = second.locator(".note", has_text="Many people are being answered just now.")
    problem.wait_for()
    assert "press Retry in" in problem.inner_text() and "second" in problem.inner_text()
    companion.gate.set()
    answered(first)
    second.get_by_role("button", name="Retry").click()
    until(lambda: len(companion.contexts) == 2)
    assert answered(second).startswith(STORIES["video"].answers[0])


def test_a_reply_that_breaks_off_and_a_server_that_goes_away(companion, open_house, visit):
    with serving(services(BrokenMidway("companion"))) as house:
        page = visit(house)
        ready(page)
        assert tell(page, LONELY) == "You said"
        assert "The reply broke off." in page.locator(".note:visible").inner_text()
    begin(page, "Are you there?")
    page.locator(".note", has_text="The server cannot be reached.").wait_for()


# ── for everyone ───────────────────────────────────────────────────────────────────────────────────────────────


def focused(page: Any) -> str:
    here = "document.activeElement"
    return page.evaluate(f"({here}.getAttribute('aria-label') ?? {here}.textContent).trim()")


def tab_to(page: Any, name: str) -> None:
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement !== document.body") and focused(page).startswith(name):
            return
    raise AssertionError(f"{name} cannot be reached by Tab")


def test_everything_works_by_keyboard_alone(companion, open_house, visit):
    page = visit(open_house(companion))
    ready(page)
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "Go to your message")
    page.keyboard.press("Enter")
    seen(page, "document.activeElement.id === 'words'")
    page.keyboard.type("I passed")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("my exam")
    page.keyboard.press("Enter")
    assert answered(page) == STORIES["exam"].answers[0] and said(page)[0] == "I passed\nmy exam"
    companion.gate.clear()
    page.keyboard.type("My sister called today.")
    page.keyboard.press("Enter")
    until(lambda: len(said(page)[-1].split()) == HELD)
    page.keyboard.press("Escape")
    page.get_by_text("Stopped here.").wait_for()
    companion.gate.set()
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "Why this reply")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "focus is seen"
    page.keyboard.press("Enter")
    page.get_by_role("complementary").wait_for()
    tab_to(page, "What it weighed")
    page.keyboard.press("Enter")
    assert page.get_by_role("row").count() == 4
    page.keyboard.press("Escape")
    assert page.get_by_role("complementary").count() == 0
    assert focused(page) == "Why this reply", "focus comes back"
    tab_to(page, "Retry")
    page.keyboard.press("Space")
    assert answered(page).startswith(STORIES["sister"].answers[0])
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "How to answer")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("wishing")
    tab_to(page, "Send")
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("Good night.")
    page.keyboard.press("Enter")
    assert answered(page) == BY_INTENT["wishing"]


def test_landmarks_and_names(companion, mime, open_house, visit):
    page = visit(open_house(companion, mime))
    compare(page, blind=True)
    tell(page, LONELY)
    page.get_by_role("button", name="A is better").click()
    page.get_by_role("button", name="Why this reply").click()
    page.get_by_text("How to answer").click()
    for role in ("banner", "main", "complementary"):
        assert page.get_by_role(role).count() == 1
    nameless = """[...document.querySelectorAll('button, select, input, textarea')].filter(node => !(
        node.getAttribute('aria-label') || node.tagName === 'BUTTON' && node.textContent.trim() ||
        node.labels?.length))"""
    assert page.evaluate(f"{nameless}.map(node => node.outerHTML)") == []
    assert page.locator("#spoken").get_attribute("aria-live") == "polite"
    faint = page.evaluate(CONTRAST)
    page.get_by_role("button", name="Use dark colours").click()
    assert faint + page.evaluate(CONTRAST) == []


#: Texts whose contrast with what is behind them is under WCAG's 4.5.
CONTRAST = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const behind = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) layers.unshift(getComputedStyle(one).backgroundColor);
    return layers;
  };
  const paint = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
      .map((v) => (v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const faint = [];
  for (const node of document.querySelectorAll('body *')) {
    const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!text || !node.checkVisibility() || node.disabled || node.closest('.visually-hidden, svg')) continue;
    const ground = behind(node);
    const [a, b] = [paint(ground), paint([...ground, getComputedStyle(node).color])].sort();
    const contrast = (b + .05) / (a + .05);
    if (contrast < 4.5) faint.push(`${node.textContent.slice(0, 40)} ${contrast.toFixed(2)}`);
  }
  return faint;
})()"""


def test_the_phone_has_everything_and_no_sideways_scrolling(companion, mime, open_house, visit):
    page = visit(open_house(companion, mime), **PHONE)
    ready(page)

    def fits() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        edge = """Math.max(...[...document.querySelectorAll('body *')]
            .filter(node => node.checkVisibility() && !node.closest('.visually-hidden, .scroll'))
            .map(node => node.getBoundingClientRect().right))"""
        assert page.evaluate(edge) <= 360

    fits()
    tell(page, LONELY)
    tell(page, BETTER)
    tell(page, "x" * 200)
    fits()
    page.get_by_role("button", name="Edit my last message").click()
    tell(page, "It was good.")
    page.get_by_role("button", name="Why this reply").nth(1).tap()
    fits()
    assert page.evaluate("document.activeElement.id") == "why-title"
    box = page.get_by_role("complementary").bounding_box()
    assert box["width"] == 360 and box["y"] > 100, "a drawer from below"
    page.get_by_text("What it weighed").tap()
    fits()
    page.get_by_role("button", name="Close").tap()
    compare(page, blind=True)
    page.get_by_text("How to answer").tap()
    fits()
    page.get_by_text("How to answer").tap()
    tell(page, "I passed my exam")
    page.get_by_role("button", name="B is better").wait_for()
    fits()
    a, b = (page.get_by_role("article", name=f"Reply {side}").bounding_box() for side in "AB")
    assert a["x"] == b["x"] and b["y"] > a["y"], "one below the other"
    page.get_by_role("button", name="B is better").tap()
    assert page.locator(".vote-note").count() == 1


def test_light_and_dark_follow_the_system_until_the_button(companion, open_house, visit):
    ground = "getComputedStyle(document.body).backgroundColor"
    house = open_house(companion)
    page = visit(house)
    light = page.evaluate(ground)
    page.get_by_role("button", name="Use dark colours").click()
    dark = page.evaluate(ground)
    assert light != dark
    page.reload()
    assert page.evaluate(ground) == dark, "remembered for the tab"
    page.get_by_role("button", name="Use light colours").click()
    assert page.evaluate(ground) == light
    night = visit(house, color_scheme="dark", reduced_motion="reduce")
    assert night.evaluate(ground) == dark
    tell(night, LONELY)
    tell(night, BETTER)
    night.get_by_role("button", name="Why this reply").last.click()
    companion.gate.clear()
    begin(night, "hello")
    assert night.locator(".dots i").first.evaluate("dot => getComputedStyle(dot).animationName") == "none"
    companion.gate.set()
    answered(night)
