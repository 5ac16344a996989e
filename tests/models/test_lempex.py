"""What is LEMPEx's own: exemplars beside the context, their mean or attention over them, four losses on the reply."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from empathia.core.errors import BadConfig  # noqa: E402
from empathia.core.taxonomy import MECHANISMS  # noqa: E402
from empathia.core.types import Context, Evidence, Example, Exemplar, Gold, Wish  # noqa: E402
from empathia.models.lempex import LEMPEx, LEMPExConfig  # noqa: E402
from empathia.nn.blocks import Blocks  # noqa: E402
from empathia.text.batches import Encoder, collate  # noqa: E402
from empathia.text.vocabulary import Vocabulary  # noqa: E402
from empathia.training.recipe import Recipe  # noqa: E402
from empathia.training.responder import RunResponder  # noqa: E402
from empathia.training.run import Run  # noqa: E402

BLOCKS = Blocks.t5(width=16, heads=2, depth=8, hidden=16, layers=2, dropout=0.0, embedding_dropout=0.0)
VOCABULARY = Vocabulary.build(["I lost my dog oh no where did you see him last that is hard I hope he comes home"])
TALK = Context.of("I lost my dog")
KNOWN = Evidence(exemplars=(Exemplar("oh no", score=0.5), Exemplar("I hope he comes home", score=0.3)))
LEVELS = dict(zip(MECHANISMS, (2, 0, 1), strict=True))


def build(**changes):
    torch.manual_seed(0)
    return LEMPEx(LEMPExConfig(**{"blocks": BLOCKS} | changes), VOCABULARY.size).eval()


def batch(model, evidence=KNOWN, mechanisms=LEVELS, sentiment=-0.4):
    encoder = Encoder(VOCABULARY, see=partial(model.see, model.config))
    gold = Gold("that is hard", "sad", None, mechanisms, sentiment)
    return collate([encoder.example(Example("1", TALK, gold, evidence))])


def states(model, evidence):
    with torch.inference_mode():
        return model.encode(batch(model, evidence)[0]).states_BSD


def test_the_default_is_t5_small_at_the_width_of_the_word_vectors():
    blocks = LEMPExConfig().blocks
    assert (blocks.layers, blocks.heads, blocks.width, blocks.depth, blocks.hidden) == (6, 6, 300, 300, 2048)
    assert (blocks.positions, blocks.norm, blocks.biases, blocks.activation) == ("relative", "rms", "none", "relu")


def test_word_vectors_are_as_long_as_t5s():
    found = LEMPEx(LEMPExConfig(Blocks.t5(layers=1)), 500).eval().embedding(torch.arange(7, 500)[None])
    assert found.detach().square().mean().sqrt() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    "name",
    [
        "lempex",
        "lempex-attention",
        "lempex-no-exemplars",
        "lempex-no-losses",
        "t5-glove",
    ],
)
def test_recipes_are_of_one_shape_so_that_they_compare(name):
    blocks = Recipe.load(Path(__file__).parents[2] / "recipes" / f"{name}.toml").config.blocks
    assert blocks == Blocks.t5(layers=3, hidden=600)


def test_the_best_exemplars_are_seen_cut_to_their_first_words():
    made = LEMPEx.see(LEMPExConfig(exemplars=1), Encoder(VOCABULARY), TALK, KNOWN, Wish())
    assert made["exemplars"] == [VOCABULARY.encode("oh no")]
    made = LEMPEx.see(LEMPExConfig(exemplar_words=2), Encoder(VOCABULARY), TALK, KNOWN, Wish())
    assert made["exemplars"] == [VOCABULARY.encode("oh no"), VOCABULARY.encode("I hope")]
    for nothing in (Evidence(), Evidence(exemplars=())):
        assert LEMPEx.see(LEMPExConfig(), Encoder(VOCABULARY), TALK, nothing, Wish())["exemplars"] == [[]]


def test_the_mean_is_of_exemplars_whatever_their_order_and_length():
    model = build()
    one, two = KNOWN.exemplars
    swapped = Evidence(exemplars=(two, one))
    torch.testing.assert_close(states(model, KNOWN), states(model, swapped))
    torch.testing.assert_close(states(model, Evidence(exemplars=(one, one))), states(model, Evidence(exemplars=(one,))))
    encoded = model.encoder(*_embedded(model))
    vectors = [_vector(model, e.reply) for e in (one, two)]
    both = torch.cat([encoded, torch.stack(vectors).mean(0).expand_as(encoded)], -1)
    torch.testing.assert_close(states(model, KNOWN), model.fusion.fuse(both), atol=1e-5, rtol=1e-5)


def _embedded(model):
    inputs, _ = batch(model)
    return model.embedding(inputs.words_BS, inputs.speakers_BS), inputs.mask_BS


def _vector(model, text):
    words = torch.tensor([VOCABULARY.encode(text)])
    return model.fusion.encoder(model.embedding(words), words != 0)[0].mean(0)


@pytest.mark.parametrize("pool", ["mean", "attention"])
def test_with_no_exemplars_at_all_it_still_answers(pool, tmp_path):
    model = build(pool=pool)
    silent = Evidence(exemplars=(Exemplar(" "),))
    for nothing in (Evidence(), Evidence(exemplars=()), silent):
        assert states(model, nothing).isfinite().all()
        torch.testing.assert_close(states(model, nothing), states(model, Evidence()))
    run = Run("lempex", tmp_path, Recipe("lempex", model.config), VOCABULARY, model)
    assert RunResponder(run).reply(TALK).text is not None
    shown = RunResponder(run, find=lambda contexts: [KNOWN] * len(contexts)).reply(TALK).evidence
    assert shown.exemplars == KNOWN.exemplars  # what `--why` prints


def test_attention_can_prefer_one_exemplar_and_trains_all_of_its_parts():
    model = build(pool="attention").train()
    losses = model.losses(*batch(model))
    sum(loss.total for loss in losses.values()).backward()
    assert not [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    model.eval()
    one, two = KNOWN.exemplars
    assert not torch.allclose(states(model, KNOWN), states(model, Evidence(exemplars=(one, one))))
    torch.testing.assert_close(states(model, KNOWN), states(model, Evidence(exemplars=(two, one))))


def test_four_losses_judge_the_decoders_first_state():
    model = build()
    inputs, gold = batch(model)
    losses = model.losses(inputs, gold)
    assert list(losses) == ["reply", *MECHANISMS, "sentiment"]
    assert all(loss.weight == 0.1 for name, loss in losses.items() if name != "reply")
    first = model.hidden(model.encode(inputs), torch.tensor([[Vocabulary.start]]))[0, 0]
    for name, level in LEVELS.items():
        expected = -model.mechanisms[name](first).log_softmax(-1)[level]
        torch.testing.assert_close(losses[name].total, expected)
    torch.testing.assert_close(losses["sentiment"].total, (model.sentiment(first)[0].tanh() + 0.4) ** 2)
    averaged = build(judged="mean").losses(inputs, gold)
    assert not torch.equal(averaged["sentiment"].total, losses["sentiment"].total)


def test_labels_that_nobody_gave_cost_nothing():
    model = build().train()
    losses = model.losses(*batch(model, mechanisms=None, sentiment=None))
    assert all(losses[name].total == 0 for name in (*MECHANISMS, "sentiment"))
    sum(loss.total for loss in losses.values()).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_released_levels_are_two_and_parts_can_be_left_out():
    model = build(levels=2)
    losses = model.losses(*batch(model, mechanisms=dict.fromkeys(MECHANISMS, 2)))
    again = model.losses(*batch(model, mechanisms=dict.fromkeys(MECHANISMS, 1)))
    assert all(torch.equal(losses[name].total, again[name].total) for name in MECHANISMS)
    plain = build(exemplars=0, empathy_weight=0.0, sentiment_weight=0.0)
    assert set(plain.losses(*batch(plain))) == {"reply"} and not LEMPEx.needs(plain.config)
    assert {n.split(".")[0] for n, _ in plain.named_parameters()} == {"embedding", "output", "encoder", "decoder"}
    for wrong in ({"levels": 4}, {"exemplars": -1}, {"exemplar_words": 0}):
        with pytest.raises(BadConfig):
            LEMPExConfig(**wrong)


def test_t5_layers_decode_step_by_step_as_at_once_whatever_the_batch():
    model = build()
    inputs, gold = batch(model)
    with torch.inference_mode():
        memory = model.encode(inputs)
        full = model.step(memory, gold.reply_BT)
        cache = model.start_cache()
        steps = [model.step(memory, gold.reply_BT[:, t : t + 1], cache) for t in range(gold.reply_BT.shape[1])]
    torch.testing.assert_close(torch.cat(steps, 1), full, atol=1e-5, rtol=1e-5)
    encoder = Encoder(VOCABULARY, see=partial(model.see, model.config))
    long = Example("2", Context.of("where did you see him last"), Gold("oh"), replace(KNOWN, exemplars=()))
    both, _ = collate([encoder.example(Example("1", TALK, Gold("oh"), KNOWN)), encoder.example(long)])
    with torch.inference_mode():
        together = model.encode(both).states_BSD[:1, : memory.states_BSD.shape[1]]
    torch.testing.assert_close(together, memory.states_BSD, atol=1e-5, rtol=1e-5)
