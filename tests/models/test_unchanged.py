"""Options and parts that came later leave the earlier systems as they were, to the last bit."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402

from empathia import models  # noqa: E402
from empathia.models.base import BaseConfig, ReplyLoss, shifted  # noqa: E402
from empathia.nn.blocks import Blocks, DecoderLayer, EncoderLayer  # noqa: E402
from empathia.nn.losses import sampled_token_nll  # noqa: E402
from empathia.text.batches import Encoded, collate  # noqa: E402

BLOCKS = Blocks(width=16, heads=2, depth=8, hidden=16)
BATCH = collate([Encoded([6, 9, 10], [6, 4, 4], [11, 80, 2], 3), Encoded([6, 9], [6, 4], [12, 2], 4)])


def test_parameters_are_numbered_as_in_older_checkpoints():
    """A checkpoint's optimizer state goes by number, and the gradient's norm is summed in this order."""
    order = [name.split(".")[0] for name, _ in EncoderLayer(Blocks()).named_parameters()]
    assert list(dict.fromkeys(order)) == ["attention", "feed_forward", "norms"]
    order = [name.split(".")[0] for name, _ in DecoderLayer(Blocks()).named_parameters()]
    assert list(dict.fromkeys(order)) == ["own", "cross", "feed_forward", "norms"]
    mime = models.find("mime")
    names = [name.split(".")[0] for name, _ in mime(mime.Config(blocks=BLOCKS), 30).named_parameters()]
    expected = ["emotions_ED", "embedding", "output", "encoder", "decoder", "match", "groups", "refiners"]
    assert list(dict.fromkeys(names)) == [*expected, "contribution", "fuse"]


@pytest.mark.parametrize("reply", [ReplyLoss(head=20, sample=10), ReplyLoss(head=0, smoothing=0.1)])
def test_the_reply_loss_is_the_plain_one_and_draws_no_more_chance(reply):
    torch.manual_seed(0)
    model = models.find("transformer")(BaseConfig(BLOCKS, reply), 100).train()
    inputs, gold = BATCH
    torch.manual_seed(1)
    found, after = model.losses(inputs, gold)["reply"].total, torch.get_rng_state()
    torch.manual_seed(1)
    there = gold.reply_BT != 0
    states, words = model.hidden(model.encode(inputs), shifted(gold.reply_BT))[there], gold.reply_BT[there]
    weight, bias = model.output.weight, model.output.bias
    if reply.head:
        plain = sampled_token_nll(states, weight, bias, words, reply.head, reply.sample)
    else:
        plain = F.cross_entropy(F.linear(states, weight, bias), words, reduction="sum", label_smoothing=0.1)
    assert torch.equal(found, plain) and torch.equal(after, torch.get_rng_state())


def test_a_batch_without_evidence_is_the_batch_it_was():
    inputs, gold = BATCH
    assert inputs.words_BS.tolist() == [[6, 9, 10], [6, 9, 0]] and inputs.seen == {}
    assert gold.reply_BT.tolist() == [[11, 80, 2], [12, 2, 0]] and gold.emotion_B.tolist() == [3, 4]
    assert not models.find("mime")(models.find("mime").Config(blocks=BLOCKS), 30).needs(None)
