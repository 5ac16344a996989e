"""The shared parts against plain definitions."""

import math

import pytest

torch = pytest.importorskip("torch")

from empathia.nn.attention import Attention  # noqa: E402
from empathia.nn.blocks import Blocks, Convolution, Decoder, Encoder, Refiner  # noqa: E402
from empathia.nn.cache import Cache, positions  # noqa: E402
from empathia.nn.dropout import Dropout, Forget  # noqa: E402
from empathia.nn.latent import draw  # noqa: E402
from empathia.nn.losses import gaussian_kl, sampled_token_nll, token_nll  # noqa: E402
from empathia.nn.norms import DeviationNorm, RootMeanSquareNorm  # noqa: E402
from empathia.training.precision import bf16_problem  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch.set_num_threads(1)


def test_attention_is_softmax_of_scaled_products():
    attention = Attention(width=6, heads=2, depth=4)
    x, memory = torch.randn(1, 3, 6), torch.randn(1, 5, 6)
    mask = torch.tensor([[True, True, False, True, True]])
    query, key, value = attention.query(x)[0], attention.key(memory)[0], attention.value(memory)[0]
    heads = []
    for h in range(2):
        own = slice(2 * h, 2 * h + 2)
        scores = query[:, own] @ key[:, own].T / math.sqrt(2)
        heads.append(scores.masked_fill(~mask, float("-inf")).softmax(-1) @ value[:, own])
    torch.testing.assert_close(attention(x, memory, mask)[0], attention.out(torch.cat(heads, -1)))


def test_the_released_backbone_has_the_published_sizes():
    blocks = Blocks.released()
    assert (blocks.width, blocks.heads, blocks.depth, blocks.hidden, blocks.dropout) == (300, 2, 40, 50, 0.0)
    layer = Decoder(blocks).layers[0]
    assert layer.own.query.weight.shape == (40, 300)
    assert layer.own.query.bias is None
    assert layer.feed_forward.inner.linear.weight.shape == (50, 900)
    hidden = layer.feed_forward(torch.randn(2, 4, 300))
    assert (hidden >= 0).all()  # the ReLU after the second convolution


def test_convolution_equals_conv1d():
    conv = Convolution(4, 5, causal=False)
    x = torch.randn(2, 7, 4)
    weight = conv.linear.weight.view(5, 3, 4).permute(0, 2, 1)
    expected = torch.nn.functional.conv1d(x.transpose(1, 2), weight, conv.linear.bias, padding=1).transpose(1, 2)
    torch.testing.assert_close(conv(x), expected)


def test_causal_convolution_never_looks_ahead_and_steps_alike():
    conv = Convolution(4, 5, causal=True)
    x = torch.randn(2, 6, 4)
    full = conv(x)
    changed = x.clone()
    changed[:, 4:] = 0
    torch.testing.assert_close(conv(changed)[:, :4], full[:, :4])
    cache = Cache()
    steps = torch.cat([conv(x[:, t : t + 1], cache) for t in range(6)], 1)
    torch.testing.assert_close(steps, full)


def test_deviation_norm_divides_by_the_unbiased_deviation():
    x = torch.tensor([[1.0, 2.0, 4.0]])
    expected = (x - x.mean()) / (x.std(unbiased=True) + 1e-6)
    torch.testing.assert_close(DeviationNorm(3)(x), expected)


def test_root_mean_square_norm_is_torchs_with_its_gradients():
    ours, theirs = RootMeanSquareNorm(5), torch.nn.RMSNorm(5, eps=1e-6)
    torch.nn.init.normal_(ours.weight)
    theirs.load_state_dict(ours.state_dict())
    made = []
    for norm in (ours, theirs):
        x = torch.linspace(-2, 3, 30).view(2, 3, 5).requires_grad_()
        out = norm(x)
        (out * torch.arange(30.0).view(2, 3, 5)).sum().backward()
        made.append((out, x.grad, norm.weight.grad))
    for one, other in zip(*made, strict=True):
        torch.testing.assert_close(one, other)


def test_refiner_in_halves_equals_one_map_of_the_joined_width():
    blocks = Blocks(width=8, heads=2, depth=4, hidden=8, dropout=0.0)
    refiner = Refiner(blocks).eval()
    context, vector, mask = torch.randn(2, 3, 8), torch.randn(2, 8), torch.ones(2, 3, dtype=torch.bool)
    joined = torch.cat([context, vector[:, None].expand_as(context)], -1)
    weight = torch.cat([refiner.from_context.weight, refiner.from_vector.weight], 1)
    torch.testing.assert_close(refiner(context, [vector], mask)[0], refiner.encoder(joined @ weight.T, mask))


def test_positions_are_sines_then_cosines():
    table = positions(5, 8)
    assert table.shape == (5, 8)
    torch.testing.assert_close(table[0], torch.tensor([0.0] * 4 + [1.0] * 4))
    torch.testing.assert_close(table[3, 0], torch.tensor(3.0).sin())
    torch.testing.assert_close(positions(2, 8, start=3), table[3:])


def test_dropout_shares_its_mask_over_positions_and_keeps_the_mean():
    dropout = Dropout(0.5).train()
    out = dropout(torch.ones(4, 6, 2000))
    assert (out == out[:, :1]).all()
    assert out.mean().item() == pytest.approx(1.0, abs=0.05)
    assert torch.equal(dropout.eval()(out), out)


def test_forgetting_hides_its_share_of_the_words_but_never_the_first_and_only_in_training():
    torch.manual_seed(0)
    forget, mask = Forget(0.25).train(), torch.ones(50, 101, dtype=torch.bool)
    mask[:, 80:] = False
    kept = forget(mask)
    assert kept[:, 0].all() and not kept[:, 80:].any()
    assert kept[:, 1:80].float().mean().item() == pytest.approx(0.75, abs=0.03)
    assert torch.equal(forget.eval()(mask), mask) and torch.equal(Forget(0.0).train()(mask), mask)


def test_sampled_loss_is_right_on_average_and_in_gradient():
    states, weight, bias = torch.randn(6, 8), torch.randn(400, 8) * 0.5, torch.zeros(400)
    gold = torch.tensor([3, 49, 50, 120, 399, 10])
    weight.requires_grad_()
    exact = token_nll(states, weight, bias, gold)
    (exact_grad,) = torch.autograd.grad(exact, weight)
    losses, grads = [], []
    for _ in range(400):
        loss = sampled_token_nll(states, weight, bias, gold, head=50, sample=100)
        losses.append(loss.detach())
        grads.append(torch.autograd.grad(loss, weight)[0])
    assert torch.stack(losses).mean().item() == pytest.approx(exact.item(), rel=0.01)
    error = (torch.stack(grads).mean(0) - exact_grad).norm() / exact_grad.norm()
    assert error < 0.1


def test_sampled_loss_of_everything_is_exact():
    states, weight, bias, gold = torch.randn(3, 4), torch.randn(20, 4), torch.randn(20), torch.tensor([1, 19, 7])
    torch.testing.assert_close(
        sampled_token_nll(states, weight, bias, gold, 5, 15), token_nll(states, weight, bias, gold)
    )


def test_gaussian_kl_against_torch():
    mean_q, logvar_q, mean_p, logvar_p = torch.randn(4, 3, 5)
    q = torch.distributions.Normal(mean_q, (0.5 * logvar_q).exp())
    p = torch.distributions.Normal(mean_p, (0.5 * logvar_p).exp())
    torch.testing.assert_close(
        gaussian_kl(mean_q, logvar_q, mean_p, logvar_p), torch.distributions.kl_divergence(q, p).sum(-1)
    )


def test_noise_belongs_to_its_seed():
    first, second = draw([1, 2, 3], 2, 4), draw([9, 3], 2, 4)
    assert torch.equal(first[0][2], second[0][1])
    assert not torch.equal(first[0][0], first[1][0])
    assert draw(None, 2, 4) == [None, None]


def test_encoder_ignores_padding():
    encoder = Encoder(Blocks.released(width=8, depth=4, hidden=6)).eval()
    x = torch.randn(1, 5, 8)
    mask = torch.tensor([[True, True, True, False, False]])
    other = x.clone()
    other[:, 3:] = 9.0
    torch.testing.assert_close(encoder(x, mask)[:, :3], encoder(other, mask)[:, :3])


@pytest.mark.parametrize(
    "blocks",
    [
        Blocks(width=8, depth=4, hidden=6, layers=2),
        Blocks(width=8, depth=4, hidden=6, order="post"),
        Blocks.t5(width=8, heads=2, depth=4, hidden=6, layers=2),
        Blocks.released(width=8, depth=4, hidden=6),
    ],
    ids=["pre", "post", "t5", "released"],
)
def test_the_first_state_alone_is_the_first_of_all(blocks):
    encoder, x = Encoder(blocks).eval(), torch.randn(2, 5, 8)
    mask = torch.tensor([[True] * 5, [True, True, True, False, False]])
    torch.testing.assert_close(encoder.first(x, mask), encoder(x, mask)[:, 0])


def test_in_bfloat16_attention_and_losses_stay_exact():
    if problem := bf16_problem():
        pytest.skip(problem)
    attention, x = Attention(8, heads=2, depth=8), torch.randn(1, 5, 8)
    seen = []
    attention.out.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].dtype))
    weight, bias, gold = torch.randn(20, 8), torch.randn(20), torch.tensor([1, 15, 3])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        attention(x)
        losses = [
            token_nll(x[0, :3], weight, bias, gold),
            sampled_token_nll(x[0, :3], weight, bias, gold, head=4, sample=8),
        ]
    assert {*seen, *(loss.dtype for loss in losses)} == {torch.float32}
