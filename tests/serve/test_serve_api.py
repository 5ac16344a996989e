"""The routes over real HTTP: replies, the guard before them, perception, names, errors in one shape."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from serve_house import House, said, services, serving, until
from serve_listeners import Broken, BrokenMidway, Echo, Plain

from empathia.core.errors import MissingFile
from empathia.core.taxonomy import EMOTIONS
from empathia.core.types import Context, Evidence, Responder
from empathia.serve import Services, Source
from empathia.serve.writing import Cut

CRISIS = "I want to kill myself"


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with serving(services(Echo(), Plain(), Broken(), BrokenMidway("midway"), perceive=seen)) as house:
        yield house


def seen(context: Context) -> Evidence:
    return Evidence(emotion={"proud": 1.0}, polarity=0.9, causes=(0,), cause_words=((0, 2, 6),), sentiment=float("nan"))


def events(response: httpx.Response) -> list[Any]:
    """The objects of a stream; it must end in [DONE]."""
    assert response.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error"} and set(body["error"]) == {"message", "type", "param", "code"}
    error: dict[str, Any] = body["error"]
    return error


def test_a_reply_comes_with_its_evidence(house):
    body = house.reply("My cat ran away.", wish={"emotion": "sad", "seed": 3, "mechanisms": {"exploration": 2}}).json()
    assert body["text"] == "You said: My cat ran away." and body["model"] == "echo"
    assert body["evidence"] == {"emotion": {"sad": 0.75, "joyful": 0.25}}
    assert body["candidates"] == [{"text": body["text"], "scores": {"log_probability": -1.5}}]
    assert body["timings"] == {"write": 0.0} and body["guard"]["level"] == "none"
    wish = house.desk.services.responders["echo"].wishes[-1]
    assert (wish.emotion, wish.seed, wish.mechanisms) == ("sad", 3, {"exploration": 2})


def test_a_streamed_reply_is_pieces_and_then_the_whole(house):
    *pieces, last = events(house.reply("My cat ran away.", stream=True))
    assert len(pieces) > 3 and "".join(piece["delta"] for piece in pieces) == last["reply"]["text"]
    assert last["reply"]["evidence"]["emotion"]["sad"] == 0.75


def test_roles_become_speaker_and_listener_and_system_messages_are_left_out(house):
    messages = [{"role": "system", "content": "Be a pirate."}, *said("Hello", "Hi!", "I am back.")]
    house.http.post("/v1/reply", json={"messages": messages}).raise_for_status()
    turns = house.desk.services.responders["echo"].contexts[-1].turns
    assert [(t.speaker, t.text) for t in turns] == [
        ("speaker", "Hello"),
        ("listener", "Hi!"),
        ("speaker", "I am back."),
    ]


def test_content_may_come_in_parts(house):
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    found = house.http.post("/v1/reply", json={"messages": [{"role": "user", "content": parts}]}).json()
    assert found["text"] == "You said: one two"


def test_perception_alone(house):
    found = house.http.post("/v1/perceive", json={"messages": said("I made it!")}).json()
    assert found == {
        "evidence": {
            "emotion": {"proud": 1.0},
            "polarity": 0.9,
            "causes": [0],
            "cause_words": [[0, 2, 6]],
            "sentiment": None,
        }
    }


def test_without_perception_or_embeddings_the_server_says_so():
    with serving(services(Echo())) as house:
        assert (
            "not installed" in problem(house.http.post("/v1/perceive", json={"messages": said("hi")}), 501)["message"]
        )
        assert "not installed" in problem(house.http.post("/v1/embeddings", json={"input": "hi"}), 501)["message"]


def test_names_of_feelings(house):
    found = house.http.get("/v1/taxonomy").json()
    assert found["emotions"] == list(EMOTIONS) and len(found["intents"]) == 8 and found["levels"] == [0, 1, 2]
    assert set(found["positive"]) < set(found["emotions"]) and len(found["mechanisms"]) == 3


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/reply"])
@pytest.mark.parametrize("model", ["echo", "broken", "no such model", None])
def test_a_crisis_is_answered_whatever_the_model_does(house, path, model):
    asked = house.desk.services.responders["echo"].asked
    body = house.http.post(path, json={"messages": said(CRISIS), "model": model, "max_tokens": 1}).json()
    text = body["text"] if "text" in body else body["choices"][0]["message"]["content"]
    guard = body["guard"] if "guard" in body else body["empathia"]["guard"]
    assert "988" in text and text == guard["text"]
    assert guard["level"] == "crisis" and guard["replaces_reply"] is True
    assert house.desk.services.responders["echo"].asked == asked  # no model was asked


def test_a_crisis_is_answered_in_a_stream_too(house):
    piece, last = events(house.reply(CRISIS, stream=True, model="broken"))
    assert "988" in piece["delta"] and last["reply"]["text"] == piece["delta"]


def test_a_crisis_is_answered_while_the_model_loads_and_when_none_could_be_loaded():
    waiting = threading.Event()

    def never() -> Responder:
        waiting.wait(30)
        raise MissingFile("the weights are gone", "fetch them")

    with serving(Services({"slow": Source(never, "never ready")}, country="US")) as house:
        assert "988" in house.reply(CRISIS).json()["text"]
        assert problem(house.reply("hello"), 503)["code"] == "loading"
        assert house.reply("hello").headers["retry-after"]
        assert problem(house.http.get("/health"), 503)["code"] == "loading"
        waiting.set()
        until(lambda: house.desk.catalogue.state == "failed")
        assert "988" in house.reply(CRISIS).json()["text"]
        assert problem(house.reply("hello"), 503)["code"] == "no_model"
        assert "weights are gone" in problem(house.reply("hello", model="slow"), 503)["message"]
        assert problem(house.http.get("/health"), 503)["code"] == "no_model"


def test_later_a_line_of_help_stands_under_the_reply_and_is_not_read_back(house):
    texts = [CRISIS, "…", "No, it was nothing.", "…", "Really.", "…", "I had soup for lunch."]
    found = house.reply(*texts).json()
    help_line = found["guard"]["text"]
    assert found["guard"]["level"] == "alert" and not found["guard"]["replaces_reply"] and "988" in help_line
    assert found["text"] == f"You said: I had soup for lunch.\n\n{help_line}"
    *pieces, last = events(house.reply(*texts, found["text"], "And tea.", stream=True))
    assert "".join(piece["delta"] for piece in pieces) == last["reply"]["text"] == f"You said: And tea.\n\n{help_line}"
    assert house.desk.services.responders["echo"].contexts[-1].turns[-2].text == "You said: I had soup for lunch."


def test_a_long_strange_message_does_not_hold_the_guard_up(house):
    for text in ("a" * 8000, "é" * 8000, "x." * 4000, "@a1" * 2600):
        started = time.perf_counter()
        assert house.reply(text).status_code == 200
        assert time.perf_counter() - started < 5, text[:3]


def test_health_is_503_until_the_first_that_can_be_loaded_is_there():
    ready = threading.Event()

    def slow() -> Responder:
        ready.wait(30)
        return Echo("second")

    def missing() -> Responder:
        raise MissingFile("no weights", "fetch them")

    with serving(Services({"first": Source(missing), "second": Source(slow, "a slow one")}, country="US")) as house:
        assert problem(house.http.get("/health"), 503)["code"] == "loading"
        ready.set()
        until(lambda: house.http.get("/health").status_code == 200)
        assert house.http.get("/health").json() == {"status": "ok", "model": "second", "keeps_conversations": False}
        assert [model["id"] for model in house.http.get("/v1/models").json()["data"]] == ["second", "first"]
        assert house.reply("hello").json()["model"] == "second"


def test_a_responder_is_loaded_when_it_is_first_asked():
    loaded = []

    def load() -> Responder:
        loaded.append(1)
        return Plain("lazy")

    with serving(Services({"echo": Echo(), "lazy": Source(load)}, country="US")) as house:
        house.reply("hello").raise_for_status()
        assert loaded == []
        assert [house.reply("hello", model="lazy").json()["text"] for _ in range(2)] == ["I heard: hello"] * 2
        assert loaded == [1]


def test_a_dying_model_is_an_error_in_our_shape_and_the_next_request_works(house):
    error = problem(house.reply("my secret", model="broken"), 500)
    assert error["type"] == "server_error" and "secret" not in json.dumps(error)
    *pieces, last = events(house.reply("my secret", model="midway", stream=True))
    assert [piece["delta"] for piece in pieces] == ["You", " said"]
    assert last["error"]["type"] == "server_error" and "secret" not in json.dumps(last)
    assert problem(house.reply("my secret", model="broken", stream=True), 500)  # before the first piece: a status
    assert house.reply("hello").status_code == 200


BAD = {
    "no messages": {},
    "empty": {"messages": []},
    "last is the assistant's": {"messages": [{"role": "assistant", "content": "hi"}]},
    "only blanks": {"messages": said("  \n ")},
    "unknown role": {"messages": [{"role": "robot", "content": "hi"}]},
    "an image": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
    "no text": {"messages": [{"role": "user", "content": None}]},
    "too many messages": {"messages": said(*["hi"] * 201)},
    "too long": {"messages": said("x" * 8001)},
    "too long in all": {"messages": said(*["x" * 7000] * 5)},
    "many choices": {"messages": said("hi"), "n": 9},
    "no choice": {"messages": said("hi"), "n": 0},
    "many tokens": {"messages": said("hi"), "max_tokens": 4097},
    "hot": {"messages": said("hi"), "temperature": 2.5},
    "number as text": {"messages": said("hi"), "n": "2"},
    "huge seed": {"messages": said("hi"), "seed": 2**63},
    "five stops": {"messages": said("hi"), "stop": list("abcde")},
    "unknown feeling": {"messages": said("hi"), "empathia": {"emotion": "grumpy"}},
    "unknown level": {"messages": said("hi"), "empathia": {"mechanisms": {"exploration": 3}}},
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_bad_bodies_are_refused_by_name(house, body):
    error = problem(house.http.post("/v1/chat/completions", json=body), 400)
    assert error["type"] == "invalid_request_error" and error["param"]


def test_what_is_no_json_or_no_text_is_refused(house):
    headers = {"Content-Type": "application/json"}
    for body in (b"", b"{", b"[]", b"null", b"\xff", b'"x"', b"[" * 100_000, b'{"seed": ' + b"9" * 5000 + b"}"):
        problem(house.http.post("/v1/chat/completions", content=body, headers=headers), 400)
    lone = b'{"messages": [{"role": "user", "content": "\\ud800"}]}'
    problem(house.http.post("/v1/chat/completions", content=lone, headers=headers), 400)
    nan = b'{"messages": [{"role": "user", "content": "hi"}], "temperature": NaN}'
    problem(house.http.post("/v1/chat/completions", content=nan, headers=headers), 400)
    problem(house.http.post("/v1/chat/completions", content=json.dumps({"messages": said("hi")}).encode()), 400)


def test_errors_do_not_repeat_what_was_sent(house):
    for body in (
        {"messages": said("pineapple" * 1000)},
        {"messages": [{"role": "pineapple", "content": ["pineapple"]}]},
    ):
        assert "pineapple" not in house.http.post("/v1/reply", json=body | {"wish": {"pineapple": 1}}).text


def test_other_addresses_and_methods(house):
    assert problem(house.http.get("/v1/nothing"), 404)["code"] == "not_found"
    response = house.http.put("/v1/chat/completions")
    assert problem(response, 405) and response.headers["allow"] == "POST"
    assert problem(house.http.get("/static/../app.py"), 404)
    assert problem(house.http.get("/static/%2e%2e/app.py"), 404)


def test_metrics_count_and_tell_nothing(house):
    house.reply("a pineapple in the garden").raise_for_status()
    house.reply(CRISIS).raise_for_status()
    text = house.http.get("/metrics").text
    for line in ('empathia_replies_total{model="echo"}', "empathia_guard_answers_total", "empathia_slots_busy 0.0",
                 'empathia_requests_total{route="/v1/reply",status="200"}', "empathia_request_seconds_bucket",
                 "empathia_queue_length 0.0"):  # fmt: skip
        assert line in text
    assert "pineapple" not in text and "kill" not in text


def test_stop_sequences_are_found_across_pieces():
    def through(stops, *pieces):
        cut = Cut(stops)
        return [piece for piece in [*map(cut.piece, pieces), cut.rest()] if piece]

    assert through(["END"], "abcE", "N", "D and more", "x") == ["abc"]
    assert "".join(through(["END"], "abcE", "NE", "ND")) == "abcEN"
    assert through(["\n\n"], "one\n", "two") == ["one", "\ntwo"]
    assert through([], "a", "b") == ["a", "b"]
    assert Cut(["b", "c"]).whole("xxcxb") == "xx"
