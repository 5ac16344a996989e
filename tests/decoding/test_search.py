"""What holds for every search."""

from __future__ import annotations

import pytest
import torch
from decoding_toys import END, PAD, SPECIALS, START, UNK, Table, ToyMemory, ToyTransformer, contexts

from empathia.core.config import build
from empathia.core.errors import BadConfig, EmpathiaError
from empathia.decoding.contract import Decoding, Specials
from empathia.decoding.search import candidates, decode

METHODS = [
    Decoding(max_length=12),
    Decoding(method="beam", beam=4, max_length=12),
    Decoding(method="beam", beam=4, keep=3, max_length=12, length_penalty=1.0, block_ngrams=2),
    Decoding(method="beam", beam=3, max_length=12, stop="shrink", length_penalty=1.0),
    Decoding(method="beam", beam=3, max_length=12, stop="top"),
    Decoding(method="sample", max_length=12, seed=3),
    Decoding(method="sample", max_length=12, top_k=3, temperature=0.8),
    Decoding(method="sample", max_length=12, top_p=0.7, keep=2),
]
each_method = pytest.mark.parametrize("decoding", METHODS, ids=str)


def test_cached_step_equals_full_pass() -> None:
    model, memory = ToyTransformer(), contexts(3)
    prefix_BT = torch.randint(4, 12, (3, 7))
    cache = model.start_cache()
    pieces = [model.step(memory, piece, cache) for piece in prefix_BT.split([1, 3, 1, 2], 1)]
    torch.testing.assert_close(torch.cat(pieces, 1), model.step(memory, prefix_BT, None))


@each_method
def test_logprobs_are_the_models_own(decoding: Decoding) -> None:
    model, memory = ToyTransformer(end_bias=1.0), contexts(5)
    for sample, replies in enumerate(candidates(model, memory, SPECIALS, decoding)):
        for reply in replies:
            steps = (*reply.tokens, END) if reply.finished else reply.tokens
            logits_TV = model.step(memory.select(torch.tensor([sample])), torch.tensor([[START, *steps[:-1]]]), None)[0]
            wanted = logits_TV.log_softmax(-1)[torch.arange(len(steps)), torch.tensor(steps)]
            torch.testing.assert_close(torch.tensor(reply.logprobs), wanted, atol=1e-4, rtol=1e-4)
            assert reply.score == pytest.approx(decoding.score(reply.logprobs))


@each_method
def test_batch_mates_change_nothing(decoding: Decoding) -> None:
    model, memory = ToyTransformer(end_bias=1.0), contexts(7)
    seeds = [40 + i for i in range(7)]
    together = candidates(model, memory, SPECIALS, decoding, seeds)
    for i in range(7):
        (alone,) = candidates(model, memory.select(torch.tensor([i])), SPECIALS, decoding, seeds[i : i + 1])
        assert [h.tokens for h in alone] == [h.tokens for h in together[i]]
    turned = candidates(model, memory.select(torch.arange(6, -1, -1)), SPECIALS, decoding, seeds[::-1])
    assert [[h.tokens for h in c] for c in turned[::-1]] == [[h.tokens for h in c] for c in together]


@each_method
def test_special_marks_are_never_said_unless_allowed(decoding: Decoding) -> None:
    model = ToyTransformer()
    model.output.bias.data[[PAD, START, UNK]] += 100
    specials = Specials(PAD, START, END, UNK, others=(5, 6))
    said = {word for reply in decode(model, contexts(4), specials, decoding) for word in reply.tokens}
    assert said and not said & {PAD, START, UNK, END, 5, 6}


def test_a_ban_can_be_lifted_and_words_can_be_banned() -> None:
    model = ToyTransformer()
    model.output.bias.data[UNK] += 100
    assert decode(model, contexts(1), SPECIALS, Decoding(max_length=2, banned=("pad",)))[0].tokens == (UNK, UNK)
    words = tuple(range(4, 11))
    assert decode(model, contexts(1), SPECIALS, Decoding(max_length=2, min_length=2, banned_ids=words))[0].tokens == (
        11,
        11,
    )
    with pytest.raises(BadConfig, match="end mark"):
        decode(model, contexts(1), SPECIALS, Decoding(banned_ids=(END,)))


@each_method
def test_finished_samples_leave_the_batch(decoding: Decoding) -> None:
    model = ToyTransformer(end_bias=2.0)
    replies = decode(model, contexts(9), SPECIALS, decoding)
    lengths = {len(reply.logprobs) for reply in replies}
    assert len(lengths) > 2
    if decoding.method == "beam":
        assert model.rows[0] == 9
        assert sum(model.rows) < 9 * (1 + decoding.beam * (len(model.rows) - 1))
    elif decoding.keep == 1:
        assert model.rows == [sum(len(r.logprobs) > step for r in replies) for step in range(max(lengths))]


@each_method
def test_empty_batch(decoding: Decoding) -> None:
    assert decode(ToyTransformer(), contexts(0), SPECIALS, decoding) == []


@each_method
def test_one_step(decoding: Decoding) -> None:
    one = build(Decoding, {"method": decoding.method, "max_length": 1, "stop": decoding.stop})
    for reply in decode(ToyTransformer(), contexts(6), SPECIALS, one):
        assert len(reply.logprobs) == 1
        assert len(reply.tokens) == (0 if reply.finished else 1)


@each_method
def test_damaged_weights_are_one_clear_error(decoding: Decoding) -> None:
    model = ToyTransformer()
    model.output.weight.data[7, 0] = torch.nan
    with pytest.raises(EmpathiaError, match="not numbers"):
        decode(model, contexts(2), SPECIALS, decoding)


@each_method
def test_a_model_that_allows_no_word_is_one_clear_error(decoding: Decoding) -> None:
    model = Table(8, lambda said: {PAD: 1.0})
    with pytest.raises(EmpathiaError, match="probability of zero"):
        decode(model, ToyMemory(torch.zeros(2, 1)), SPECIALS, decoding)


def test_seeds_must_fit_the_batch() -> None:
    with pytest.raises(ValueError, match="2 seeds for 3"):
        decode(ToyTransformer(), contexts(3), SPECIALS, Decoding(method="sample"), seeds=[1, 2])


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "bean"},
        {"stop": "never"},
        {"banned": ("eos",)},
        {"beam": 0},
        {"keep": 2},
        {"method": "beam", "beam": 3, "keep": 4},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"temperature": 0.0},
        {"max_length": 0},
        {"min_length": 51},
        {"block_ngrams": -1},
        {"length_penalty": -0.5},
    ],
)
def test_wrong_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(BadConfig):
        Decoding(**wrong)


def test_signature_names_what_matters() -> None:
    assert str(Decoding()) == "greedy-max50"
    assert str(Decoding(method="beam", length_penalty=1, stop="shrink", block_ngrams=4)) == (
        "beam5-alpha1-shrink-block4-max50"
    )
    assert str(Decoding(method="sample", top_k=3, top_p=0.9, temperature=0.8, seed=2, min_length=1)) == (
        "sample-k3-p0.9-t0.8-seed2-min1-max50"
    )
