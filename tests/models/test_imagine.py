"""What is IMAGINE's own: emotion from the whole context, the rest from its causes; each part can be left out."""

from dataclasses import replace
from functools import partial

import pytest

torch = pytest.importorskip("torch")

from empathia import models  # noqa: E402
from empathia.core.taxonomy import MECHANISMS, RELATION_GROUPS  # noqa: E402
from empathia.core.types import Context, Evidence, Example, Gold, Inference, Wish  # noqa: E402
from empathia.models.base import BaseConfig, ReplyLoss  # noqa: E402
from empathia.models.imagine import IMAGINE, IMAGINEConfig  # noqa: E402
from empathia.nn.blocks import Blocks  # noqa: E402
from empathia.text.batches import Encoder, collate  # noqa: E402
from empathia.text.vocabulary import Vocabulary  # noqa: E402

BLOCKS = Blocks(width=16, heads=2, depth=8, hidden=16, dropout=0.0, embedding_dropout=0.0)
VOCABULARY = Vocabulary.build(["I lost my wallet and the rain came, oh no, that is bad: hurt, sad, to find it, keys"])
TALK = Context.of("I lost my wallet", "oh no", "and the rain came")
KNOWN = Evidence(
    causes=(0,),
    inferences=(
        *(Inference("xReact", tail) for tail in ("sad", "hurt", "upset", "bad")),
        Inference("xWant", "to find it"),
        Inference("xIntent", "keys"),
    ),
)


def build(**changes):
    torch.manual_seed(0)
    return IMAGINE(IMAGINEConfig(blocks=BLOCKS, **changes), VOCABULARY.size).eval()


def seen(evidence=KNOWN, context=TALK, **changes):
    return IMAGINE.see(IMAGINEConfig(**changes), Encoder(VOCABULARY), context, evidence, Wish())


def inputs(model, context=TALK, evidence=KNOWN, mechanisms=(2, 0, 1)):
    encoder = Encoder(VOCABULARY, see=partial(model.see, model.config))
    shown = dict(zip(MECHANISMS, mechanisms, strict=True)) if mechanisms else None
    return collate([encoder.example(Example("1", context, Gold("that is bad", "sad", mechanisms=shown), evidence))])


def ids(text):
    return VOCABULARY.encode(text)


def test_inferences_stand_in_their_groups_in_the_order_of_the_relations():
    made, mark = seen(), Vocabulary.context
    assert made["affect"] == ids("sad hurt bad")  # "upset" is not in the vocabulary
    assert made["behaviour"] == [mark, *ids("keys to find it")]
    assert made["physical"] == made["events"] == [mark]
    assert seen(tails=1)["affect"] == ids("sad")
    assert seen(Evidence())["affect"] == [mark]


def test_causes_are_read_with_their_speakers_and_without_any_the_whole_context():
    made = seen(Evidence(causes=(1, 2)))
    assert made["cause"] == [Vocabulary.context, *ids("oh no and the rain came")]
    assert made["cause_speakers"][1:] == [Vocabulary.listener] * 2 + [Vocabulary.speaker] * 4
    words, speakers = Encoder(VOCABULARY).context(TALK)
    for none in (None, (), (7,)):  # not looked for, not found, of another conversation
        assert (seen(Evidence(causes=none))["cause"], seen(Evidence(causes=none))["cause_speakers"]) == (
            words,
            speakers,
        )


def test_the_emotion_comes_from_all_turns_and_the_memory_from_the_causes():
    model = build()
    other = Context.of("I lost my wallet", "that is bad", "and it came")
    with torch.inference_mode():
        first, second = (model.encode(inputs(model, context)[0]) for context in (TALK, other))
        third = model.encode(inputs(model, evidence=KNOWN.with_(causes=(2,)))[0])
    assert torch.equal(first.states_BSD, second.states_BSD)
    assert not torch.allclose(first.emotion_BE, second.emotion_BE)
    assert torch.equal(first.emotion_BE, third.emotion_BE)
    assert not torch.allclose(first.states_BSD, third.states_BSD)


def test_the_emotion_stands_in_place_of_the_start_token():
    model = build()
    with torch.inference_mode():
        memory = model.encode(inputs(model)[0])
        usual, other = (model.step(memory, torch.tensor([[start, 9, 10]])) for start in (Vocabulary.start, 12))
        changed = model.step(replace(memory, first_BD=-memory.first_BD), torch.tensor([[Vocabulary.start, 9, 10]]))
    assert torch.equal(usual, other)
    assert not torch.allclose(usual, changed)


def test_weak_and_strong_are_both_yes_and_unlabelled_replies_teach_no_mechanisms():
    model = build()
    losses = [model.losses(*inputs(model, mechanisms=shown))["mechanisms"] for shown in ((2, 0, 1), (1, 0, 2), None)]
    assert losses[0].total == losses[1].total > 0
    assert losses[2].total == 0 and losses[0].per == "row"
    told = model.told(model.encode(inputs(model)[0]), 0)
    assert set(told["mechanisms"]) == set(MECHANISMS) and all(0 < p < 1 for p in told["mechanisms"].values())


@pytest.mark.parametrize(
    ("changes", "needs", "width"),
    [
        ({}, {"causes", "inferences"}, 4),
        ({"causes": False}, {"inferences"}, 4),
        ({"mechanisms": False}, {"causes", "inferences"}, 3),
        ({"knowledge": False}, {"causes"}, 2),
        ({"causes": False, "mechanisms": False, "knowledge": False}, set(), 1),
    ],
)
def test_each_part_can_be_left_out(changes, needs, width):
    model = build(**changes).train()
    assert model.needs(model.config) == needs
    assert model.narrow.in_features == width * BLOCKS.width
    losses = model.losses(*inputs(model))
    assert ("mechanisms" in losses) == model.config.mechanisms
    sum(loss.total for loss in losses.values()).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_words_are_forgotten_for_the_emotion_alone_and_in_training_alone():
    model = build(forget=0.5)
    given, _ = inputs(model)
    whole = model.encode(given)
    torch.manual_seed(1)
    less = model.train().encode(given)
    assert not torch.allclose(less.emotion_BE, whole.emotion_BE)
    torch.testing.assert_close(less.states_BSD, whole.states_BSD)


def test_around_their_refinement_the_cause_words_reach_the_decoder():
    for around in (True, False):
        model = build(around=around)
        torch.nn.init.zeros_(model.narrow.weight)
        with torch.inference_mode():
            first, second = (
                model.encode(inputs(model, context)[0]).states_BSD
                for context in (TALK, Context.of("and it came my", "oh no", "and the rain came"))
            )
        assert torch.allclose(first, second) is not around


def test_relations_that_no_group_has_are_left_alone():
    other = KNOWN.with_(inferences=(*KNOWN.inferences, Inference("oReact", "sad")))
    assert seen(other) == seen()
    assert sum(len(relations) for relations in RELATION_GROUPS.values()) == 11


def test_any_system_takes_the_diversity_loss_and_keeps_its_counts(tmp_path):
    from empathia.training.checkpoint import load_weights, save_weights

    torch.manual_seed(0)
    plain = models.find("transformer")(BaseConfig(BLOCKS), 30)
    torch.manual_seed(0)
    diverse = models.find("transformer")(BaseConfig(BLOCKS, ReplyLoss(diversity=1.5)), 30)
    batch = inputs(plain)
    diverse.meet([[9, 9, 10, 2]])
    weight = diverse.face.weights()
    usual, more = plain.losses(*batch)["reply"].total, diverse.losses(*batch)["reply"].total
    nll_N = torch.nn.functional.cross_entropy(
        plain.output(plain.hidden(plain.encode(batch[0]), torch.tensor([[3, *batch[1].reply_BT[0, :-1].tolist()]]))[0]),
        batch[1].reply_BT[0],
        reduction="none",
    )
    torch.testing.assert_close(usual, nll_N.sum())
    torch.testing.assert_close(more, (nll_N * (1 + 1.5 * weight[batch[1].reply_BT[0]])).sum())
    save_weights(tmp_path / "model.safetensors", diverse)
    again = models.find("transformer")(BaseConfig(BLOCKS, ReplyLoss(diversity=1.5)), 30)
    load_weights(tmp_path / "model.safetensors", again)
    assert torch.equal(again.face.counts_V, diverse.face.counts_V)


def test_frequencies_of_the_models_own_words_move_while_it_trains():
    model = build(reply=ReplyLoss(diversity=1.5, frequencies="output"))
    model.meet([[9, 9, 2]])
    assert not model.face.counts_V.any()
    model.losses(*inputs(model))
    assert not model.face.counts_V.any()  # not while it is measured
    model.train().losses(*inputs(model))
    assert model.face.counts_V.sum() > 0
