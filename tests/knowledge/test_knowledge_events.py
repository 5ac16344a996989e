from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from empathia.knowledge.events import events, spoken


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I lost my job and Anna left me.", ["personx loses personx's job", "persony leaves personx"]),
        ("My boss yelled at me because I was late.", ["personx's boss yells at personx", "personx is late"]),
        (
            "I've been studying so hard and finally passed my exam!",
            ["personx is studying hard", "personx passes personx's exam"],
        ),
        ("I didn’t get the promotion", ["personx does not get the promotion"]),
        ("Just got engaged!", ["personx gets engaged"]),
        ("I invited Sara but she cancelled", ["personx invites persony", "persony cancels"]),
        ("I live in Paris", ["personx lives in paris"]),
        ("Tom and I met Eva.", ["personx meets persony"]),
        ("personx loses personx's job", ["personx loses personx's job"]),
    ],
)
def test_an_utterance_becomes_events(text, expected):
    assert events(text) == expected


@pytest.mark.parametrize(
    "text", ["", "  ", "Hi there!", "How are you?", "yes", "It is what it is.", "😀😀", "Thank you"]
)
def test_no_event_gives_none(text):
    assert events(text) == []


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    found = events(text)
    assert len(found) <= 6
    assert all(event.strip() for event in found)


def test_a_long_text_is_read_to_a_point():
    assert len(events("I lost my job number seven. " * 10_000)) <= 2
    assert len(events(" ".join(f"I bought {n} apples." for n in range(1000)))) == 6


def test_heads_are_spoken_in_the_first_person():
    assert spoken("personx gives ___ to persony") == "i gives something to someone"
    assert spoken("persony leaves personx 's house") == "someone leaves my house"
