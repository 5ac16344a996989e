"""Relative and learned positions, norms after a part, and pools, against plain definitions."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from empathia.nn.attention import Attention  # noqa: E402
from empathia.nn.blocks import Blocks, Decoder, Embedding, Encoder  # noqa: E402
from empathia.nn.cache import Cache  # noqa: E402
from empathia.nn.pooling import AttentionPool, mean  # noqa: E402
from empathia.nn.relative import BUCKETS, RelativePositions, buckets  # noqa: E402

T5 = Blocks.t5(width=12, heads=2, depth=8, hidden=16, layers=2)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch.set_num_threads(1)


def test_near_distances_have_a_bucket_each_and_far_ones_share():
    causal = buckets(torch.arange(-3, 400), both_ways=False)
    assert causal[:4].tolist() == [0] * 4  # later positions are never looked at
    assert causal[3:19].tolist() == list(range(16))
    assert causal[-1] == BUCKETS - 1 and (causal.diff() >= 0).all()
    back, ahead = buckets(torch.arange(1, 400), True), buckets(-torch.arange(1, 400), True)
    assert back[:7].tolist() == list(range(1, 8)) and torch.equal(ahead, back + BUCKETS // 2)
    assert back.max() == BUCKETS // 2 - 1


def test_a_bias_depends_on_the_distance_alone():
    relative = RelativePositions(heads=3, both_ways=True)
    bias = relative(9)
    assert bias.shape == (3, 9, 9)
    torch.testing.assert_close(bias[:, 2:7, 2:7], bias[:, 4:9, 4:9])
    assert not torch.allclose(bias, bias.transpose(1, 2))
    causal = RelativePositions(heads=3, both_ways=False)
    torch.testing.assert_close(causal(2, before=7), causal(9)[:, 7:])


def test_attention_adds_a_bias_to_its_scores_and_keeps_the_mask():
    attention = Attention(width=6, heads=2, depth=4)
    x, bias = torch.randn(2, 5, 6), torch.randn(2, 5, 5)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    changed = x.clone()
    changed[1, 3:] = 9
    out, other = attention(x, x, mask, bias_HTS=bias), attention(x, changed, mask, bias_HTS=bias)
    torch.testing.assert_close(out[1, :3], other[1, :3])
    assert not torch.allclose(out, attention(x, x, mask))
    torch.testing.assert_close(out, attention(x, x, mask, bias_HTS=bias + 3))  # a softmax does not see a constant


def test_t5_layers_have_no_bias_and_one_table_for_all_layers():
    encoder = Encoder(T5)
    names = [name for name, _ in encoder.named_parameters()]
    assert not [name for name in names if name.endswith("bias")]
    assert sum("relative" in name for name in names) == 1
    assert Embedding(20, T5).positions is None


@pytest.mark.parametrize(
    "blocks", [T5, replace(T5, positions="learned", order="post", biases="all", norm="variance")], ids=["t5", "post"]
)
def test_a_decoder_steps_as_it_reads_at_once(blocks):
    decoder, embedding = Decoder(blocks).eval(), Embedding(20, blocks).eval()
    words, memory = torch.randint(1, 20, (2, 6)), torch.randn(2, 4, 12)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    full = decoder(embedding(words), memory, mask)
    cache, steps = Cache(), []
    for t in range(6):
        steps.append(decoder(embedding(words[:, t : t + 1], start=t), memory, mask, cache))
        cache.length += 1
    torch.testing.assert_close(torch.cat(steps, 1), full, atol=1e-5, rtol=1e-5)


def test_learned_positions_are_trained_and_post_norms_end_a_layer():
    blocks = replace(T5, positions="learned", order="post", norm="variance")
    embedding, encoder = Embedding(20, blocks).eval(), Encoder(blocks).eval()
    assert "positions" in dict(embedding.named_parameters())
    states = encoder(embedding(torch.tensor([[5, 6, 7]])), torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(states.mean(-1), torch.zeros(1, 3), atol=1e-5, rtol=0)


def test_pools_look_at_what_the_mask_shows():
    states = torch.randn(3, 4, 6)
    mask = torch.tensor([[True] * 4, [True, True, False, False], [False] * 4])
    torch.testing.assert_close(mean(states, mask)[1], states[1, :2].mean(0))
    assert not mean(states, mask)[2].any()
    pool = AttentionPool(6)
    weights = (states[1, :2] @ pool.vector).softmax(0)
    torch.testing.assert_close(pool(states, mask)[1], weights @ states[1, :2])
    layered = AttentionPool(6, layer=True)
    weights = (layered.layer(states[0]) @ layered.vector).softmax(0)
    torch.testing.assert_close(layered(states, mask)[0], weights @ states[0])
