"""Index and recall: what is found, what is never found, and what a folder promises."""

from __future__ import annotations

import json

import numpy as np
import pytest
from exemplars_toys import BANK, WordEncoder, pair

from empathia.core.errors import BadFile, MissingFile
from empathia.core.types import Context, Wish
from empathia.exemplars import Recall, RetrievalResponder
from empathia.exemplars.encoder import Weights
from empathia.exemplars.index import Index, open_index, own_index
from empathia.exemplars.measure import collapse, ranks, recall_at, repeats
from empathia.exemplars.pairs import Bank, own_bank
from empathia.exemplars.responder import NOTHING_NEAR
from empathia.exemplars.tuning import floor_of, tune

DOG = Context.of("my dog ran off")


@pytest.fixture(scope="module")
def recall() -> Recall:
    return Recall(Index.build(BANK, WordEncoder()), WordEncoder())


def replies(exemplars) -> list[str]:
    return [exemplar.reply for exemplar in exemplars]


def test_the_nearest_come_first_and_no_reply_twice(recall):
    found = recall.exemplars(DOG, k=3)
    assert found[0].reply == "where did you last see your dog" and found[0].context == "my dog ran away last night"
    assert sum("clever" in reply for reply in replies(found)) == 1
    assert [e.score for e in found] == sorted((e.score for e in found), reverse=True)
    assert 0 < sum(e.score for e in found) < 1


def test_emotion_moves_the_order_softly(recall):
    asked = Context.of("my dog")
    assert recall.exemplars(asked, {"proud": 1.0}, 1)[0].emotion == "proud"
    assert recall.exemplars(asked, {"joyful": 1.0}, 1)[0].emotion == "joyful"
    assert recall.exemplars(DOG, {"excited": 1.0}, 1)[0].emotion == "sad"  # the words say more


def test_never_the_same_dialogue(recall):
    own = BANK.pairs[0].dialogue
    found = recall.exemplars(DOG, k=6, exclude={own})
    assert found and BANK.pairs[0].reply not in replies(found)
    everything = {p.dialogue for p in BANK.pairs}
    assert recall.exemplars(DOG, k=6, exclude=everything) == ()


def test_nothing_near_nothing_shown(recall):
    assert recall.exemplars(Context.of("quantum chromodynamics")) == ()
    reply = RetrievalResponder(recall).reply(Context.of("quantum chromodynamics"))
    assert reply.text == NOTHING_NEAR and reply.candidates == ()


def test_looks_further_when_the_best_may_not_be_shown():
    twins = [pair("my dog ran off", "come back soon", dialogue="same") for _ in range(200)]
    bank = Bank("twins", (*twins, pair("my dog", "a good dog indeed", dialogue="other")))
    recall = Recall(Index.build(bank, WordEncoder()), WordEncoder())
    assert replies(recall.exemplars(DOG, k=2, exclude={"same"})) == ["a good dog indeed"]
    assert replies(recall.exemplars(DOG, k=2)) == ["come back soon", "a good dog indeed"]


def test_many_contexts_at_once_are_as_each_alone(recall):
    contexts = [DOG, Context.of("a job at last"), Context.of("")]
    emotions = [{"sad": 0.7, "afraid": 0.3}, None, None]
    together = recall.exemplars_of(contexts, emotions, 2)
    assert together == [recall.exemplars(c, e, 2) for c, e in zip(contexts, emotions, strict=True)]
    assert recall.exemplars_of([]) == []


def test_the_score_is_the_weighted_sum_it_is_said_to_be():
    weights = Weights(like=0.3, emotion=0.2, floor=0.0)
    encoder = WordEncoder()
    index = Index.build(BANK, encoder)
    from empathia.exemplars.index import query_vectors

    scores, found = index.search(query_vectors(encoder.contexts([DOG]), [{"sad": 0.6}], weights), len(BANK))
    for score, place in zip(scores[0], found[0], strict=True):
        one = BANK.pairs[place]
        asked = encoder.contexts([DOG]).about_ND[0]
        like, fits = asked @ encoder.contexts([one.context]).about_ND[0], asked @ encoder.replies([one.reply])[0]
        expected = 0.3 * like + 0.7 * fits + (0.2 * 0.6 if one.emotion == "sad" else 0)
        assert score == pytest.approx(expected, abs=2e-3)


def test_the_responder_shows_its_candidates(recall):
    reply = RetrievalResponder(recall, lambda context: {"sad": 1.0}).reply(DOG, Wish(candidates=2))
    assert reply.text == "where did you last see your dog" == reply.candidates[0].text
    assert len(reply.candidates) == 2 and reply.evidence.emotion == {"sad": 1.0}
    assert reply.evidence.exemplars and set(reply.timings) == {"perceive", "recall"}


# Folders -----------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path))
    return tmp_path


def test_saved_and_loaded_finds_the_same(home):
    index = Index.build(BANK, WordEncoder())
    index.save(home / "cache" / "banks" / "toys")
    loaded = open_index("toys", WordEncoder())
    before, after = Recall(index, WordEncoder()), Recall(loaded, WordEncoder())
    assert before.exemplars(DOG, {"sad": 1.0}, 4) == after.exemplars(DOG, {"sad": 1.0}, 4)
    Index.build(Bank("toys", BANK.pairs[:2]), WordEncoder()).save(home / "cache" / "banks" / "toys")
    assert len(open_index("toys", WordEncoder()).bank) == 2
    assert [p.name for p in (home / "cache" / "banks").iterdir()] == ["toys"]


def test_another_encoder_is_refused_with_what_to_do(home):
    Index.build(BANK, WordEncoder()).save(home / "toys")
    with pytest.raises(
        BadFile, match="made by encoder words, but other is in use; build it again with: empathia index"
    ):
        Index.load(home / "toys", "other")


def test_damage_is_noticed(home):
    folder = home / "toys"
    Index.build(BANK, WordEncoder()).save(folder)
    lines = (folder / "pairs.jsonl").read_text().splitlines()
    (folder / "pairs.jsonl").write_text("\n".join([*lines[:-1], lines[0]]))
    with pytest.raises(BadFile, match="do not belong together"):
        Index.load(folder, "words")
    (folder / "index.faiss").write_bytes((folder / "index.faiss").read_bytes()[:100])
    with pytest.raises(BadFile, match="not a whole index"):
        Index.load(folder, "words")
    (folder / "card.json").write_text(json.dumps(["odd"]))
    with pytest.raises(BadFile, match="not a card"):
        Index.load(folder, "words")


def test_an_unknown_bank_is_named_with_a_hint(home):
    with pytest.raises(MissingFile, match="make one with: empathia index"):
        open_index("toys", WordEncoder())
    Index.build(BANK, WordEncoder()).save(home / "cache" / "banks" / "toys")
    with pytest.raises(MissingFile, match="did you mean 'toys'"):
        open_index("tois", WordEncoder())


def test_the_own_bank_is_encoded_once_and_again_when_it_changes(home):
    said: list[str] = []
    for bank in (BANK, BANK, Bank("toys", BANK.pairs[1:])):
        assert own_index(WordEncoder(), bank, said.append).bank.pairs == bank.pairs
    assert said == ["reading 6 exemplars (once)", "reading 5 exemplars (once)"]


def test_the_own_bank_answers_every_emotion(home):
    """With words alone: a context of the bank finds its own reply, and another once that dialogue is left out."""
    encoder, bank = WordEncoder(), own_bank()
    recall = Recall(own_index(encoder, bank), encoder)
    firsts = list({p.emotion: p for p in reversed(bank.pairs)}.values())
    found = recall.exemplars_of([p.context for p in firsts], [{p.emotion: 1.0} for p in firsts], 1)
    assert [f[0].reply for f in found] == [p.reply for p in firsts]
    others = recall.exemplars_of([p.context for p in firsts], None, 1, [{p.dialogue} for p in firsts])
    assert all(f[0].reply != p.reply for f, p in zip(others, firsts, strict=True) if f)


# Measures and tuning -----------------------------------------------------------------------------------------


def test_ranks_count_from_one_and_ties_do_not_hurt():
    replies_ND = np.array([[1, 0], [0, 1], [0, 1], [0.6, 0.8]], dtype=np.float32)
    answer_ND = np.array([[1, 0], [0, 1], [0, 1], [1, 0]], dtype=np.float32)
    found = ranks(answer_ND, replies_ND)
    assert found.tolist() == [1, 1, 1, 2]
    assert recall_at(found, 1) == 75 and recall_at(found, 10) == 100


class FirstTurnOnly(WordEncoder):
    def contexts(self, contexts):
        return super().contexts([Context(c.turns[:1]) for c in contexts])


def test_collapse_tells_an_encoder_that_reads_only_the_first_turn():
    talks = [Context.of("my dog ran away", "oh no", "and i lost my job"), Context.of("one turn is not asked about")]
    replies_ND = WordEncoder().replies([p.reply for p in BANK.pairs])
    deaf = collapse(FirstTurnOnly(), talks, replies_ND)
    assert (deaf.contexts, deaf.same_best, deaf.shared) == (1, 100, 100) and deaf.cosine == pytest.approx(1)
    assert collapse(WordEncoder(), talks, replies_ND).cosine < 0.9


def test_repeats_counts_what_was_said_already():
    talks = [Context.of("my dog", "dog dog dog", "my dog"), Context.of("rain", "sun", "my cake"), Context.of("alone")]
    assert repeats(WordEncoder(), talks, ["a cat indeed", "my cake", "never asked about"]) == 50


def test_tuning_prefers_what_is_nearest_to_the_given_reply():
    """Contexts share words with contexts but never with replies, so likeness of contexts must win."""
    topics = ["dog", "job", "tram", "rain", "song", "cake"]
    bank = Bank("t", tuple(pair(f"{t} {t} one", f"answer{i} answer{i} {topics[i - 1]}") for i, t in enumerate(topics)))
    asked = [pair(f"{t} {t} two", f"answer{i} indeed") for i, t in enumerate(topics)]
    encoder = WordEncoder()
    tuned = tune(Index.build(bank, encoder), encoder, asked, [None] * len(asked), encoder.replies)
    assert tuned.weights.like > 0
    assert max(tuned.nearness.values()) == tuned.nearness[tuned.weights.like, tuned.weights.emotion]


def test_the_floor_is_where_help_ends():
    scores = np.linspace(0, 1, 1000)
    assert floor_of(scores, (scores > 0.3).astype(float)) == pytest.approx(0.3, abs=0.06)
    assert floor_of(scores, np.ones(1000)) == 0
