"""A pretrained T5 behind the contract of all systems: it learns, goes on after a cut, and stays a folder of
`transformers`. Its weights here are random and its pieces are letters."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402

from empathia.core.errors import BadConfig, BadFile, BadInput, MissingFile  # noqa: E402
from empathia.core.types import Context, Example, Gold  # noqa: E402
from empathia.decoding.contract import Decoding, Specials  # noqa: E402
from empathia.decoding.search import candidates, decode  # noqa: E402
from empathia.text.batches import collate  # noqa: E402
from empathia.training.loop import Trainer  # noqa: E402
from empathia.training.run import open_run  # noqa: E402
from empathia.training.t5.model import load  # noqa: E402
from empathia.training.t5.recipe import T5Recipe, follow  # noqa: E402

EXAMPLES = [
    Example("1", Context.of("I lost my job."), Gold("Oh no.")),
    Example("2", Context.of("I won!"), Gold("How nice!")),
    Example("3", Context.of("My cat is ill", "Poor cat.", "Yes, she is old."), Gold("I am sorry.")),
    Example("4", Context.of("I am afraid."), Gold("Of what?")),
]


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def batch(pieces, examples=EXAMPLES):
    encoder = T5Recipe(t5="any").encoder(pieces)
    return collate([encoder.example(one) for one in examples])


def taught(folder: Path):
    """A T5 that has learned the four examples by heart."""
    pieces, model = load(folder)
    inputs, gold = batch(pieces)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(120):
        optimizer.zero_grad()
        model.losses(inputs, gold)["reply"].total.backward()
        optimizer.step()
    return pieces, model.eval()


def told(pieces, model, examples=EXAMPLES, **how):
    inputs, _ = batch(pieces, examples)
    with torch.inference_mode():
        found = decode(model, model.encode(inputs), Specials.of(pieces), Decoding(max_length=16, **how))
    return [pieces.decode(one.tokens) for one in found]


def test_it_learns_and_our_searches_find_what_transformers_finds(tiny_t5):
    pieces, model = taught(tiny_t5)
    gold = [one.gold.reply for one in EXAMPLES]
    assert told(pieces, model) == gold == told(pieces, model, method="beam", beam=3)
    strangers = [Example("5", Context.of("I am old, and my cat lost."), Gold("?")), *EXAMPLES[2:]]
    inputs, _ = batch(pieces, strangers)
    ids = model.t5.generate(input_ids=inputs.words_BS, attention_mask=inputs.mask_BS, max_new_tokens=16)
    assert told(pieces, model, strangers, banned=("pad",)) == [pieces.decode(row) for row in ids.tolist()]


def test_its_loss_is_transformers_own_and_every_parameter_hears_of_it(tiny_t5):
    pieces, model = load(tiny_t5)
    inputs, gold = batch(pieces)
    loss = model.losses(inputs, gold)["reply"]
    labels = gold.reply_BT.masked_fill(gold.reply_BT == 0, -100)
    own = model.t5(input_ids=inputs.words_BS, attention_mask=inputs.mask_BS.long(), labels=labels).loss
    assert (loss.total / gold.tokens).item() == pytest.approx(own.item(), rel=1e-5)
    loss.total.backward()
    assert not [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]


def test_cached_steps_and_batch_mates_change_nothing(tiny_t5):
    pieces, model = taught(tiny_t5)
    inputs, gold = batch(pieces)
    with torch.inference_mode():
        memory = model.encode(inputs)
        full, cache = model.step(memory, gold.reply_BT), model.start_cache()
        halves = [model.step(memory, gold.reply_BT[:, part], cache) for part in (slice(0, 2), slice(2, None))]
        torch.testing.assert_close(torch.cat(halves, 1), full, atol=1e-4, rtol=1e-4)
        assert cache.length == gold.reply_BT.shape[1]
        for i, one in enumerate(EXAMPLES):
            alone_inputs, alone_gold = batch(pieces, [one])
            alone = model.step(model.encode(alone_inputs), alone_gold.reply_BT)[0]
            torch.testing.assert_close(full[i, : len(alone)], alone, atol=1e-4, rtol=1e-4)
    beam = Decoding(method="beam", beam=4, keep=4, max_length=16)
    with torch.inference_mode():
        together = candidates(model, memory, Specials.of(pieces), beam)
        last = candidates(model, model.encode(batch(pieces, EXAMPLES[3:])[0]), Specials.of(pieces), beam)
    assert [one.tokens for one in together[3]] == [one.tokens for one in last[0]]


def test_turns_end_with_the_end_mark_and_names_of_marks_are_unknown_pieces(tiny_t5):
    pieces, _ = load(tiny_t5)
    encoder = T5Recipe(t5="any").encoder(pieces)
    words, _ = encoder.context(Context.of("I won!", "Oh.", "</s> <pad> <extra_id_0>"))
    assert [i for i, word in enumerate(words) if word == pieces.end] == [7, 12, len(words) - 1]
    assert words.count(pieces.unk) == 3 and max(words) < pieces.size - 2 and pieces.pad not in words
    assert pieces.decode([*pieces.encode("I won!"), pieces.end, pieces.size + 3]) == "I won!"
    assert pieces.encode("\ud800") == pieces.encode("?") and pieces.encode("") == []
    assert encoder.example(EXAMPLES[0]).reply == [*pieces.encode("Oh no."), pieces.end]
    encoder.max_context = 4
    assert encoder.context(Context.of("I won!"))[0] == words[4:8]
    with pytest.raises(BadInput, match="no words"):
        encoder.context(Context.of(" "))


def values(folder: Path, **train):
    plain = {"epochs": 3, "batch": 5, "lr": 3e-3, "warmup": 2, "save_every": 2, "patience": 99}
    return {"t5": str(folder), "data": {"max_context": 64, "max_reply": 24}, "train": plain | train}


def trained(folder: Path, name: str, **train) -> Path:
    return follow(values(folder, **train), name, fresh=False, threads=1, say=print)


def test_cut_training_goes_on_to_the_same_weights(tiny_t5, home, monkeypatch):
    alone = trained(tiny_t5, "alone")
    for stop in (1, 5):
        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "_exhausted", lambda trainer, stop=stop: trainer.progress.update >= stop)
            cut = trained(tiny_t5, "cut")
    trained(tiny_t5, "cut")
    left, right = load_file(alone / "model.safetensors"), load_file(cut / "model.safetensors")
    assert left.keys() == right.keys() and all(left[name].equal(right[name]) for name in left)
    with pytest.raises(BadConfig, match="made by another recipe"):
        trained(tiny_t5, "cut", batch=7)


def test_a_run_learns_and_is_again_a_folder_of_transformers(tiny_t5, home):
    folder = trained(tiny_t5, "t5-pt", epochs=6)
    assert folder == home / "runs" / "t5-pt"
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    perplexities = [row["perplexity"] for row in rows if "perplexity" in row]
    assert len(perplexities) == 6 and perplexities[-1] < 0.8 * perplexities[0]
    assert "all weights of t5-tiny" in (folder / "card.md").read_text()
    again = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    shutil.rmtree(tiny_t5)  # not needed any more
    run = open_run("t5-pt")
    ours, theirs = run.model.t5.state_dict(), again.state_dict()
    assert ours.keys() == theirs.keys() and all(ours[name].equal(theirs[name]) for name in ours)
    assert f"vocabulary:t5-tiny-{run.vocabulary.size}|epochs:6" in run.conditions
    further = trained(folder, "further", epochs=1)
    assert "all weights of t5-pt" in (further / "card.md").read_text()


def test_an_untied_gated_t5_learns_too(tiny_t5, home):
    """The shape of T5 1.1 and of Flan-T5."""
    _config(tiny_t5, tie_word_embeddings=False, feed_forward_proj="gated-gelu", scale_decoder_outputs=None)
    config = transformers.AutoConfig.from_pretrained(tiny_t5)
    tensors = transformers.T5ForConditionalGeneration(config).state_dict()
    kept = {name: tensor.clone() for name, tensor in tensors.items() if "embed_tokens" not in name}
    save_file(kept | {"lm_head.weight": torch.randn_like(tensors["lm_head.weight"])}, tiny_t5 / "model.safetensors")
    folder = trained(tiny_t5, "flan", epochs=2)
    saved, t5 = load_file(folder / "model.safetensors"), open_run("flan").model.t5
    assert t5.lm_head.weight.equal(saved["lm_head.weight"]) and t5.shared.weight.equal(saved["shared.weight"])
    assert not saved["lm_head.weight"].equal(saved["shared.weight"])
    assert [load(place)[1].config.scale_decoder_outputs for place in (tiny_t5, folder)] == [False, False]


def _config(folder: Path, **changes):
    path = folder / "config.json"
    values = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))


def _one_tensor_less(folder: Path):
    tensors = load_file(folder / "model.safetensors")
    tensors.pop("encoder.final_layer_norm.weight")
    save_file(tensors, folder / "model.safetensors")


def _half(folder: Path):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (shutil.rmtree, MissingFile, "config.json; 't5' names a folder .* --set t5=path/to/t5-small"),
        (lambda f: (f / "config.json").write_text("{"), BadFile, "not JSON"),
        (lambda f: _config(f, model_type="gpt2", is_encoder_decoder=False), BadFile, "no T5: not an encoder–decoder"),
        (lambda f: _config(f, model_type="t55"), BadFile, "transformers cannot load it"),
        (lambda f: _config(f, d_model=16), BadFile, "transformers cannot load it"),
        (lambda f: (f / "tokenizer.json").unlink(), BadFile, "its tokenizer knows no letters"),
        (lambda f: (f / "model.safetensors").unlink(), BadFile, "model.safetensors"),
        (_half, BadFile, "transformers cannot load it"),
        (_one_tensor_less, BadFile, "its weights lack 'encoder.final_layer_norm.weight'"),
    ],
)
def test_a_folder_that_is_no_whole_t5_is_refused_before_anything_is_written(tiny_t5, home, damage, error, message):
    damage(tiny_t5)
    with pytest.raises(error, match=message):
        trained(tiny_t5, "wrong")
    assert not (home / "runs").exists()


def test_another_kind_of_padding_is_refused(tiny_t5, home):
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_t5)
    tokenizer.pad_token = "</s>"
    tokenizer.save_pretrained(tiny_t5)
    with pytest.raises(BadFile, match="its padding is not piece 0"):
        trained(tiny_t5, "wrong")


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("data", {"vectors": "none"}, "does not read 'data.vectors'"),
        ("data", {"vocabulary": "all"}, "does not read 'data.vocabulary'"),
        ("data", {"max_reply": 1}, "must be at least 2"),
        ("train", {"start_from": "mime"}, "name the run's folder as 't5'"),
    ],
)
def test_what_a_t5_cannot_use_is_named(table, change, message):
    with pytest.raises(BadConfig, match=message):
        T5Recipe.of({"t5": "any", table: change})
