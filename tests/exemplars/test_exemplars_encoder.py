"""Reading, the plain encoder, and the trained one from the first update to the exported folder."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from empathia.core.errors import BadConfig, BadFile
from empathia.core.types import Context, Turn
from empathia.exemplars import encoder as encoders
from empathia.exemplars.encoder import JoinedEncoder, PlainEncoder, TunedEncoder, Weights, normalised
from empathia.exemplars.reading import FADE, KINDS, PIECES, parts, read_turns
from empathia.perception.tokens import Reader
from empathia.text.sentence_encoder import SentenceEncoder

TALK = Context.of(
    "My sister came home after three years abroad and we sat in the kitchen all night long",
    "How lovely! What did you talk about?",
    "She is ill.",
)


@pytest.fixture(scope="module")
def reader(minilm) -> Reader:
    return Reader(minilm / "tokenizer.json")


@pytest.fixture(scope="module")
def sentences(minilm) -> SentenceEncoder:
    return SentenceEncoder(minilm / "model.safetensors", minilm / "tokenizer.json")


# Reading -----------------------------------------------------------------------------------------------------


def test_later_turns_count_more_however_short():
    split = parts([TALK, Context.of("She is ill.")])
    assert len(split.turns) == 3  # the last is shared
    assert split.weight_U[2] > split.weight_U[1] > split.weight_U[0] and split.weight_U[3] == 1
    assert split.weight_U[1] / split.weight_U[2] == pytest.approx(FADE)
    assert [KINDS[k] for k in split.kind_U] == ["earlier", "listener", "last", "last"]
    assert split.turns[split.turn_U[2]].text == split.turns[split.turn_U[3]].text == "She is ill."


def test_a_long_talk_keeps_its_first_and_last_turns():
    talk = Context.of(*(f"turn {i}" for i in range(9)))
    assert [t.text for t in parts([talk]).turns] == ["turn 0", "turn 5", "turn 6", "turn 7", "turn 8"]
    assert parts([Context(())]).weight_U.tolist() == [1] and len(parts([]).turn_U) == 0
    assert [t.text for t in parts([], [Turn("listener", "Hm."), Turn("listener", "Hm.")]).turns] == ["Hm."]


@pytest.mark.parametrize("text", ["", " ", "\0", "word " * 5000, "🙂" * 300])
def test_odd_texts_fit(reader, text):
    speaker, listener = read_turns(reader, [Turn("speaker", text), Turn("listener", text)])
    assert 2 <= len(speaker) == len(listener) <= PIECES
    assert set(speaker.listener) == {0} and set(listener.listener[1:]) == {1}


# Un-tuned ----------------------------------------------------------------------------------------------------


def test_turn_by_turn_hears_the_last_turn_better_than_joined_text(sentences):
    """The story told first is long; what matters was said last."""
    last = Context((TALK.turns[-1],))
    heard = []
    for encoder in (PlainEncoder(sentences), JoinedEncoder(sentences)):
        whole, alone = encoder.contexts([TALK]).answer_ND[0], encoder.contexts([last]).answer_ND[0]
        heard.append(float(whole @ alone))
    assert heard[0] > heard[1]


def test_plain_and_joined_agree_on_one_turn(sentences):
    one = [Context.of("I passed my driving test!")]
    plain, joined = PlainEncoder(sentences), JoinedEncoder(sentences)
    assert plain.contexts(one).about_ND == pytest.approx(joined.contexts(one).about_ND, abs=1e-5)
    assert plain.contexts([]).about_ND.shape == (0, 384) and plain.signature != joined.signature


def test_without_a_trained_encoder_the_plain_one_serves(house):
    assert isinstance(encoders.load(), PlainEncoder)


# Trained -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def training():
    pytest.importorskip("torch")
    from empathia.exemplars import training

    return training


@pytest.fixture
def settings(training):
    return training.Settings(dialogues=4, emotions=2, epochs=2, lr=3e-4, warmup=0.0, validate=4)


def test_a_batch_holds_whole_dialogues_of_few_emotions_each_once(training):
    made = [training.Conversation(f"e{i % 5}", (f"pair {i} a", f"pair {i} b")) for i in range(40)]
    settings = training.Settings(dialogues=8, emotions=2)
    batches = list(training.batches(made, settings, epoch=0))
    assert sorted(p for batch in batches for p in batch) == sorted(p for c in made for p in c.pairs)
    for batch in batches:
        emotions = {int(pair.split()[1]) % 5 for pair in batch}
        assert len(batch) <= 16 and len(emotions) <= 2
        assert all(pair[:-1] + "b" in batch for pair in batch)
    assert batches == list(training.batches(made, settings, 0)) != list(training.batches(made, settings, 1))


def test_the_loss_sees_both_directions_and_spares_equal_replies(training):
    import torch

    eye = torch.eye(3)
    nobody = torch.zeros(3, 3, dtype=torch.bool)
    assert training.info_nce(eye, eye, nobody, 0.05).item() < 1e-6
    assert training.info_nce(eye, eye[[1, 0, 2]], nobody, 0.05).item() > 10
    same = torch.stack([eye[0], eye[0], eye[2]])
    equal = torch.tensor([[0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=torch.bool)
    assert training.info_nce(same, same, nobody, 0.05).item() > 0.3
    assert training.info_nce(same, same, equal, 0.05).item() < 1e-6


def test_trained_killed_resumed_exported_and_used(training, settings, house):
    """In two parts as in one; the loss falls; word vectors stay; the folder runs without torch and agrees with it."""
    import torch

    from empathia.exemplars.tower import Tower

    said: list[str] = []
    whole = training.train(settings, house / "whole", say=said.append)
    training.train(settings, house / "parts", stop_at=3, say=said.append)
    assert not (house / "parts" / "card.json").exists()
    halves = training.train(settings, house / "parts", say=said.append)
    log = [json.loads(line) for line in (whole / "log.jsonl").read_text().splitlines()]
    assert log[-1]["loss"] < log[0]["loss"]
    again = [json.loads(line)["loss"] for line in (halves / "log.jsonl").read_text().splitlines()]
    assert again == pytest.approx([entry["loss"] for entry in log], abs=1e-4)

    saved = torch.load(whole / "checkpoint.pt", weights_only=True)["tower"]
    assert "encoder.words.weight" not in saved
    tower = Tower.pretrained(house / "cache" / "minilm" / "model.safetensors")
    tower.load_state_dict(saved, strict=False)
    reader = Reader(whole / "tokenizer.json")
    texts = [Context.of("I lost my keys on the beach"), TALK, Context.of("My cat caught a bird")]
    with torch.inference_mode():
        split = parts(texts)
        expected = tower.answers(tower.eval()(read_turns(reader, split.turns)), split).numpy()
    tuned = TunedEncoder(whole)
    found = tuned.contexts(texts)
    assert (found.answer_ND * expected).sum(1).min() > 0.97  # int8
    assert tuned.contexts(texts[1:2]).answer_ND[0] == pytest.approx(
        found.answer_ND[1], abs=1e-6
    )  # whoever is beside it
    assert tuned.replies(["I am sorry."]).shape == (1, 384) and tuned.replies([]).shape == (0, 384)
    assert json.loads((whole / "card.json").read_text())["validation"]["candidates"] == 4

    with pytest.raises(BadConfig, match="another 'lr'"):
        training.train(replace(settings, lr=1.0), house / "whole", say=said.append)
    (whole / "checkpoint.pt").write_bytes(b"half")
    with pytest.raises(BadFile, match="delete it to start over"):
        training.train(settings, house / "whole", say=said.append)

    (house / "runs").mkdir()
    whole.rename(house / "runs" / "exemplars")
    loaded = encoders.load()
    assert loaded.signature == tuned.signature and loaded.weights == Weights()
    (house / "runs" / "exemplars" / "exemplars.onnx").write_bytes(b"half")
    with pytest.raises(BadFile, match=r"exemplars\.onnx"):
        encoders.load()


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"dialogues": 0}, {"lr": 0.0}, {"warmup": 1.0}])
def test_settings_that_cannot_train_are_refused(training, wrong, tmp_path):
    with pytest.raises(BadConfig):
        training.train(training.Settings(**wrong), tmp_path)


def test_rows_get_length_one():
    assert np.linalg.norm(normalised(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)), axis=1).tolist() == [1, 0]
