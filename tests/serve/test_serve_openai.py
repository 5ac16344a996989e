"""The official `openai` client, unchanged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import openai
import pytest
from serve_house import House, said, services, serving, until
from serve_listeners import Broken, Echo

from empathia.serve import Access, Limits

KEY = "let-me-in"


def lengths(texts: Sequence[str]) -> np.ndarray:
    """A real, if simple, embedding: how long a text is, and how many words it has."""
    return np.array([[len(text), len(text.split()), 0.5] for text in texts], dtype=np.float32)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    given = services(Echo(), Broken(), embed=lengths, embeds_with="lengths")
    with serving(given, Limits(parallel=2), Access(keys=(KEY,))) as house:
        yield house


@pytest.fixture(scope="module")
def client(house: House) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{house.url}/v1", api_key=KEY, max_retries=0)


def test_a_chat(client):
    found = client.chat.completions.create(model="echo", messages=said("My cat ran away."))
    assert found.object == "chat.completion" and found.id.startswith("chatcmpl-") and found.model == "echo"
    assert found.choices[0].message.role == "assistant"
    assert found.choices[0].message.content == "You said: My cat ran away."
    assert found.choices[0].finish_reason == "stop"
    assert found.usage.prompt_tokens == 5 and found.usage.completion_tokens == 8 and found.usage.total_tokens == 13
    assert found.model_extra["empathia"]["evidence"]["emotion"] == {"sad": 0.75, "joyful": 0.25}


def test_a_streamed_chat(client):
    stream = client.chat.completions.create(
        model="echo", messages=said("My cat ran away."), stream=True, stream_options={"include_usage": True}
    )
    first, *chunks, ending, usage = list(stream)
    assert first.object == "chat.completion.chunk" and first.choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content for chunk in chunks) == "You said: My cat ran away."
    assert len(chunks) == 6 and {chunk.id for chunk in chunks} == {first.id}
    assert ending.choices[0].finish_reason == "stop" and ending.model_extra["empathia"]["guard"]["level"] == "none"
    assert usage.choices == [] and usage.usage.total_tokens == 13 and first.usage is None


def test_the_clients_own_stream_helper_understands_it(client):
    with client.chat.completions.stream(model="echo", messages=said("Good morning")) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content == "You said: Good morning"


def test_several_choices_with_seeds_of_their_own(client):
    ask = {"model": "echo", "messages": said("hi"), "n": 3, "seed": 40}
    texts = [choice.message.content for choice in client.chat.completions.create(**ask).choices]
    assert texts == ["You said: hi", "You said: hi (41)", "You said: hi (42)"]
    streamed = ["", "", ""]
    for chunk in client.chat.completions.create(**ask, stream=True):
        for choice in chunk.choices:
            streamed[choice.index] += choice.delta.content or ""
    assert streamed == texts


def test_options_reach_the_responder(client, house):
    found = client.chat.completions.create(
        model="echo", messages=said("one two three four"), max_tokens=4, temperature=0.3, top_p=0.8, seed=7,
        user="anna", frequency_penalty=0.1, logit_bias={}, response_format={"type": "text"},
        extra_body={"empathia": {"emotion": "caring", "intent": "questioning", "stochastic": False, "candidates": 2}},
    )  # fmt: skip
    assert found.choices[0].message.content == "You said: one two"
    assert found.choices[0].finish_reason == "length"
    wish = house.desk.services.responders["echo"].wishes[-1]
    assert (wish.length, wish.temperature, wish.top_p, wish.seed) == (4, 0.3, 0.8, 7)
    assert (wish.emotion, wish.intent, wish.stochastic, wish.candidates) == ("caring", "questioning", False, 2)
    client.chat.completions.create(model="echo", messages=said("hi"), max_completion_tokens=9)
    assert house.desk.services.responders["echo"].wishes[-1].length == 9


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_sequence_ends_the_text(client, stream):
    ask = {"model": "echo", "messages": said("one two three four"), "stop": ["o th", "zebra"]}
    if stream:
        chunks = client.chat.completions.create(**ask, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    else:
        text = client.chat.completions.create(**ask).choices[0].message.content
    assert text == "You said: one tw"


def test_parts_system_and_developer_messages(client):
    messages = [
        {"role": "developer", "content": "be brief"},
        {"role": "system", "content": [{"type": "text", "text": "be kind"}]},
        {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "text", "text": "again"}]},
    ]
    found = client.chat.completions.create(model="echo", messages=messages)
    assert found.choices[0].message.content == "You said: hello again"


def test_models(client):
    assert [model.id for model in client.models.list()] == ["echo", "broken"]
    assert client.models.retrieve("echo").object == "model"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt")


def test_embeddings_in_both_encodings(client):
    one = client.embeddings.create(model="any", input="three little words")  # the client asks for base64
    assert one.data[0].embedding == [18.0, 3.0, 0.5] and one.model == "lengths" and one.usage.prompt_tokens == 3
    two = client.embeddings.create(model="any", input=["a", "b c"], encoding_format="float", dimensions=3)
    assert [row.embedding for row in two.data] == [[1.0, 1.0, 0.5], [3.0, 2.0, 0.5]]
    assert [row.index for row in two.data] == [0, 1]
    with pytest.raises(openai.BadRequestError, match="3 dimensions"):
        client.embeddings.create(model="any", input="a", dimensions=2)


def test_errors_arrive_as_the_clients_own(client, house):
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-4o", messages=said("hi"))
    assert missing.value.code == "model_not_found" and missing.value.param == "model"
    with pytest.raises(openai.BadRequestError) as bad:
        client.chat.completions.create(model="echo", messages=[])
    assert bad.value.param == "messages" and bad.value.type == "invalid_request_error"
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="broken", messages=said("hi"))
    stranger = openai.OpenAI(base_url=f"{house.url}/v1", api_key="guess", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        stranger.models.list()


def test_leaving_a_stream_stops_the_writing(client, house):
    echo = house.desk.services.responders["echo"]
    stopped, echo.pause = echo.stopped, 0.02
    try:
        with client.chat.completions.create(model="echo", messages=said("word " * 300), stream=True) as stream:
            next(iter(stream))
    finally:
        echo.pause = 0.0
    until(lambda: echo.stopped == stopped + 1)


async def _ask_async(house: House) -> str:
    async with openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=KEY) as client:
        found = await client.chat.completions.create(model="echo", messages=said("hello"))
        return found.choices[0].message.content or ""


def test_the_async_client(house):
    import asyncio

    assert asyncio.run(_ask_async(house)) == "You said: hello"


def examples(house: House, language: str, word: str) -> list[str]:
    """The fenced blocks of docs/serve.md that hold `word`, pointed at our server."""
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text("utf-8")
    blocks = [block for block in re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL) if word in block]
    assert blocks
    return [block.replace("http://127.0.0.1:8600", house.url) for block in blocks]


def test_the_documented_curl_and_python_examples_work(tmp_path):
    with serving(services(Echo("empathia"))) as open_house:
        for block in examples(open_house, "sh", "curl "):
            done = subprocess.run(["bash", "-c", block], capture_output=True, text=True, check=True, timeout=60)
            assert json.loads(done.stdout)["choices"][0]["message"]["content"].startswith("You said: I lost my wallet")
        for block in examples(open_house, "text", "OpenAI("):
            script = tmp_path / "example.py"
            script.write_text(block)
            done = subprocess.run(
                [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=120
            )
            assert done.stdout == "You said: I lost my wallet on the train."
        assert open_house.desk.services.responders["empathia"].wishes[-1].intent == "questioning"
