"""What a person at the terminal sees: the guard before the model, and with the model dead."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from empathia.commands import responders
from empathia.commands.chat import chat
from empathia.commands.reply import reply
from empathia.core.types import Reply

EXPLICIT = tomllib.loads((Path(__file__).parent / "explicit.toml").read_text("utf-8"))


class Parrot:
    name = "parrot"

    def reply(self, context, wish=None):
        return Reply(f"you said {context.last}")


@pytest.fixture
def dead(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("the model is dead")

    monkeypatch.setattr(responders, "responder_of", fail)


@pytest.fixture
def parrot(monkeypatch):
    monkeypatch.setattr(responders, "responder_of", lambda *_, **__: Parrot())


@pytest.mark.parametrize("category", EXPLICIT)
def test_reply_helps_with_the_model_dead(dead, category):
    for message in EXPLICIT[category].strip().splitlines():
        done = CliRunner().invoke(reply, [message, "--country", "NZ"], catch_exceptions=False)
        assert done.exit_code == 0 and "111" in done.output


def test_json_and_why_say_that_the_guard_answered(dead):
    told = json.loads(CliRunner().invoke(reply, ["I want to kill myself", "--json", "--country", "GB"]).output)
    assert told["guard"]["level"] == "crisis" and told["guard"]["category"] == "suicide"
    assert told["guard"]["replaces_reply"] and "116 123" in told["text"] and told["candidates"] == []
    assert "the guard answered; no model was asked" in CliRunner().invoke(reply, ["I want to die", "--why"]).output


def test_reply_without_a_crisis_asks_the_model(parrot):
    told = json.loads(CliRunner().invoke(reply, ["I like tea", "--json"]).output)
    assert told["text"] == "you said I like tea" and told["guard"]["level"] == "none"


def test_reply_reads_the_whole_conversation(parrot):
    turns = ["I want to kill myself", "a", "no", "b", "no", "c", "I like tea"]
    done = CliRunner().invoke(reply, [*turns, "--country", "NZ"])
    assert "you said I like tea" in done.output and "1737" in done.output


def test_chat(parrot):
    said = "\n".join(["hello", "I want to die", "/why", "just kidding", "ok", "nice weather", "/reset", "hello", ""])
    done = CliRunner().invoke(chat, ["--country", "NZ"], input=said, catch_exceptions=False)
    lines = done.output
    assert "you said hello" in lines and "you said I want to die" not in lines and "you said just kidding" not in lines
    assert "the guard answered" in lines and "you said nice weather" in lines and "In an emergency: 111" in lines
    assert "1737" not in lines.rpartition("A fresh start.")[2]
