"""At the most verbose level no log holds a word anyone wrote, a query, a header or a key, whatever goes wrong."""

from __future__ import annotations

import json

import httpx
import pytest
import serve_workers
from serve_house import said, services, serving
from serve_listeners import Echo
from serve_start import started

from empathia.serve.keep import Keep

MARKER = "pineapple-submarine"
CRISIS = f"I want to kill myself in my {MARKER}"


def ask_everything(http: httpx.Client) -> set[int]:
    """Every route, well and badly, each time with the marker in it; returns the statuses seen."""
    text = f"my {MARKER} is lost"
    good = {"messages": said(text)}
    bodies = [
        good,
        good | {"stream": True},
        good | {"model": "plain"},
        good | {"model": "broken"},
        good | {"model": "broken", "stream": True},
        good | {"model": "midway", "stream": True},
        good | {"model": MARKER},
        good | {"temperature": MARKER, MARKER: MARKER},
        good | {"wish": {"emotion": MARKER}, "empathia": {"emotion": MARKER}},
        {"messages": said(CRISIS)},
        {"messages": [{"role": MARKER, "content": MARKER}]},
        {"messages": said(MARKER * 2000)},
        {"input": MARKER},
        MARKER,
    ]
    seen = set()
    for path in ("/v1/chat/completions", "/v1/reply", "/v1/perceive", "/v1/embeddings", f"/v1/{MARKER}"):
        for body in bodies:
            headers = {"Authorization": f"Bearer {MARKER}", "X-Note": MARKER}
            seen.add(http.post(path, params={"q": MARKER}, json=body, headers=headers).status_code)
        seen.add(http.post(path, content=f'{{"messages": "{MARKER}'.encode()).status_code)
    for path in (f"/v1/models/{MARKER}", f"/static/{MARKER}", f"/?{MARKER}", f"/{MARKER}", "/metrics", "/health"):
        seen.add(http.get(path, headers={"Origin": f"https://{MARKER}.example"}).status_code)
        seen.add(http.get(path).status_code)
        seen.add(http.request(MARKER.replace("-", ""), path).status_code)
    return seen


def test_no_log_holds_what_anyone_wrote(tmp_path):
    kept = tmp_path / "kept.jsonl"
    options = ("--level", "debug", "--keep", str(kept))
    with started(tmp_path, *options, code=serve_workers.CODE) as server:
        with httpx.Client(base_url=server.url, verify=False, timeout=60) as http:
            seen = ask_everything(http)
            http.post("/v1/reply", json={"messages": said(f"slow {MARKER}")})
        assert {200, 400, 403, 404, 405, 500, 501} <= seen
        server.stop()
    printed = server.printed()
    assert MARKER not in printed and "kill" not in printed
    assert "RuntimeError at" in printed and "POST /v1/reply 200" in printed  # it was verbose indeed
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert rows and all(MARKER in row["turns"][-1]["text"] for row in rows)
    assert not [row for row in rows if "kill" in json.dumps(row)]


def test_nothing_is_written_without_keep(tmp_path, monkeypatch):
    def refuse(*given: object) -> None:
        raise AssertionError("something was kept")

    monkeypatch.setattr(Keep, "append", refuse)
    with serving(services(Echo())) as house:
        assert house.reply("hello").status_code == 200
        assert house.http.get("/health").json()["keeps_conversations"] is False


def test_a_conversation_once_in_danger_is_never_kept(tmp_path):
    kept = tmp_path / "kept.jsonl"
    with serving(services(Echo()), keep=kept) as house:
        assert house.http.get("/health").json()["keeps_conversations"] is True
        house.reply("hello").raise_for_status()
        for later in (CRISIS, "no", "no really", "soup for lunch", "tea"):
            house.reply(CRISIS, "…", "no", "…", "no", "…", "fine", "…", later).raise_for_status()
        house.chat("hello again", n=2, stream=True).raise_for_status()
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [row["turns"][-1]["text"] for row in rows] == ["hello", "hello again", "hello again"]
    assert rows[0].keys() == {"id", "time", "model", "turns", "reply"}


def test_what_cannot_be_kept_does_not_spoil_the_reply(tmp_path, caplog):
    kept = tmp_path / "kept.jsonl"
    with serving(services(Echo()), keep=kept) as house:
        kept.unlink()
        kept.mkdir()
        assert house.reply(f"my {MARKER}").status_code == 200
    assert "could not be kept" in caplog.text and MARKER not in caplog.text


def test_a_half_written_line_is_taken_back(tmp_path, monkeypatch):
    import os

    keep = Keep(tmp_path / "kept.jsonl")
    keep.append({"a": 1})
    write = os.write
    monkeypatch.setattr("empathia.serve.keep.os.write", lambda file, data: write(file, data[:3]))
    with pytest.raises(OSError, match="full"):
        keep.append({"b": 2})
    assert keep.path.read_text() == '{"a": 1}\n'
