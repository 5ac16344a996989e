"""What is MEED2's own: labels of turns, the predicted label, any other on request, and perplexity without gold."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from empathia.core.errors import BadConfig, BadInput  # noqa: E402
from empathia.core.taxonomy import EMOTIONS_AND_INTENTS  # noqa: E402
from empathia.core.types import Context, Evidence, Example, Gold, Wish  # noqa: E402
from empathia.models.meed2 import LABELS, MEED2, NUMBER, MEED2Config, paper_blocks  # noqa: E402
from empathia.nn.blocks import Blocks  # noqa: E402
from empathia.text.batches import Encoder, Inputs, collate, collate_seen  # noqa: E402
from empathia.text.vocabulary import Vocabulary  # noqa: E402
from empathia.training.recipe import Recipe  # noqa: E402
from empathia.training.responder import RunResponder  # noqa: E402
from empathia.training.run import Run  # noqa: E402

BLOCKS = Blocks(width=16, heads=2, depth=8, hidden=16, layers=2, dropout=0.0, embedding_dropout=0.0)
RELEASED = replace(BLOCKS, biases="all", order="post", positions="learned", scale_embeddings=False)
VOCABULARY = Vocabulary.build(["I lost my dog oh no where did you see him last in the park that is hard"])
RECIPES = Path(__file__).parents[2] / "recipes"
TALK = Context.of("I lost my dog", "oh no", "in the park")
KNOWN = Evidence(turn_labels=("sad", "sympathizing", "anxious"))


def build(blocks=BLOCKS, **changes):
    torch.manual_seed(0)
    return MEED2(MEED2Config(blocks=blocks, **changes), VOCABULARY.size).eval()


def batch(model, intent="questioning", evidence=KNOWN):
    encoder = Encoder(VOCABULARY, see=partial(model.see, model.config))
    return collate([encoder.example(Example("1", TALK, Gold("where did you see him last", "sad", intent), evidence))])


def wished(model, wish, evidence=KNOWN):
    encoder = Encoder(VOCABULARY, see=partial(model.see, model.config))
    words, speakers = encoder.context(TALK)
    seen = collate_seen([encoder.seen(TALK, evidence, wish)])
    return Inputs(torch.tensor([words]), torch.tensor([speakers]), None, seen)


def test_the_default_has_the_sizes_of_appendix_b():
    blocks = paper_blocks()
    sizes = blocks.layers, blocks.heads, blocks.width, blocks.depth, blocks.hidden, blocks.dropout
    assert sizes == (4, 6, 300, 300, 1200, 0.1)


@pytest.mark.parametrize("path", sorted(RECIPES.glob("meed2*.toml")), ids=lambda path: path.stem)
def test_every_recipe_has_those_sizes_too(path):
    blocks = Recipe.load(path).config.blocks
    assert (blocks.layers, blocks.heads, blocks.depth, blocks.hidden) == (4, 6, 300, 1200)


def test_every_word_carries_the_label_of_its_turn():
    made = MEED2.see(MEED2Config(), Encoder(VOCABULARY), TALK, KNOWN, Wish())
    sad, sorry, anxious = (NUMBER[label] for label in KNOWN.turn_labels)
    assert made["labels"] == [0, *[sad] * 4, *[sorry] * 2, *[anxious] * 3]
    assert made["wish"] == [0]
    short = MEED2.see(MEED2Config(), Encoder(VOCABULARY, max_context=4), TALK, KNOWN, Wish())
    assert short["labels"] == [0, *[anxious] * 3]
    with pytest.raises(BadInput, match="1 labels for 3 turns"):
        MEED2.see(MEED2Config(), Encoder(VOCABULARY), TALK, Evidence(turn_labels=("sad",)), Wish())


@pytest.mark.parametrize("label", EMOTIONS_AND_INTENTS)
def test_each_of_the_41_labels_can_be_asked_for(label):
    model = build()
    with torch.inference_mode():
        memory = model.encode(wished(model, Wish(intent=label)))
        plain = model.encode(wished(model, Wish()))
    assert memory.label_B.tolist() == [NUMBER[label]]
    assert torch.equal(memory.intent_BL, plain.intent_BL)  # asking does not change what is predicted
    assert max(model.told(memory, 0)["intent"], key=model.told(memory, 0)["intent"].get) == label
    assert plain.label_B.tolist() == [1 + int(plain.intent_BL[0].argmax())]


def test_a_label_moves_the_words_and_a_wrong_one_is_refused():
    model = build()
    prefix = torch.tensor([[Vocabulary.start]])
    with torch.inference_mode():
        asked = [model.step(model.encode(wished(model, Wish(intent=i))), prefix) for i in ("wishing", "agreeing")]
        feeling = model.encode(wished(model, Wish(emotion="hopeful")))
    assert not torch.allclose(*asked)
    assert feeling.label_B.tolist() == [NUMBER["hopeful"]]
    with pytest.raises(BadInput, match="questioning"):
        wished(model, Wish(intent="questionning"))
    with pytest.raises(BadInput, match="not a known emotion"):
        wished(model, Wish(emotion="agreeing"))


def test_in_training_the_decoder_is_told_the_replys_own_label_and_without_one_the_predicted():
    model = build().train()
    first, other, none = (model.losses(*batch(model, intent)) for intent in ("questioning", "wishing", None))
    assert not torch.equal(first["reply"].total, other["reply"].total)
    assert none["intent"].total == 0
    predicted = EMOTIONS_AND_INTENTS[int(model.encode(batch(model)[0]).intent_BL[0].argmax())]
    torch.testing.assert_close(none["reply"].total, model.losses(*batch(model, predicted))["reply"].total)


def test_apart_the_predictor_never_moves_the_generator_and_jointly_it_does():
    for joint in (False, True):
        model = build(joint=joint).train()
        model.losses(*batch(model))["intent"].total.backward()
        moved = {n.split(".")[0] for n, p in model.named_parameters() if p.grad is not None and p.grad.any()}
        assert moved == ({"predictor", "encoder", "labels", "embedding"} if joint else {"predictor"})


def test_perplexity_is_a_mixture_over_predicted_labels_and_sees_no_gold_label():
    model = build(mixture=LABELS)
    inputs, gold = batch(model)
    nll, tokens, memory = model.response_nll(inputs, gold)
    with torch.inference_mode():
        each = [model.likelihood(replace(memory, label_B=torch.tensor([i + 1])), gold)[0] for i in range(LABELS)]
    mixed = (memory.intent_BL[0].exp() * (-torch.cat(each)).exp()).sum()
    torch.testing.assert_close(nll[0], -mixed.log())
    assert tokens.tolist() == [7]
    assert torch.equal(nll, model.response_nll(*batch(model, "wishing"))[0])
    other = batch(model, "wishing")[1]
    with torch.inference_mode():
        told = [model.likelihood(model.granted(memory, labelled), gold)[0] for labelled in (gold, other)]
    assert not torch.equal(*told)
    with pytest.raises(BadConfig, match="mixture"):
        MEED2Config(mixture=0)


def test_without_labels_it_is_a_plain_transformer():
    model = build(labels=False)
    assert not MEED2.needs(model.config) and not MEED2.see(model.config, Encoder(VOCABULARY), TALK, KNOWN, Wish())
    inputs, gold = batch(model)
    assert set(model.losses(inputs, gold)) == {"reply"}
    assert model.told(model.encode(inputs), 0) == {}
    assert {n.split(".")[0] for n, _ in model.named_parameters()} == {"embedding", "output", "encoder", "decoder"}


def test_the_released_layers_decode_step_by_step_as_at_once():
    model = build(RELEASED, pool_layer=True)
    inputs, gold = batch(model)
    with torch.inference_mode():
        memory = model.encode(inputs)
        full = model.step(memory, gold.reply_BT)
        cache = model.start_cache()
        steps = [model.step(memory, gold.reply_BT[:, t : t + 1], cache) for t in range(gold.reply_BT.shape[1])]
    torch.testing.assert_close(torch.cat(steps, 1), full, atol=1e-5, rtol=1e-5)


def test_a_run_says_which_label_it_planned_or_was_asked_for(tmp_path):
    model = build()
    run = Run("meed2", tmp_path, Recipe("meed2", model.config), VOCABULARY, model)
    responder = RunResponder(run, find=lambda contexts: [KNOWN] * len(contexts))
    reply = responder.reply(TALK)
    assert reply.evidence.turn_labels == KNOWN.turn_labels
    assert sum(reply.evidence.intent.values()) == pytest.approx(1)
    assert responder.reply(TALK, Wish(intent="wishing")).evidence.intent == {"wishing": 1.0}
    assert RunResponder(run).reply(TALK).text is not None  # nobody to label the turns
