"""Processes: the command itself, several workers behind one address, Ctrl-C, a backend."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
import serve_workers
from serve_house import House, said, services, serving, until
from serve_listeners import Echo
from serve_start import soon, started

from empathia.cli import main
from empathia.core.errors import BadInput
from empathia.core.types import Context, Reply, Wish
from empathia.serve import Access
from empathia.serve.errors import Problem
from empathia.serve.remote import Breaker, RemoteResponder, base_of, first_model
from empathia.serve.run import listen


def test_several_workers_share_one_address_and_a_killed_one_is_replaced(tmp_path):
    with started(tmp_path, "--workers", "2", "--level", "info", code=serve_workers.CODE) as server:
        until(lambda: len(server.children()) == 2)

        def ask(number: int) -> str:
            """A connection for each request, so that any worker may take it."""
            body = {"messages": said(f"hello {number}")}
            with httpx.Client(base_url=server.url, verify=False, timeout=60) as http:
                return http.post("/v1/reply", json=body).json()["text"]

        with ThreadPoolExecutor(8) as people:
            assert list(people.map(ask, range(40))) == [f"You said: hello {number}" for number in range(40)]
        counted = httpx.get(f"{server.url}/metrics", verify=False, timeout=60).text  # any worker adds up all of them
        assert 'empathia_replies_total{model="echo"} 40.0' in counted and "empathia_slots_busy 0.0" in counted
        first, second = server.children()
        os.kill(first, signal.SIGKILL)
        assert ask(99) == "You said: hello 99"
        until(lambda: len(server.children()) == 2 and first not in server.children(), 300)
        assert second in server.children()
        assert server.stop() < soon(2)
    assert server.children() == [] and server.process.returncode == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_ends_it_soon_with_a_stream_running(tmp_path, workers):
    with started(tmp_path, "--pause", "0.1", "--workers", workers, code=serve_workers.CODE) as server:
        body = {"messages": said("word " * 500), "stream": True}
        with httpx.stream("POST", f"{server.url}/v1/reply", json=body, verify=False, timeout=60) as response:
            lines = response.iter_lines()
            assert "delta" in next(lines)
            assert server.stop() < soon(2)
            rest = [line for line in lines if line]
        assert json.loads(rest[-2].removeprefix("data: "))["error"]["code"] == "stopping" and rest[-1] == "data: [DONE]"
    assert "Traceback" not in server.printed()


def test_the_command_serves_a_trained_run(trained_home, tmp_path):
    (trained_home / "none shipped").mkdir()
    kept = tmp_path / "kept.jsonl"
    with started(tmp_path, "--model", "mime", "--keep", str(kept), "--log-level", "debug", "--country", "NZ") as server:
        reply = httpx.post(
            f"{server.url}/v1/reply", json={"messages": said("I lost my job.")}, verify=False, timeout=60
        )
        assert reply.json()["model"] == "mime" and len(reply.json()["evidence"]["emotion"]) == 32
        crisis = httpx.post(
            f"{server.url}/v1/reply", json={"messages": said("I want to kill myself")}, verify=False, timeout=60
        )
        assert "1737" in crisis.json()["text"]
        names = [model["id"] for model in httpx.get(f"{server.url}/v1/models", verify=False, timeout=60).json()["data"]]
        assert names[0] == "mime"
        assert server.stop() < soon(2) and server.process.returncode == 0
    printed = server.printed()
    assert (
        "not a person" in printed
        and "Ctrl-C" in printed
        and f"kept in {kept}" in printed
        and "Traceback" not in printed
    )
    assert "lost my job" not in printed and "POST /v1/reply 200" in printed
    (row,) = [json.loads(line) for line in kept.read_text().splitlines()]  # and nothing of the crisis
    assert row["turns"] == [{"speaker": "speaker", "text": "I lost my job."}] and row["reply"] == reply.json()["text"]
    assert kept.stat().st_mode & 0o777 == 0o600


def test_mistakes_are_told_in_a_line(capsys, tmp_path):
    def told(*options: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["serve", *options])
        assert ended.value.code != 0
        said = capsys.readouterr().err.strip()
        assert "\n" not in said
        return said

    assert "needs a key; add --key" in told("--host", "0.0.0.0")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "already in use; choose another --port" in told("--port", str(taken.getsockname()[1]))
    assert "no responder 'nobody'" in told("--model", "nobody")
    assert "name the model" in told("--backend", "http://127.0.0.1:9")
    assert "http://127.0.0.1:8000/v1" in told("--backend", "nonsense")
    assert "choose another file for --keep" in told("--keep", str(tmp_path))
    assert "two letters" in told("--country", "Atlantis")


# A backend ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def backend() -> Iterator[House]:
    """Another empathia, with a key: as OpenAI-compatible a server as any."""
    with serving(services(Echo("far"), Echo("slow", pause=0.05)), access=Access(keys=("k",))) as house:
        yield house


def remote(house: House, model: str = "far", **more: object) -> RemoteResponder:
    return RemoteResponder(house.url, model, "k", **more)  # type: ignore[arg-type]


def test_a_backend_generates(backend):
    with serving(services(remote(backend))) as front:
        assert front.chat("good morning").json()["choices"][0]["message"]["content"] == "You said: good morning"
        pieces = [line for line in front.reply("good morning", stream=True).text.split("\n\n") if '"delta"' in line]
        assert len(pieces) == 4  # streamed on as it came
        front.chat("one two three", max_tokens=3, temperature=0.2, top_p=0.9, seed=5, stop="zebra", n=2)
    wish, other = backend.desk.services.responders["far"].wishes[-2:]
    assert (wish.length, wish.temperature, wish.top_p, wish.seed, wish.stop) == (3, 0.2, 0.9, 5, ("zebra",))
    assert other.seed == 6


def test_leaving_the_front_closes_the_backend_too(backend):
    slow = backend.desk.services.responders["slow"]
    with (
        serving(services(remote(backend, "slow"))) as front,
        httpx.stream(
            "POST", f"{front.url}/v1/reply", json={"messages": said("word " * 300), "stream": True}
        ) as response,
    ):
        next(response.iter_lines())
        assert slow.live == 1
        response.close()
        assert until(lambda: slow.live == 0) < 2
        assert until(lambda: front.desk.slots.busy == 0) < 2


def test_stop_is_heard_while_the_backend_is_silent():
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        stop = threading.Event()
        threading.Timer(0.2, stop.set).start()
        began = time.perf_counter()
        mute_one = RemoteResponder(f"http://127.0.0.1:{mute.getsockname()[1]}", "x")
        assert list(mute_one.stream(Context.of("hello"), Wish(), stop)) == []
        assert time.perf_counter() - began < 5


@contextmanager
def failing(*answers: int | str) -> Iterator[tuple[str, Counter[str]]]:
    """A server that gives these answers one after the other, the last one for ever."""
    count: Counter[str] = Counter()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            answer = answers[min(count["asked"], len(answers) - 1)]
            count["asked"] += 1
            if isinstance(answer, int):
                self.send_error(answer)
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *given: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", count
    finally:
        server.shutdown()
        server.server_close()


GOOD = 'data: {"choices": [{"delta": {"content": "Hello"}}]}\n\ndata: {"choices": []}\n\ndata: [DONE]\n\n'


def test_what_has_not_begun_is_tried_again():
    with failing(503, 502, GOOD) as (url, count):
        assert RemoteResponder(url, "x").reply(Context.of("hi")).text == "Hello"
        assert count["asked"] == 3


@pytest.mark.parametrize(
    ("answer", "status", "asked", "says"),
    [
        (401, 502, 1, "--backend-key"),
        (404, 502, 1, "no such model"),
        (400, 502, 1, "answers 400"),
        (429, 503, 1, "too much to do"),
        (503, 503, 3, "answers 503"),
        ("data: {]\n\n", 502, 1, "cannot be understood"),
        ('data: {"error": {"message": "oh"}}\n\n', 502, 1, "in the middle"),
    ],
)
def test_a_failing_backend_is_told_clearly(answer, status, asked, says):
    with failing(answer) as (url, count), pytest.raises(Problem, match=says) as problem:
        RemoteResponder(url, "x").reply(Context.of("hi"))
    assert problem.value.status == status and count["asked"] == asked


def test_nobody_there_is_503_and_soon_said_at_once():
    now = [0.0]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    gone = RemoteResponder(url, "gone", breaker=Breaker(2, 10, lambda: now[0]))
    with serving(services(gone)) as front:
        for _ in range(2):
            assert "cannot be reached" in front.reply("hi").json()["error"]["message"]
        response = front.reply("hi")
        assert response.status_code == 503 and "not well" in response.json()["error"]["message"]
        assert response.headers["retry-after"] == "11"
        now[0] = 11.0
        assert "cannot be reached" in front.reply("hi").json()["error"]["message"]  # one may try again
        assert "not well" in front.reply("hi").json()["error"]["message"]


def test_a_breaker_lets_one_through_and_closes_when_it_works():
    now = [0.0]
    breaker = Breaker(2, 10, lambda: now[0])
    breaker.failed()
    breaker.enter()
    breaker.failed()
    with pytest.raises(Problem):
        breaker.enter()
    now[0] = 10.0
    breaker.enter()
    with pytest.raises(Problem):
        breaker.enter()  # the others wait for what the first one finds
    breaker.worked()
    breaker.enter()
    breaker.enter()


def test_addresses_of_backends(backend):
    assert base_of("http://a:8000") == base_of("http://a:8000/") == base_of("http://a:8000/v1/") == "http://a:8000/v1"
    for wrong in ("a:8000", "ftp://a", "http://", "http://user:word@a", "http://a/v1?key=1"):
        with pytest.raises(BadInput):
            base_of(wrong)
    assert first_model(backend.url, "k") == "far"
    with pytest.raises(BadInput, match="401"):
        first_model(backend.url, "wrong")


def test_a_reply_of_a_backend_is_a_reply(backend):
    *pieces, reply = remote(backend).stream(Context.of("hello", "hi", "how are you"), Wish(intent="questioning"))
    assert isinstance(reply, Reply) and reply.text == "".join(map(str, pieces)) == "You said: how are you"
    assert reply.timings["backend"] > 0


def test_a_free_port_is_found():
    with listen("127.0.0.1", 0) as bound:
        assert bound.getsockname()[1] > 0


def test_the_command_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text("utf-8")
    from empathia.commands.serve import serve

    assert [o for p in serve.params for o in p.opts if f"`{o}" not in page and f"{o}" not in page] == []
