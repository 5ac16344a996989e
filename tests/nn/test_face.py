"""FACE: common words count less; without it nothing is other than before."""

import pytest

torch = pytest.importorskip("torch")

from empathia.nn.losses import Face, sampled_token_nll, token_nll  # noqa: E402

REPLIES = [[7, 7, 7, 8, 8, 2], [7, 9, 2]]


def test_the_commonest_word_counts_nothing_and_the_mean_is_one():
    face = Face(12)
    assert torch.equal(face.weights(), torch.ones(12))
    face.count(REPLIES)
    weights = face.weights()
    assert weights[7] == 0 and weights.mean() == pytest.approx(1)
    assert weights[8] / weights[11] == pytest.approx(1 - 2 / 4)  # eqs. 20-21: 1 − FQ / max FQ
    assert weights[9] / weights[11] == pytest.approx(1 - 1 / 4)
    assert weights[0] == weights[2] == weights[11]  # neither the padding nor the end is a word
    face.count(REPLIES)
    assert torch.equal(face.weights(), weights)


def test_listening_counts_what_the_model_would_say():
    face, states = Face(12), torch.eye(12)[[5, 5, 6]]
    face.listen(states, torch.eye(12)[:8], torch.zeros(8))
    face.listen(states, torch.eye(12), torch.zeros(12))
    assert face.counts_V.nonzero()[:, 0].tolist() == [5, 6] and face.counts_V[5] == 4


def test_weighted_losses_are_sums_of_weighted_tokens():
    torch.manual_seed(0)
    states, table, bias, gold = torch.randn(6, 8), torch.randn(40, 8), torch.randn(40), torch.randint(40, (6,))
    counts = torch.rand(6)
    each = torch.stack([token_nll(states[i : i + 1], table, bias, gold[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(token_nll(states, table, bias, gold, counts_N=counts), (counts * each).sum())
    torch.testing.assert_close(sampled_token_nll(states, table, bias, gold, 10, 40, counts), (counts * each).sum())
    torch.manual_seed(1)
    one = sampled_token_nll(states, table, bias, gold, 10, 5)
    torch.manual_seed(1)
    assert torch.equal(sampled_token_nll(states, table, bias, gold, 10, 5, torch.ones(6)), one)
