"""The frozen sentences: recall, false alarms, and that none of them was trained on."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from empathia.core.types import Context
from empathia.guard import Guard

HERE = Path(__file__).parent
TRAINING = HERE.parents[1] / "empathia" / "guard" / "training"
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))


def lines(path):
    return [line for block in tomllib.loads(path.read_text("utf-8")).values() for line in block.strip().splitlines()]


@pytest.fixture(scope="module")
def guard():
    return Guard("US")


def share(guard, messages):
    return sum(bool(guard.check(Context.of(m)).answer) for m in messages) / len(messages)


@pytest.mark.parametrize(("name", "least"), [("explicit", 500), ("oblique", 200), ("ordinary", 300)])
def test_there_are_enough_and_none_twice(name, least):
    found = lines(HERE / f"{name}.toml")
    assert len(found) >= least
    assert len({line.lower() for line in found}) == len(found)


def test_explicit_recall(guard):
    assert share(guard, lines(HERE / "explicit.toml")) >= 0.99


def test_oblique_recall_on_the_first_set(guard):
    assert share(guard, lines(HERE / "oblique.toml")) >= 0.80


def test_hard_ordinary_sentences(guard):
    assert share(guard, lines(HERE / "ordinary.toml")) <= 0.08


@pytest.mark.parametrize(
    ("name", "explicit", "oblique"),
    [("second", 0.97, 0.75), ("third", 0.97, 0.82), ("fourth", 0.98, 0.88), ("fifth", 0.95, 0.5), ("sixth", 0.95, 0.8)],
)
def test_later_sets_do_not_get_worse(guard, name, explicit, oblique):
    blocks = tomllib.loads((HERE / f"{name}.toml").read_text("utf-8"))
    for kind, least in (("explicit", explicit), ("oblique", oblique)):
        messages = [m for block, text in blocks.items() if block.startswith(kind) for m in text.strip().splitlines()]
        assert share(guard, messages) >= least


def trigrams(text):
    squeezed = re.sub(r"[^a-z]+", " ", text.lower())
    return {squeezed[i : i + 3] for i in range(len(squeezed) - 2)}


def test_no_test_sentence_is_a_near_copy_of_a_training_one():
    trained = [(line, trigrams(line)) for path in sorted(TRAINING.glob("*.toml")) for line in lines(path)]
    copies = []
    for name in ("explicit", "oblique", "ordinary", "second", "third", "fourth", "fifth", "sixth"):
        for line in lines(HERE / f"{name}.toml"):
            own = trigrams(line)
            if len(own) < 20:  # «I want to die» has no second wording
                continue
            near = [(other, theirs) for other, theirs in trained if 0.75 < len(own) / (len(theirs) or 1) < 1.34]
            copies += [(line, other) for other, theirs in near if len(own & theirs) > 0.75 * len(own | theirs)]
    assert not copies


@pytest.mark.corpus
def test_false_alarms_on_ordinary_talk(guard):
    from guard import ordinary_turns  # benchmarks/guard.py

    from empathia.core.errors import MissingFile

    try:
        turns = ordinary_turns()
    except MissingFile as missing:
        pytest.skip(str(missing))
    assert share(guard, turns) <= 0.02
