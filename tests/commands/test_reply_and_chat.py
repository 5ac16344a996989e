"""`empathia reply` and `empathia chat`: any text gets an answer or a line that says why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

from commands_terminal import answered, refused

from empathia.core.taxonomy import EMOTIONS, POSITIVE
from empathia.core.types import Context, Wish
from empathia.training.responder import RunResponder
from empathia.training.run import open_run

pytestmark = pytest.mark.usefixtures("trained_home")
MIME = ("--model", "mime")
UNKNOWN = "zzyzx"  # one word that the corpus does not hold


def thought(*arguments: str, stdin: bytes = b"") -> dict:
    """All that `reply --json` tells, but for how long it took."""
    named = () if "--model" in arguments else MIME
    told = json.loads(answered("reply", *arguments, *named, "--json", stdin=stdin))
    assert set(told.pop("timings")) == {"encode", "decode"}
    return told


def test_json_holds_what_the_text_is_and_why():
    told = thought("I lost my job today.")
    assert answered("reply", "I lost my job today.", *MIME) == told["text"] + "\n"
    assert told["candidates"][0]["text"] == told["text"] and len(told["candidates"]) == 5
    scores = [candidate["scores"]["log_probability"] for candidate in told["candidates"]]
    assert scores == sorted(scores, reverse=True) and scores[0] < 0
    emotion = told["evidence"]["emotion"]
    assert set(emotion) == set(EMOTIONS) and sum(emotion.values()) == pytest.approx(1, abs=1e-5)
    assert told["evidence"]["polarity"] == pytest.approx(sum(emotion[e] for e in POSITIVE))
    assert json.loads(json.dumps(told)) == told


def test_standard_input_is_as_good_as_an_argument():
    assert thought(stdin=b"I lost my job today.\n") == thought("I lost my job today.")


def test_several_messages_are_one_conversation():
    spoken = ("I lost my job today.", "Oh no, what happened?", "They closed the shop.")
    told = thought(*spoken)
    assert told != thought(spoken[-1]) and told != thought(*reversed(spoken))
    reply = RunResponder(open_run("mime")).reply(Context.of(*spoken))
    assert told["candidates"] == [{"text": c.text, "scores": dict(c.scores)} for c in reply.candidates]


def test_why_shows_emotions_and_candidates():
    shown = " ".join(answered("reply", "I lost my job today.", "--why", *MIME).split())  # long replies are wrapped
    told = thought("I lost my job today.")
    likeliest = max(told["evidence"]["emotion"].items(), key=lambda pair: pair[1])[0]
    assert likeliest in shown and "feels good" in shown and "encode " in shown
    assert all(candidate["text"] in shown for candidate in told["candidates"])


@pytest.mark.parametrize("arguments", [[""], ["   \t\n "], ["hello", ""], []], ids=["empty", "blank", "last", "stdin"])
def test_an_empty_message_is_refused(arguments):
    assert "the message is empty; say something" in refused(2, "reply", *arguments)


@pytest.mark.parametrize(
    "text",
    ["😀", "你好", "नमस्ते"[:1], "שלום", "مرحبا", "привет", "\u200b", "\x00", "\ufffd", "\udcff", "\ud800"],
    ids=ascii,
)
def test_a_word_in_any_script_is_an_unknown_word(text):
    assert thought(text) == thought(UNKNOWN)


def test_bytes_that_are_no_text_are_read_as_unknown_words():
    surrogate = b"\xed\xa0\x80"  # half of a pair, which UTF-8 must not hold: three bytes, each replaced
    assert thought(stdin=b"I lost " + surrogate) == thought(f"I lost {UNKNOWN} {UNKNOWN} {UNKNOWN}")
    assert thought(stdin=b"I lost \xff\x00") == thought(f"I lost {UNKNOWN} {UNKNOWN}")
    assert thought(stdin="I lost \u202etsol\u202c".encode()) == thought(f"I lost {UNKNOWN} {UNKNOWN} {UNKNOWN}")


def test_of_ten_thousand_words_the_last_ones_count():
    words = ["job" if i % 7 else "lost" for i in range(10_000)]
    told = thought(" ".join(words))
    assert told == thought(stdin=" ".join(words).encode())
    assert told == thought(" ".join(words[-511:])) != thought(" ".join(words[-500:]))


def test_same_seed_same_reply_and_other_seeds_other_draws():
    ask = ("I lost my job today.", "--stochastic", "--seed")
    assert thought(*ask, "3") == thought(*ask, "3")
    assert thought(*ask, "3")["candidates"] != thought(*ask, "4")["candidates"]
    sampled = ("I lost my job today.", "--decoder", "nucleus0.95", "--seed")
    assert thought(*sampled, "3") == thought(*sampled, "3")
    assert len({thought(*sampled, str(seed))["text"] for seed in range(5)}) > 1


@pytest.mark.parametrize("seed", ["-5", "0", "99999999999999999999999999"])
def test_any_whole_number_is_a_seed(seed):
    for decoder in ("greedy", "nucleus0.9"):
        ask = ("I lost my job today.", "--stochastic", "--decoder", decoder, "--seed", seed)
        assert thought(*ask) == thought(*ask)


def test_a_draw_moves_the_logits_but_not_the_emotion_that_was_read():
    run = open_run("mime")
    responder = RunResponder(run)
    context = Context.of("I lost my job today.")
    steady, *drawn = (
        responder.reply(context, wish)
        for wish in (Wish(), Wish(stochastic=True, seed=1), Wish(stochastic=True, seed=2))
    )
    assert all(reply.evidence == steady.evidence for reply in drawn)
    totals = {reply.candidates[0].scores["log_probability"] for reply in (steady, *drawn)}
    assert len(totals) == 3


@pytest.mark.parametrize(
    ("decoder", "told"),
    [
        ("beem5", "no decoder 'beem5'; take one of: greedy, beam5, top-k3, nucleus0.9"),
        ("beam", "no decoder 'beam'"),
        ("beam0", "beam must be at least 1"),
        ("nucleus1.5", "top_p must be above 0 and at most 1"),
        ("beam5:block=3", "unknown key 'decoder.block'; did you mean 'block_ngrams'?"),
        ("beam5:stop=tp", "'decoder.stop' cannot be 'tp'; did you mean 'top'?"),
        ("beam5:keep=9", "keep must be from 1 to 5"),
        ("greedy:max_length=0", "max_length must be at least 1"),
        ("greedy:banned_ids=[-1]", "banned_ids must not be negative"),
    ],
)
def test_an_unknown_decoder_is_named(decoder, told):
    assert told in refused(2, "reply", "hello", *MIME, "--decoder", decoder)
    assert told in refused(2, "generate", "mime", "--decoder", decoder)


def test_a_decoder_may_ask_for_more_than_a_model_has():
    """A beam wider than the vocabulary, an id past its end, more words than there are positions."""
    assert answered("reply", "hello", *MIME, "--decoder", "beam5000:max_length=3") is not None
    assert answered("reply", "hello", *MIME, "--decoder", "greedy:banned_ids=[99999]") == answered(
        "reply", "hello", *MIME, "--decoder", "greedy"
    )
    assert answered("reply", "hello", *MIME, "--decoder", "greedy:max_length=5000")
    past = refused(2, "reply", "hello", *MIME, "--decoder", "greedy:max_length=5000,min_length=5000")
    assert "min_length must be from 0 to max_length" in past


def test_an_unknown_run_is_named_with_the_nearest(trained_home):
    for command in (("reply", "hello", "--model"), ("chat", "--model"), ("generate",), ("plot", "emotions")):
        assert refused(3, *command, "miem") == "empathia: no run 'miem'; did you mean 'mime'?\n"
    assert "no run '/no/where'" in refused(3, "reply", "hello", "--model", "/no/where")
    shutil.rmtree(trained_home / "runs")
    assert "train one with: empathia train recipes/mime.toml" in refused(3, "reply", "hello", "--model", "mime")


def test_a_run_can_be_named_by_its_folder(trained_home):
    assert thought("hello", "--model", str(trained_home / "runs" / "mime")) == thought("hello", "--model", "mime")


@pytest.mark.parametrize(
    ("file", "content", "code", "told"),
    [
        ("model.safetensors", 2000, 4, "model.safetensors: damaged"),
        ("model.safetensors", b"", 4, "model.safetensors: damaged"),
        ("model.safetensors", None, 3, "run 'mime' has no trained weights yet"),
        ("vocabulary.json", 100, 4, "vocabulary.json, line "),
        ("vocabulary.json", b"[]", 4, "vocabulary.json: not a vocabulary"),
        ("vocabulary.json", b'{"words": [1, 2]}', 4, "vocabulary.json: not a vocabulary"),
        ("vocabulary.json", b'{"words": ["a"]}', 4, "model.safetensors: does not fit this model"),
        ("vocabulary.json", b"\xff", 4, "vocabulary.json: not UTF-8"),
        ("vocabulary.json", None, 3, "no such file"),
        ("config.toml", b"[mod", 4, "config.toml: not TOML"),
        ("config.toml", b'[model]\nname = "mimo"', 2, "no model 'mimo'; did you mean 'mime'?"),
        ("config.toml", None, 3, "no run 'mime'"),
    ],
)
def test_a_damaged_run_is_named(trained_home, file, content, code, told):
    """A number keeps so many bytes of the file; None removes it."""
    path: Path = trained_home / "runs" / "mime" / file
    if content is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:content] if isinstance(content, int) else content)
    assert told in refused(code, "reply", "hello", "--model", "mime")


def test_weights_that_are_not_numbers_are_told(trained_home):
    from safetensors.torch import load_file, save_file

    path = trained_home / "runs" / "mime" / "model.safetensors"
    save_file({name: tensor * float("nan") for name, tensor in load_file(path).items()}, path)
    assert "the model's scores are not numbers; its weights are damaged" in refused(1, "reply", "hello", *MIME)
    assert "not all emotion vectors are numbers" in refused(4, "plot", "emotions", "mime")


def chatted(*lines: str | bytes) -> list[str]:
    """What the program says between the prompts."""
    stdin = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    greeting, *said = answered("chat", "--model", "mime", stdin=stdin).split("you › ")
    assert greeting.startswith("mime listens. It is a program, not a person.")
    return said


def test_chat_answers_and_tells_why():
    nothing, first, why, end = chatted("/why", "I lost my job today.", "/why")
    assert nothing == "Nothing has been said yet.\n" and end == "\n"
    assert first.strip().startswith("seems ") and "\nmime › " in first
    assert "feels good" in why and "log probability" in why
    assert first.split()[1] in why


def test_chat_remembers_until_reset():
    first, second, reset, nothing, again, _ = chatted("I lost my job.", "/why", "/reset", "/why", "I lost my job.")
    assert reset == "A fresh start.\n" and nothing == "Nothing has been said yet.\n"
    assert again == first and second
    _, longer, _ = chatted("They closed the shop.", "I lost my job.")
    _, why, _, longer_why, _ = chatted("I lost my job.", "/why", "I lost my job.", "/why")
    assert why.rpartition("encode")[0] != longer_why.rpartition("encode")[0] and longer


def test_chat_with_a_seed_says_the_same_again():
    said = chatted("/seed 3", "hello there", "/why", "/reset", "/seed 4", "hello there", "/why", "/reset", "/seed 3",
                   "hello there", "/why", "/seed off")  # fmt: skip
    weighed = [why.rpartition("encode")[0] for why in (said[2], said[6], said[10])]
    assert said[0] == "Seed 3.\n" and said[11] == "The chance is free.\n"
    assert weighed[0] == weighed[2] != weighed[1]


@pytest.mark.parametrize("number", ["²", "9" * 5000, "-1", "x", ""])
def test_chat_lets_the_chance_go_for_what_is_no_seed(number):
    assert chatted(f"/seed {number}", "hello")[0] == "The chance is free.\n"


def test_chat_helps_with_what_it_does_not_know():
    helped, unknown, _ = chatted("/help", "/unknown thing")
    assert helped == unknown
    assert all(command in helped for command in ("/why", "/seed", "/reset", "/help", "/quit"))


def test_chat_leaves_at_quit():
    assert len(chatted("/quit", "never said")) == 1


def test_chat_takes_odd_text_as_it_comes():
    assert chatted("", "   ", "\t") == ["", "", "", "\n"]
    for odd in (
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\x00",
        "😀".encode(),
        "שלום".encode(),
        b"[/bold] [red]",
        b"job " * 10_000,
    ):
        said, end = chatted(odd)
        assert "\nmime › " in said and end == "\n"
