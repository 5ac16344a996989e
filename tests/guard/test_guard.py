"""How the guard reads disguises and idioms, how it goes on in a conversation, and what it says."""

import time

import numpy as np
import pytest

from empathia.core.errors import BadInput
from empathia.core.types import Context, Turn
from empathia.guard import CATEGORIES, Guard, Verdict
from empathia.guard.classifier import BUCKETS, WEIGHTS, classifier, pack
from empathia.guard.helplines import ANYWHERE, countries, country_of
from empathia.guard.normalise import plain


@pytest.fixture(scope="module")
def guard():
    return Guard("NZ")


def said(*messages: str) -> Context:
    """The speaker's messages, each but the last answered with something."""
    turns = [turn for m in messages for turn in (Turn("speaker", m), Turn("listener", "I see."))]
    return Context(tuple(turns[:-1]))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("I wanna k i l l myslef 2night!!", "i want to kill myself tonight ."),
        ("KMS", "kill myself"),
        ("su1c1de", "suicide"),
        ("s*icide", "suicide"),
        ("I’m gonna dieeeee", "i am going to die"),
        ("i don’t want 2 live any more", "i do not want to live anymore"),
        ("k\u200bill my self", "kill myself"),
        ("My step-dad", "my stepfather"),
        ("at 10pm on the 3rd", "at 10pm on the 3rd"),
    ],
)
def test_disguises_are_undone(written, read):
    assert plain(written) == read


@pytest.mark.parametrize(
    ("message", "category", "about"),
    [
        ("I want to kill myself", "suicide", "self"),
        ("i want to unalive", "suicide", "self"),
        ("My friend says she wants to kill herself", "suicide", "other"),
        ("I can't stop cutting", "self_harm", "self"),
        ("my daughter cuts herself", "self_harm", "other"),
        ("My husband hits me", "abuse", "self"),
        ("I was raped", "abuse", "self"),
        ("I'm going to kill my boss, I have a gun", "violence", "self"),
        ("I can't promise I won't kill myself", "suicide", "self"),
    ],
)
def test_plain_statements(guard, message, category, about):
    verdict = guard.check(Context.of(message))
    assert (verdict.level, verdict.category, verdict.about) == ("crisis", category, about)
    assert verdict.explicit and verdict.answer


@pytest.mark.parametrize(
    "message",
    [
        "This traffic is killing me", "I could kill for a pizza", "I'd die of embarrassment", "my phone died",
        "She killed it at the interview", "the movie about suicide was sad", "My grandmother died last month",
        "My uncle killed himself when I was ten", "I'm not suicidal, just tired", "I would never kill myself",
        "I used to be suicidal years ago but I got help and I'm happy now", "hello", "", "👍", "?!...",
        "And my sister laughed.",
        "My grandmother's old clock stopped, and I cannot bring myself to have it repaired.",
    ],
)  # fmt: skip
def test_no_alarm(guard, message):
    assert guard.check(Context.of(message)) == Verdict()


def test_imminence(guard):
    assert guard.check(Context.of("I took a whole bottle of pills ten minutes ago")).imminent
    assert not guard.check(Context.of("I have been suicidal since college")).imminent


def test_it_stays_alert_to_the_end(guard):
    talk = ["I want to kill myself", "my dog is asleep", "it rains", "so what do you do all day", "I like tea"]
    levels = [guard.check(said(*talk[: i + 1])) for i in range(len(talk))]
    assert [v.level for v in levels] == ["crisis", "alert", "alert", "alert", "alert"]
    assert [bool(v.answer) for v in levels] == [True, True, True, False, False]
    assert all("1737" in v.reminder for v in levels[3:])


@pytest.mark.parametrize("denial", ["you misunderstood", "jk", "I was just kidding", "I'm fine", "no"])
def test_one_denial_undoes_nothing(guard, denial):
    verdict = guard.check(said("I want to kill myself", denial))
    assert verdict.level == "alert" and "1737" in verdict.answer and "misread" in verdict.answer
    later = guard.check(said("I want to kill myself", denial, denial, denial, "nice weather"))
    assert later.level == "alert" and "1737" in later.reminder


@pytest.mark.parametrize("yes", ["yes", "yeah", "I am", "kind of", "idk", "not sure"])
def test_yes_to_the_question_is_a_crisis(guard, yes):
    first = guard.check(said("Everyone would be better off without me around"))
    assert first.level == "crisis" and not first.explicit and "are you thinking of ending your life?" in first.answer
    second = guard.check(said("Everyone would be better off without me around", yes))
    assert second.level == "crisis" and second.explicit


def test_a_repeated_crisis_is_answered_otherwise(guard):
    first, again = guard.check(said("I want to die")), guard.check(said("I want to die", "I will kill myself"))
    assert again.level == "crisis" and again.answer != first.answer and "1737" in again.answer


def test_only_the_speaker_counts(guard):
    turns = (Turn("speaker", "hi"), Turn("listener", "I want to kill myself"), Turn("speaker", "what a day"))
    assert guard.check(Context(turns)) == Verdict()


def test_nothing_is_remembered(guard):
    guard.check(Context.of("I want to kill myself"))
    assert guard.check(Context.of("nice weather")) == Verdict()
    assert guard.check(Context(())) == Verdict()


@pytest.mark.parametrize("kind", ["explicit", "oblique", "other", "again", "stay"])
@pytest.mark.parametrize("category", CATEGORIES)
def test_every_text_names_help(kind, category):
    for code in countries():
        guard = Guard(code)
        text = guard._text(kind, category)
        assert guard.country.emergency in text and str(guard.country.for_(category)[0]) in text
        assert "{" not in text and len(text) < 1400
        assert kind in ("again", "stay") or "program" in text


def test_help_lines_are_whole():
    known = countries()
    assert len(known) >= 31 and ANYWHERE in known
    for country in known.values():
        for line in country.lines:
            assert line.source and line.checked.startswith("2026-")
            assert any(character.isdigit() for character in line.call) or line.text or line.web


def test_which_country(monkeypatch):
    for name in ("EMPATHIA_COUNTRY", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert country_of().code == ANYWHERE
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    assert country_of().code == "FR"
    monkeypatch.setenv("EMPATHIA_COUNTRY", "uk")
    assert country_of().code == "GB"
    assert country_of("nz").code == "NZ"
    assert country_of("ZZ").code == ANYWHERE
    with pytest.raises(BadInput):
        country_of("New Zealand")


def test_weights_are_small_and_survive_packing(tmp_path):
    assert WEIGHTS.stat().st_size < 300_000
    made = classifier()
    assert made.danger_F.shape == (BUCKETS,)
    (tmp_path / "w.toml").write_text(pack(made), "utf-8")
    again = classifier(tmp_path / "w.toml")
    assert np.abs(again.danger_F - made.danger_F).max() < 1e-2
    assert again.thresholds == made.thresholds


def test_long_and_hostile_messages_are_read_in_bounded_time(guard):
    hostile = ("a " * 200_000, "i want to " * 20_000, "k i l l " * 20_000, "!" * 100_000, "my my my " * 30_000)
    unbroken = (
        "a" * 100_000,
        " " * 100_000,
        ".,;-" * 25_000,
        "a1" * 50_000,
        "a*" * 50_000,
        "a." * 50_000,
        "@" * 100_000,
    )
    for message in hostile + unbroken:
        started = time.process_time()
        guard.check(Context.of(message))
        assert time.process_time() - started < 2
    assert guard.check(Context.of("blah " * 50_000 + "I want to kill myself")).level == "crisis"


@pytest.mark.parametrize(
    "message",
    [
        "<script>document.title='mine'</script><img src=x onerror=\"document.title='mine'\"><b>bold</b>",
        "def main(): print('hello world') return 0",
        "https://example.org/a/b?c=d&e=f please look",
        "SELECT * FROM users WHERE id = 3;",
        "Ich habe heute meinen Schlüssel verloren und bin sehr müde",
        "Traceback (most recent call last): File x line 3 in main",
    ],
)
def test_code_addresses_and_other_languages_are_read_by_the_rules_alone(message):
    assert Guard("US").read(message) is None
    assert Guard("US").read(f"{message} I want to kill myself").explicit
