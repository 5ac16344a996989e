from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from knowledge_toys import WordEncoder

from empathia.core.errors import BadFile, BadInput, MissingFile
from empathia.core.types import Context, Evidence
from empathia.knowledge import RELATIONS, Store, building, evidence, infer, infer_all
from empathia.knowledge import store as opened
from empathia.knowledge.polarity import denied
from empathia.knowledge.tails import best, gathered, tidy


def texts(found, relation):
    return [tail.text for tail in found if tail.relation == relation]


def test_an_event_gets_the_tails_of_its_nearest_heads(store):
    found = infer(store, "I lost my job today.")
    assert texts(found, "xReact")[0] == "sad"  # two heads say so
    assert {"worried", "ashamed"} <= set(texts(found, "xReact"))
    assert all(0 < tail.score <= 1 for tail in found)
    assert [tail.relation for tail in found] == sorted((t.relation for t in found), key=RELATIONS.index)


def test_what_did_not_happen_takes_nothing_from_what_did(store):
    """By words alone both heads are near to both events."""
    passed = texts(infer(store, "I passed my exam"), "xReact")
    assert passed[0] == "proud" and not {"downcast", "stuck"} & set(passed)
    assert set(texts(infer(store, "I did not pass my exam"), "xReact")) == {"downcast", "stuck"}
    never = infer(store, "I never lost my job")
    assert not texts(never, "xReact")  # nothing is better than the contrary
    assert texts(never, "xWant")  # that is about jobs all the same
    assert all("not" in head for head, _ in store.heads("personx does not pass personx's exam", "xReact"))


@pytest.mark.parametrize(
    ("event", "is_denied"),
    [
        ("personx is not invited to the party", True),
        ("personx is n't friends anymore", True),
        ("personx cannot find personx's keys", True),
        ("personx didn't sleep", True),
        ("nobody comes to personx's birthday", True),
        ("personx has no money", True),
        ("personx is invited to the party", False),
        ("personx knots a tie", False),
        ("personx can not wait for personx's wedding", False),
        ("personx cannot stop crying", False),
        ("personx could not be happier", False),
        ("personx could n't have been happier", False),
        ("personx cannot stop worrying and does not sleep", True),
        ("personx can't stop crying", False),
        ("persony does not stop at the light", True),
        ("persony does not believe personx", True),
        ("personx is not better", True),
        ("personx fails the test", True),
    ],
)
def test_what_is_told_as_not_happening(event, is_denied):
    assert denied(event) == is_denied


def test_the_same_tail_in_other_words_is_said_once(store):
    wants = texts(infer(store, "I lost my job"), "xWant")
    assert len([want for want in wants if "job" in want]) == 1
    assert "to rest for a while" in wants


def test_nothing_follows_is_no_tail(store):
    assert "none" not in texts(infer(store, "I lost my job"), "xEffect")
    assert tidy("None.") == tidy(" ") == ""


def test_things_are_found_by_their_names(store):
    found = infer(store, "My dogs ran away")
    assert set(texts(found, "CapableOf")) == {"bark", "dig holes"}
    assert texts(infer(store, "My guard dog barked at me"), "HasProperty") == ["loud"]
    assert not texts(infer(store, "I lost my job"), "CapableOf")


def test_a_goal_of_conceptnet_is_a_reason(store):
    assert texts(infer(store, "I bake cake"), "xReason") == ["you like sweets"]


@pytest.mark.parametrize("text", ["Hi!", "", "Xyzzy plugh qwerty frobnicated"])
def test_no_event_or_none_near_gives_nothing(store, text):
    assert infer(store, text) == ()


def test_held_out_tuples_can_be_left_alone(store):
    learned = Store(store.folder, WordEncoder, learned=True)
    assert "ashamed" not in texts(infer(learned, "I lost my job"), "xReact")
    assert not texts(infer(learned, "My cat sleeps"), "CapableOf")
    assert texts(infer(store, "My cat sleeps"), "CapableOf") == ["purr"]


def test_only_what_was_asked_for(store):
    found = infer(store, "I lost my job", ["xWant", "xReact"], most=1)
    assert [tail.relation for tail in found] == ["xReact", "xWant"]
    with pytest.raises(BadInput, match="did you mean 'xReact'"):
        infer(store, "I lost my job", ["xReacts"])


def test_many_texts_are_asked_about_at_once(store):
    class Counting:
        name, signature = "counting", ""

        def tails(self, events, relations, most=5):
            self.asked = list(events)
            return store.tails(events, relations, most)

    asked, said = Counting(), ["I lost my job.", "Hello there.", "I passed my exam. I lost my job."]
    assert infer_all(asked, said) == [infer(store, text) for text in said]
    assert len(asked.asked) == len(set(asked.asked)) == 2


def known(store, context, seen=None, **options):
    [found] = evidence(store, [context], [seen or Evidence()], **options)
    return found


def test_a_conversation_gets_a_few_as_evidence(store):
    told = known(store, Context.of("I lost my job.", "Oh no.", "Yes."), most=2)
    assert [tail.relation for tail in told.inferences] == ["xReact", "xWant"]
    causes = Context.of("I lost my keys.", "Oh no.", "I passed my exam.")
    seen = Evidence(causes=(0,), sentiment=-0.2)
    found = known(store, causes, seen)
    assert found.sentiment == -0.2
    assert "proud" not in texts(found.inferences, "xReact")
    assert known(store, causes).inferences[0].text == "proud"
    assert known(store, Context.of("Hi.")).inferences == ()
    assert "proud" not in texts(known(store, causes, allowed=lambda tail: tail != "proud").inferences, "xReact")
    assert known(store, causes, floor=1.01).inferences == ()


def test_a_second_opening_makes_nothing_anew(store):
    before = WordEncoder.calls
    again = opened()
    assert WordEncoder.calls == before
    assert again.folder == store.folder
    assert len(again) == len(store) == 24


def test_other_data_gives_another_store(store, tuples_here):
    with (tuples_here / "data" / "atomic" / "atomic.tsv").open("a") as file:
        file.write("personx loses personx's hat\txReact\tcold\ttrain\n")
    assert "cold" in texts(infer(opened(), "I lost my hat"), "xReact")


def test_a_made_store_outlives_its_data(store, tuples_here):
    (tuples_here / "data").rename(tuples_here / "moved")
    assert len(opened()) == len(store)


def test_without_data_the_way_to_get_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path))
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    with pytest.raises(MissingFile, match="empathia data get atomic; empathia data get conceptnet"):
        opened()


def test_a_damaged_store_is_named(store):
    (store.folder / "tails.txt").write_text("sad\n")
    with pytest.raises(BadFile, match="not a whole store"):
        opened()


def test_a_stopped_build_goes_on(tuples_here, words_encoder, monkeypatch):
    monkeypatch.setattr(building, "STRETCH", 2)
    done = []

    def stop_after_two(newly, total):
        done.append(newly)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened(progress=stop_after_two)
    folder = tuples_here / "home" / "cache" / "knowledge"
    assert not list(folder.glob("store-*"))
    kept = sorted(folder.glob(".making-*/stretch-*.npy"))
    assert len(kept) == 2
    np.save(kept[0], np.load(kept[0]) * 0)  # to see that it is taken as it stands
    store = opened()
    assert not list(folder.glob(".making-*"))
    assert len(store._vectors_HD) == len(store._heads)
    assert not store._vectors_HD[0].any()
    assert store._vectors_HD[5].any()


def test_a_killed_build_leaves_no_half_store(tuples_here):
    script = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from knowledge_toys import WordEncoder
from empathia.text import sentence_encoder
from empathia.knowledge import building, store
building.STRETCH = 2
sentence_encoder.load = lambda say=None: WordEncoder()
def slowly(newly, total):
    print(newly, flush=True)
    time.sleep(60)
store(progress=slowly)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    folder = tuples_here / "home" / "cache" / "knowledge"
    assert not list(folder.glob("store-*"))
    assert list(folder.glob(".making-*/stretch-*.npy"))


def test_opening_is_quick(store):
    began = time.process_time()
    opened()
    assert time.process_time() - began < 1


def test_equal_tails_add_up_under_their_commonest_form():
    assert gathered([("To find a job.", 1.0), ("find jobs", 2.0), ("rest", 0.5)]) == {"find jobs": 3.0, "rest": 0.5}


def test_nearly_equal_tails_are_said_once():
    kept = best("xWant", {"find a new job": 0.9, "find a new good job": 0.8, "cry": 0.1}, 5)
    assert [tail.text for tail in kept] == ["find a new job", "cry"]
