"""What the server refuses, and what it never tells."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from study_people import Person, Refused, make_study, serving

from empathia.study.designs import DESIGNS
from empathia.study.links import annotator_of, token
from empathia.study.store import Study
from empathia.study.texts import texts_of


@dataclass
class House:
    study: Study
    port: int

    def person(self, name: str = "anna") -> Person:
        return Person(self.port, self.study.store.meta("secret"), name)

    def raw(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        http_ = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        http_.request(method, path, body if isinstance(body, bytes | None) else json.dumps(body), sent)
        response = http_.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    study = Study(make_study(tmp_path, "ab", entry="address", completion_url="https://example.org/done?cc=ABC"))
    with serving(study) as port:
        yield House(study, port)
    study.close()


def _click(item: int, **changes: Any) -> dict[str, Any]:
    return {
        "key": "0123456789abcdef",
        "item": item,
        "value": {"choice": "left"},
        "done": True,
        "seconds": 1.0,
        **changes,
    }


def test_a_wrong_link_opens_nothing(house: House) -> None:
    good = house.person().link
    name, _, signature = good.partition(".")
    other = token(house.study.store.meta("secret"), "ben").partition(".")[0]
    wrongs = [
        "",
        "x",
        f"{name}.",
        f"{other}.{signature}",
        good[:-1],
        good + "A",
        "%00.x",
        "é.é",
        token("00" * 32, "anna"),
    ]
    for wrong in wrongs:
        if wrong.isascii():
            assert house.raw("GET", f"/a/{wrong}")[0] == 404
        assert house.raw("GET", "/api/session", X_Study_Link=wrong)[0] == 401
        assert house.raw("POST", "/api/answers", _click(1), X_Study_Link=wrong)[0] == 401
        assert annotator_of(house.study.store.meta("secret"), wrong) is None
    status, _, body = house.raw("GET", f"/a/{good}")
    assert status == 200 and b"annotate.js" in body


def test_the_way_to_work_cannot_be_shortened(house: House) -> None:
    anna = house.person()
    for path, body in (("/api/next", {}), ("/api/practised", {}), ("/api/answers", _click(1))):
        with pytest.raises(Refused, match="403"):
            anna.post(path, body)
    anna.post("/api/begin")
    right = [q.correct for q in texts_of("ab").check]
    wrong = [(c + 1) % 2 for c in right]
    assert anna.post("/api/check", {"answers": wrong})["session"]["tries_left"] == 1
    assert anna.post("/api/check", {"answers": wrong})["session"]["stage"] == "screened"
    with pytest.raises(Refused, match="already over"):
        anna.post("/api/check", {"answers": right})
    with pytest.raises(Refused, match="403"):
        anna.post("/api/next")


def test_a_second_try_passes(house: House) -> None:
    anna = house.person()
    anna.post("/api/begin")
    right = [q.correct for q in texts_of("ab").check]
    first = anna.post("/api/check", {"answers": [*right[:-1], right[-1] - 1]})
    assert first["right"] == [True, True, False]
    assert anna.post("/api/check", {"answers": right})["session"]["stage"] == "practice"
    marks = anna.post("/api/practice", {"item": 0, "value": {"choice": "right"}})
    assert marks["marks"] == {"choice": False} and "grief" in marks["feedback"]
    assert anna.post("/api/practised")["stage"] == "work"


def test_forged_answers_are_refused_and_leave_no_trace(house: House) -> None:
    anna, ben = house.person(), house.person("ben")
    anna.prepare("ab")
    ben.prepare("ab")
    item = anna.post("/api/next")["items"][0]["item"]
    theirs = next(i for i in (1, 2, 3) if i != item)
    for body, status in (
        (_click(theirs), 403), (_click(10**6), 403), (_click(-1), 422),
        (_click(item, value={"choice": "System1"}), 422), (_click(item, value={"choice": ["left"]}), 422),
        (_click(item, value={}), 422), (_click(item, key="'; DROP TABLE clicks"), 422),
        (_click(item, key="short"), 422),
        (_click(item, annotator="ben"), 422), (_click(item, seconds=-1), 422), (_click(item, seconds="NaN"), 422),
        (_click(item, done="yes"), 422), (_click(item, value="left"), 422), ([], 422),
    ):  # fmt: skip
        with pytest.raises(Refused) as caught:
            anna.post("/api/answers", body)
        assert caught.value.status == status, body
    for bad in (b"{", b"\xff", b'{"key": NaN}', b"null"):
        assert house.raw("POST", "/api/answers", bad, X_Study_Link=anna.link)[0] in (400, 422)
    with pytest.raises(Refused, match="403"):
        ben.post("/api/answers", _click(item))
    with house.study.store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM clicks").fetchone()[0] == 0
        assert db.execute("SELECT COUNT(*) FROM answers").fetchone()[0] == 0


def test_posts_from_other_sites_are_refused(house: House) -> None:
    anna = house.person()
    own = f"http://127.0.0.1:{house.port}"
    enter = {"key": house.study.store.meta("admin_key")}
    for headers in (
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"}, {"Origin": f"{own}.evil.example"},
    ):  # fmt: skip
        assert house.raw("POST", "/api/begin", {}, X_Study_Link=anna.link, **headers)[0] == 403
        assert house.raw("POST", "/api/admin/enter", enter, **headers)[0] == 403
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    assert house.raw("POST", "/api/begin", b"a=1", X_Study_Link=anna.link, **form)[0] == 415
    assert (
        house.raw("POST", "/api/begin", {}, X_Study_Link=anna.link, Origin=own, Sec_Fetch_Site="same-origin")[0] == 200
    )
    assert house.raw("POST", "/api/begin", b" " * 70_000, X_Study_Link=anna.link)[0] == 413
    chunked = {"Transfer_Encoding": "chunked", "Content_Type": "application/json", "X_Study_Link": anna.link}
    assert house.raw("POST", "/api/begin", None, **chunked)[0] in (400, 411)


def test_pages_keep_to_themselves(house: House) -> None:
    for path in (f"/a/{house.person().link}", "/admin", "/static/annotate.js", "/"):
        headers = house.raw("GET", path)[1]
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer" and headers["x-content-type-options"] == "nosniff"
    for name in ("../app.py", "__init__.py", "%2e%2e/app.py", "nothing.js"):
        assert house.raw("GET", f"/static/{name}")[0] == 404
    pages = Path(texts_of.__code__.co_filename).parent / "pages"
    for page in pages.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert (
            not re.search(r"<script(?![^>]*src=)", text)
            and " style=" not in text
            and "//" not in text.replace("<!doctype", "")
        )
    for script in pages.glob("*.js"):
        assert "innerHTML" not in script.read_text(encoding="utf-8")


@pytest.mark.parametrize("design", DESIGNS)
def test_no_systems_name_and_no_one_elses_answer_reaches_a_browser(design: str, tmp_path: Path) -> None:
    study = Study(make_study(tmp_path, design, check=False, practice=False))
    with serving(study) as port:
        told = ""
        for name in ("anna", "ben"):
            person = Person(port, study.store.meta("secret"), name)
            told += json.dumps([person.call("GET", "/api/session"), person.post("/api/begin")])
            found = person.post("/api/next")
            assert all(item["value"] == {} for item in found["items"])
            told += json.dumps(found) + json.dumps(person.call("GET", "/api/placed?position=0"))
            for item in found["items"]:
                whole = {"ratings": {"empathy": 1}, "ab": {"choice": "left"}, "bins": {"bins": {"0": "good"}}}[design]
                person.answer(item["item"], whole, done=False)
    study.close()
    assert "System" not in told and '"gold"' not in told and "afraid-0" not in told


def test_script_in_a_reply_and_a_very_long_reply_travel_as_plain_text(tmp_path: Path) -> None:
    from empathia.core.replies import SystemReply, write_replies
    from empathia.core.types import Context
    from empathia.study.sampling import matched_questions, rating_items
    from empathia.study.settings import Settings
    from empathia.study.store import create_study

    evil = "<script>document.title='gone'</script><img src=x onerror=alert(1)>"
    long = "word " * 10_000
    rows = [SystemReply(str(i), "S", Context.of(evil), text) for i, text in enumerate((evil, long, ""))]
    write_replies(tmp_path / "s.jsonl", rows)
    items = rating_items(matched_questions([tmp_path / "s.jsonl"]))
    settings = Settings("x", "ratings", 1, check=False, practice=False)
    create_study(tmp_path / "study", settings, [[item] for item in items])
    study = Study(tmp_path / "study")
    with serving(study) as port:
        person = Person(port, study.store.meta("secret"), "anna")
        person.post("/api/begin")
        shown = set()
        while (found := person.post("/api/next"))["state"] == "work":
            shown.add(found["items"][0]["replies"][0])
            levels = dict.fromkeys(("empathy", "relevance", "fluency", "presence", "interpretation", "exploration"), 2)
            person.answer(found["items"][0]["item"], levels)
    study.close()
    assert shown == {evil, long, ""}


def test_an_id_in_the_address_joins_once_and_ends_at_the_completion_link(house: House) -> None:
    query = "/join?PROLIFIC_PID=5f3c&STUDY_ID=s1&SESSION_ID=x9"
    first, again = house.raw("GET", query), house.raw("GET", query)
    assert first[0] == again[0] == 303 and first[1]["location"] == again[1]["location"]
    person = house.person("5f3c")
    assert first[1]["location"] == f"/a/{person.link}"
    person.prepare("ab")
    assert person.work(lambda item: {"choice": "tie"}) == 3
    thanks = person.post("/api/next")
    assert thanks["state"] == "thanks" and thanks["completion_url"] == "https://example.org/done?cc=ABC"
    assert json.loads(_one(house, "SELECT address FROM annotators"))["STUDY_ID"] == "s1"
    for bad in ("/join", "/join?PROLIFIC_PID=", "/join?OTHER=1"):
        assert house.raw("GET", bad)[0] == 404
    assert house.raw("GET", f"/join?PROLIFIC_PID={'x' * 200}")[0] == 422
    assert house.raw("GET", "/join?PROLIFIC_PID=%00")[0] == 422


def test_back_and_change_and_resume_elsewhere(house: House) -> None:
    anna = house.person()
    anna.prepare("ab")
    item = anna.post("/api/next")["items"][0]
    anna.answer(item["item"], {"choice": "left"})
    second = anna.post("/api/next")
    assert second["done"] == 1 and second["total"] == 3
    elsewhere = house.person()
    assert elsewhere.post("/api/next")["items"] == second["items"]
    earlier = elsewhere.call("GET", "/api/placed?position=0")
    assert earlier["value"] == {"choice": "left"} and earlier["finished"]
    elsewhere.answer(item["item"], {"choice": "right"}, done=False)
    assert anna.call("GET", "/api/placed?position=0")["value"] == {"choice": "right"}
    with pytest.raises(Refused, match="404"):
        anna.call("GET", "/api/placed?position=7")


def test_the_admin_page_is_behind_its_key(house: House) -> None:
    anna = house.person()
    anna.prepare("ab")
    for path in ("/api/admin/status", "/api/admin/export/answers.csv", "/admin/report"):
        assert house.raw("GET", path)[0] == 401
        assert house.raw("GET", path, Cookie="study_admin=guess")[0] == 401
    assert house.raw("POST", "/api/admin/pause", {"paused": True})[0] == 401
    assert house.raw("POST", "/api/admin/enter", {"key": "guess"})[0] == 401
    status, headers, _ = house.raw("POST", "/api/admin/enter", {"key": house.study.store.meta("admin_key")})
    assert status == 200 and "HttpOnly" in headers["set-cookie"] and "samesite=strict" in headers["set-cookie"].lower()
    cookie = headers["set-cookie"].split(";")[0]

    anna.answer(anna.post("/api/next")["items"][0]["item"], {"choice": "left"})
    found = json.loads(house.raw("GET", "/api/admin/status", Cookie=cookie)[2])
    assert found["progress"]["finished"] == 1 and found["progress"]["wanted"] == 9
    assert [a["annotator"] for a in found["annotators"]] == ["anna"]
    for fmt in ("csv", "jsonl", "parquet"):
        assert house.raw("GET", f"/api/admin/export/answers.{fmt}", Cookie=cookie)[0] == 200
    assert house.raw("GET", "/api/admin/export/secrets.csv", Cookie=cookie)[0] == 422
    assert b"<h1>" in house.raw("GET", "/admin/report", Cookie=cookie)[2]

    house.raw("POST", "/api/admin/pause", {"paused": True}, Cookie=cookie)
    assert anna.post("/api/next")["state"] == "paused"
    house.raw("POST", "/api/admin/pause", {"paused": False}, Cookie=cookie)
    assert anna.post("/api/next")["state"] == "work"
    house.raw("POST", "/api/admin/exclude", {"annotator": "anna", "excluded": True}, Cookie=cookie)
    with pytest.raises(Refused, match="403"):
        anna.post("/api/next")
    assert house.raw("POST", "/api/admin/exclude", {"annotator": "no one", "excluded": True}, Cookie=cookie)[0] == 404


def test_an_expired_lease_answers_410(tmp_path: Path) -> None:
    clock = [1_000_000.0]
    study = Study(
        make_study(tmp_path, "ab", emotions=("sad",), annotators=1, check=False, practice=False), lambda: clock[0]
    )
    with serving(study) as port:
        anna, ben = (Person(port, study.store.meta("secret"), name) for name in ("anna", "ben"))
        anna.post("/api/begin")
        ben.post("/api/begin")
        item = anna.post("/api/next")["items"][0]["item"]
        clock[0] += 21 * 60
        assert ben.post("/api/next")["items"][0]["item"] == item
        with pytest.raises(Refused, match=r"410.*gone to someone else"):
            anna.answer(item, {"choice": "left"})
        assert anna.post("/api/next")["state"] == "full"
    study.close()


def _one(house: House, sql: str) -> Any:
    with house.study.store.reading() as db:
        return db.execute(sql).fetchone()[0]
