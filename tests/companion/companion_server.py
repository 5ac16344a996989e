"""A small server of OpenAI's protocol for tests, in a process of its own: `python companion_server.py` prints its port.

What it does depends on the model asked for. `GET /log` tells what it has seen; a stream that its reader left is in
there as "left after N pieces".
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODELS = ("kind", "alone", "slow", "flaky", "busy", "breaks", "short", "strict", "silent")
LOG: list[Any] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/log":
            self._json(200, LOG)
        elif self.path == "/v1/models":
            self._json(200, {"data": [{"id": model} for model in MODELS]})
        elif self.path == "/one/models":
            self._json(200, {"data": [{"id": "kind"}]})
        else:
            self._error(404, "no such page")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        LOG.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        model, asked = body["model"], body.get("n", 1)
        times = sum(isinstance(seen, dict) and seen["model"] == model for seen in LOG)
        if model not in MODELS:
            self._error(404, f"model '{model}' not found")
        elif model == "strict" and self.headers.get("Authorization") != "Bearer open sesame":
            self._error(401, "invalid key")
        elif model == "busy" or (model == "flaky" and times < 3):
            self._error(503, "try later")
        elif model == "short":
            self._error(400, "maximum context length is 10 tokens")
        elif model == "alone" and asked > 1:
            self._error(400, "n must be 1")
        else:
            self._stream(model, body, 1 if model == "silent" else asked)

    def _stream(self, model: str, body: dict[str, Any], n: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        words = [f"word{body['seed'] + place}" for place in range(n)]
        sent = 0
        try:
            self._send(": a comment, as some servers send to keep a line open\n\n")
            for step in range(min(body["max_tokens"], 400)):
                if model == "slow":
                    time.sleep(0.05)
                if model == "breaks" and step == 2:
                    return self._send('data: {"error": {"message": "out of memory"}}\n\n')
                for place, word in enumerate(words):
                    piece = f" {word}é" if step else word
                    text = {"delta": {"content": piece}} if "messages" in body else {"text": piece}
                    self._event({"index": place, "finish_reason": None, **text})
                sent += 1
            for place in range(n):
                self._event({"index": place, "finish_reason": "stop", "delta": {}})
            self._send("data: [DONE]\n\n")
        except OSError:
            LOG.append(f"left after {sent} pieces")

    def _event(self, choice: dict[str, Any]) -> None:
        self._send(f"data: {json.dumps({'choices': [choice]})}\n\n")

    def _send(self, text: str) -> None:
        self.wfile.write(text.encode())
        self.wfile.flush()

    def _error(self, status: int, message: str) -> None:
        self._json(status, {"error": {"message": message}})

    def _json(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def second_process() -> Iterator[str]:
    """Its address, without a path."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
