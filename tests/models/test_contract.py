"""What every file in models/ must keep. Found by scanning the folder: a new model is tested by existing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

torch = pytest.importorskip("torch")

from empathia import models  # noqa: E402
from empathia.core.taxonomy import EMOTIONS, MECHANISMS, RELATION_GROUPS  # noqa: E402
from empathia.core.types import Context, Evidence, Example, Exemplar, Gold, Inference  # noqa: E402
from empathia.decoding.contract import Decoding, Specials  # noqa: E402
from empathia.decoding.search import decode  # noqa: E402
from empathia.nn.blocks import Blocks  # noqa: E402
from empathia.text.batches import Encoder, collate  # noqa: E402
from empathia.text.vocabulary import Vocabulary  # noqa: E402
from empathia.training.checkpoint import load_weights, save_weights  # noqa: E402

WORDS = 40
SMALL = Blocks(width=32, heads=2, depth=32, hidden=48, dropout=0.0, embedding_dropout=0.0)
RELEASED = Blocks.released(width=32, heads=2, depth=8, hidden=12)
SPECIALS = Specials.of(Vocabulary)
INFERENCES = tuple(
    Inference(relation, f"{word} {7 + (word + i) % 30}")
    for i, relations in enumerate(RELATION_GROUPS.values())
    for word, relation in enumerate(relations, 20 + i)
)


class Numbers(Vocabulary):
    """A vocabulary whose words are their own ids."""

    def encode(self, text):
        return [int(word) for word in text.split()]


def known(turns, inferences, exemplars, labels):
    return Evidence(
        causes=turns,
        inferences=inferences,
        exemplars=tuple(Exemplar(text) for text in exemplars),
        turn_labels=labels,
    )


def example(context, reply, emotion, evidence, shown=(0, 1, 2)):
    mechanisms = dict(zip(MECHANISMS, shown, strict=True))
    return Example("1", Context.of(*context), Gold(reply, emotion, "questioning", mechanisms, 0.5), evidence)


#: Every kind of evidence turns up, and the third context has none of it.
EXAMPLES = [
    example(["10 11 12"], "20 21 22", "afraid", known((0,), INFERENCES, ["30 31", "32"], ("afraid",)), (0, 0, 0)),
    example(["13 14"], "23 24", "confident", known((0,), INFERENCES[:4], ["33 34 35"], ("proud",))),
    example(["15 16", "17 18", "19 20"], "25 26 27 28", "impressed", Evidence()),
    example(
        ["30 31", "36 37", "32 33"], "34 35", "trusting",
        known((0, 2), INFERENCES[3:], ["21", "22 23"], ("hopeful", "questioning", "trusting")), (2, 0, 1),
    ),
]  # fmt: skip


@pytest.fixture(params=models.names())
def name(request):
    torch.set_num_threads(1)
    return request.param


def build(name, blocks=SMALL, seed=0, **changes):
    torch.manual_seed(seed)
    cls = models.find(name)
    return cls(replace(cls.Config(), blocks=blocks, **changes), WORDS).eval()


def encoded(model, examples=EXAMPLES):
    """The examples as this model reads them."""
    encoder = Encoder(Numbers(()), see=partial(model.see, model.config))
    return [encoder.example(one) for one in examples]


def greedy(model, examples=EXAMPLES, seeds=None):
    inputs, _ = collate(encoded(model, examples), seeds)
    with torch.inference_mode():
        found = decode(model, model.encode(inputs), SPECIALS, Decoding(max_length=8))
    return [h.tokens for h in found]


def logits(model, examples=EXAMPLES, seeds=None):
    inputs, gold = collate(encoded(model, examples), seeds)
    with torch.inference_mode():
        return model.step(model.encode(inputs), gold.reply_BT)


@pytest.mark.parametrize("blocks", [SMALL, RELEASED], ids=["modern", "released"])
def test_overfits_four_examples(name, blocks):
    model = build(name, blocks).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    inputs, gold = collate(encoded(model))
    for step in range(150):
        losses = model.losses(inputs, gold, step + 100_000)
        optimizer.zero_grad()
        sum(loss.weight * loss.total for loss in losses.values()).backward()
        optimizer.step()
    model.eval()
    assert greedy(model) == [tuple(e.reply[:-1]) for e in encoded(model)]


def test_saving_and_loading_gives_the_same_reply_under_a_seed(name, tmp_path):
    model, other = build(name, seed=1), build(name, seed=2)
    save_weights(tmp_path / "model.safetensors", model)
    load_weights(tmp_path / "model.safetensors", other)
    seeds = [5, 6, 7, 8]
    assert torch.equal(logits(model, seeds=seeds), logits(other, seeds=seeds))
    assert greedy(model, seeds=seeds) == greedy(other, seeds=seeds)


@pytest.mark.parametrize("blocks", [SMALL, RELEASED], ids=["modern", "released"])
def test_padding_and_batch_mates_change_nothing(name, blocks):
    model = build(name, blocks)
    seeds = [5, 6, 7, 8]
    together = logits(model, seeds=seeds)
    for i, one in enumerate(EXAMPLES):
        alone = logits(model, [one], [seeds[i]])[0]
        torch.testing.assert_close(together[i, : len(alone)], alone, atol=1e-4, rtol=1e-4)


def test_filling_sequences_up_changes_no_loss(name):
    model, found = build(name), []
    for multiple in (1, 8):
        torch.manual_seed(0)  # MIME draws
        found.append(model.losses(*collate(encoded(model), multiple=multiple)))
    plain, filled = found
    for part, loss in plain.items():
        torch.testing.assert_close(filled[part].total, loss.total, atol=1e-3, rtol=1e-4)


def test_future_tokens_change_no_earlier_logit(name):
    model = build(name)
    gold = replace(EXAMPLES[2].gold, reply="25 26 27 9")
    before, after = logits(model, EXAMPLES[2:3])[0], logits(model, [replace(EXAMPLES[2], gold=gold)])[0]
    torch.testing.assert_close(before[:3], after[:3])
    assert not torch.allclose(before[3:], after[3:])


def test_changing_gold_changes_no_reply(name):
    model = build(name)
    other = Gold("9", "joyful", "agreeing", dict.fromkeys(MECHANISMS, 1), -0.5)
    changed = [replace(e, gold=other) for e in EXAMPLES]
    assert greedy(model) == greedy(model, changed)
    assert [e.seen for e in encoded(model)] == [e.seen for e in encoded(model, changed)]


def test_without_any_evidence_a_model_still_answers(name):
    """No cause, no inference, no exemplar, no label, and nothing that was wished for."""
    model = build(name)
    alone = [replace(e, evidence=Evidence()) for e in EXAMPLES]
    assert logits(model, alone).isfinite().all()
    assert len(greedy(model, alone)) == len(alone)
    inputs, gold = collate(encoded(model.train(), alone))
    assert all(loss.total.isfinite() for loss in model.losses(inputs, gold, 100_000).values())


def test_evidence_that_is_needed_is_also_read(name):
    """Taking away what a model says it needs changes its answer; giving what it does not need changes nothing."""
    model = build(name)
    needed = model.needs(model.config)
    for field in ("causes", "inferences", "exemplars", "turn_labels"):
        one = EXAMPLES[3]
        without = replace(one, evidence=one.evidence.with_(**{field: None}))
        assert torch.equal(logits(model, [one]), logits(model, [without])) == (field not in needed), field


@pytest.mark.parametrize("blocks", [SMALL, RELEASED], ids=["modern", "released"])
def test_cached_step_equals_full_pass(name, blocks):
    model = build(name, blocks)
    inputs, gold = collate(encoded(model), [1, 2, 3, 4])
    with torch.inference_mode():
        memory = model.encode(inputs)
        full = model.step(memory, gold.reply_BT)
        cache = model.start_cache()
        steps = [model.step(memory, gold.reply_BT[:, t : t + 1], cache) for t in range(gold.reply_BT.shape[1])]
        cache = model.start_cache()
        halves = [model.step(memory, gold.reply_BT[:, part], cache) for part in (slice(0, 2), slice(2, None))]
    torch.testing.assert_close(torch.cat(steps, 1), full, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(torch.cat(halves, 1), full, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("blocks", [SMALL, RELEASED], ids=["modern", "released"])
def test_every_trainable_parameter_receives_gradient(name, blocks):
    """All emotions must turn up among the examples for every part of a mixture to be heard."""
    model = build(name, blocks).train()
    examples = [replace(e, gold=replace(e.gold, emotion=emotion)) for emotion in EMOTIONS for e in EXAMPLES[::3]]
    inputs, gold = collate(encoded(model, examples))
    for step in (0, 100_000):
        losses = model.losses(inputs, gold, step)
        sum(loss.total for loss in losses.values()).backward()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not silent


def test_emotion_is_a_distribution_where_told(name):
    model = build(name)
    inputs, _ = collate(encoded(model))
    with torch.inference_mode():
        emotion = model.encode(inputs).emotion_BE
    if emotion is not None:
        torch.testing.assert_close(emotion.exp().sum(-1), torch.ones(len(EXAMPLES)))
