"""What every file in models/ must keep. Found by scanning the folder: a new model is tested by existing."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from empathia import models  # noqa: E402
from empathia.decoding.contract import Decoding, Specials  # noqa: E402
from empathia.decoding.search import decode  # noqa: E402
from empathia.nn.blocks import Blocks  # noqa: E402
from empathia.text.batches import Encoded, collate  # noqa: E402
from empathia.text.vocabulary import Vocabulary  # noqa: E402
from empathia.training.checkpoint import load_weights, save_weights  # noqa: E402

WORDS = 40
SMALL = Blocks(width=32, heads=2, depth=32, hidden=48, dropout=0.0, embedding_dropout=0.0)
RELEASED = Blocks.released(width=32, heads=2, depth=8, hidden=12)
EXAMPLES = [
    Encoded([6, 10, 11, 12], [6, 4, 4, 4], [20, 21, 22, 2], 0),
    Encoded([6, 13, 14], [6, 4, 4], [23, 24, 2], 8),
    Encoded([6, 15, 16, 17, 18, 19, 20], [6, 4, 4, 5, 5, 4, 4], [25, 26, 27, 28, 2], 20),
    Encoded([6, 30, 31, 32, 33], [6, 4, 4, 4, 4], [34, 35, 2], 31),
]
SPECIALS = Specials.of(Vocabulary)


@pytest.fixture(params=models.names())
def name(request):
    torch.set_num_threads(1)
    return request.param


def build(name, blocks=SMALL, seed=0, **changes):
    torch.manual_seed(seed)
    cls = models.find(name)
    return cls(replace(cls.Config(), blocks=blocks, **changes), WORDS).eval()


def greedy(model, examples, seeds=None):
    inputs, _ = collate(examples, seeds)
    with torch.inference_mode():
        found = decode(model, model.encode(inputs), SPECIALS, Decoding(max_length=8))
    return [h.tokens for h in found]


def logits(model, examples, seeds=None):
    inputs, gold = collate(examples, seeds)
    with torch.inference_mode():
        return model.step(model.encode(inputs), gold.reply_BT)


@pytest.mark.parametrize("blocks", [SMALL, RELEASED], ids=["modern", "released"])
def test_overfits_four_examples(name, blocks):
    model = build(name, blocks).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    inputs, gold = collate(EXAMPLES)
    for step in range(150):
        losses = model.losses(inputs, gold, step + 100_000)
        optimizer.zero_grad()
        sum(loss.weight * loss.total for loss in losses.values()).backward()
        optimizer.step()
    model.eval()
    assert greedy(model, EXAMPLES) == [tuple(e.reply[:-1]) for e in EXAMPLES]


def test_saving_and_loading_gives_the_same_reply_under_a_seed(name, tmp_path):
    model, other = build(name, seed=1), build(name, seed=2)
    save_weights(tmp_path / "model.safetensors", model)
    load_weights(tmp_path / "model.safetensors", other)
    seeds = [5, 6, 7, 8]
    assert torch.equal(logits(model, EXAMPLES, seeds), logits(other, EXAMPLES, seeds))
    assert greedy(model, EXAMPLES, seeds) == greedy(other, EXAMPLES, seeds)


@pytest.mark.parametrize("blocks", [SMALL, RELEASED], ids=["modern", "released"])
def test_padding_and_batch_mates_change_nothing(name, blocks):
    model = build(name, blocks)
    seeds = [5, 6, 7, 8]
    together = logits(model, EXAMPLES, seeds)
    for i, example in enumerate(EXAMPLES):
        alone = logits(model, [example], [seeds[i]])
        torch.testing.assert_close(together[i, : len(example.reply)], alone[0], atol=1e-4, rtol=1e-4)


def test_future_tokens_change_no_earlier_logit(name):
    model = build(name)
    example = EXAMPLES[2]
    changed = replace(example, reply=[*example.reply[:3], 9, 9])
    before, after = logits(model, [example])[0], logits(model, [changed])[0]
    torch.testing.assert_close(before[:3], after[:3])
    assert not torch.allclose(before[3:], after[3:])


def test_changing_gold_changes_no_reply(name):
    model = build(name)
    changed = [replace(e, reply=[9, 2], emotion=(e.emotion + 7) % 32) for e in EXAMPLES]
    assert greedy(model, EXAMPLES) == greedy(model, changed)


@pytest.mark.parametrize("blocks", [SMALL, RELEASED], ids=["modern", "released"])
def test_cached_step_equals_full_pass(name, blocks):
    model = build(name, blocks)
    inputs, gold = collate(EXAMPLES, [1, 2, 3, 4])
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
    examples = [replace(EXAMPLES[i % 4], emotion=i % 32) for i in range(32)]
    inputs, gold = collate(examples)
    for step in (0, 100_000):
        losses = model.losses(inputs, gold, step)
        sum(loss.total for loss in losses.values()).backward()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not silent


def test_emotion_is_a_distribution_where_told(name):
    inputs, _ = collate(EXAMPLES)
    with torch.inference_mode():
        emotion = build(name).encode(inputs).emotion_BE
    if emotion is not None:
        torch.testing.assert_close(emotion.exp().sum(-1), torch.ones(len(EXAMPLES)))
