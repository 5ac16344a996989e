import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save  # noqa: E402

from empathia import models  # noqa: E402
from empathia.core.errors import BadConfig, BadFile  # noqa: E402
from empathia.models.base import BaseConfig, ReplyLoss  # noqa: E402
from empathia.nn.blocks import Blocks  # noqa: E402
from empathia.text.batches import Encoded  # noqa: E402
from empathia.training.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from empathia.training.loop import Trainer, Update, check  # noqa: E402
from empathia.training.recipe import Recipe, Train  # noqa: E402
from empathia.training.schedule import rate  # noqa: E402

BLOCKS = Blocks(width=16, heads=2, depth=8, hidden=16, dropout=0.0, embedding_dropout=0.0)
DATA = [Encoded([6, 10 + i % 5, 20], [6, 4, 4], [15 + i % 4, 2], i % 32) for i in range(24)]


def trainer(folder, **changes):
    torch.manual_seed(0)
    model = models.find("transformer")(BaseConfig(BLOCKS, ReplyLoss(head=0)), 30)
    return Trainer(model, Train(**{"epochs": 3, "batch": 8, "warmup": 2, **changes}), DATA, DATA[:4], folder)


def test_accumulation_changes_no_gradient(tmp_path):
    whole, parts = trainer(tmp_path / "a"), trainer(tmp_path / "b", accumulate=3)
    whole.run()
    parts.run()
    for left, right in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-4)


def test_training_lowers_the_loss_and_keeps_the_best(tmp_path):
    seen = []
    made = trainer(tmp_path, lr=1e-2, epochs=8)
    made.run(lambda event: seen.append(event.losses["reply"]) if isinstance(event, Update) else None)
    assert seen[-1] < 0.5 * seen[0]
    assert made.progress.best == min(row["perplexity"] for row in made.progress.history)
    assert (tmp_path / "model.safetensors").exists()


def test_stopped_and_resumed_equals_uncut(tmp_path):
    whole, first, second = trainer(tmp_path / "a"), trainer(tmp_path / "b"), trainer(tmp_path / "b")
    whole.run()
    first.run(stop_at=4)
    assert second.resume()
    assert second.progress.update == 4
    second.run()
    for left, right in zip(whole.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(left, right)


def test_patience_stops_early(tmp_path):
    made = trainer(tmp_path, lr=0.0, epochs=50, patience=1)
    made.run()
    assert made.progress.epoch <= 3


def test_a_corrupt_or_foreign_checkpoint_is_named(tmp_path):
    made = trainer(tmp_path)
    made.run()
    path = tmp_path / "checkpoint.safetensors"
    good = path.read_bytes()
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(BadFile, match="damaged"):
        made.resume()
    path.write_bytes(b"not a checkpoint at all")
    with pytest.raises(BadFile, match="damaged"):
        made.resume()
    for foreign in ({}, {"progress": "{}"}):  # tensors, but not all that a checkpoint has
        path.write_bytes(save({"weight": torch.zeros(2)}, metadata=foreign))
        with pytest.raises(BadFile, match="not a checkpoint"):
            made.resume()
    other = models.find("transformer")(BaseConfig(BLOCKS), 31)
    save_checkpoint(path, other, torch.optim.AdamW(other.parameters()), {})
    with pytest.raises(BadFile, match="does not fit"):
        load_checkpoint(path, made.model, made.optimizer)


def test_schedules():
    noam = Train(schedule="noam", lr=1.0, warmup=8000)
    assert rate(noam, 8000, 1, 300) == pytest.approx(300**-0.5 * 8000**-0.5)
    assert rate(noam, 4000, 1, 300) == pytest.approx(rate(noam, 8000, 1, 300) / 2)
    cosine = Train(schedule="cosine", lr=1.0, warmup=10)
    assert rate(cosine, 5, 100, 300) == pytest.approx(0.5)
    assert rate(cosine, 10, 100, 300) == pytest.approx(1.0)
    assert rate(cosine, 100, 100, 300) == pytest.approx(0.05)
    assert rate(Train(schedule="constant", lr=0.3, warmup=1), 77, 100, 300) == pytest.approx(0.3)


def test_impossible_training_is_refused():
    with pytest.raises(BadConfig):
        check(Train(batch=0))


def test_bf16_is_refused_where_it_does_not_work(monkeypatch):
    from empathia.training import precision

    def told(supported, trial):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: supported)
        monkeypatch.setattr(precision, "_TRIAL", trial)
        precision.bf16_problem.cache_clear()
        return precision.bf16_problem()

    try:
        assert told(True, "pass") is None
        assert "lacks AVX-512 BF16" in told(False, "pass")
        assert "no primitive" in told(True, "raise RuntimeError('no primitive')")
        assert "exit code" in told(True, "import os; os.abort()")
        with pytest.raises(BadConfig, match="bf16 does not work"):
            check(Train(bf16=True))
    finally:
        precision.bf16_problem.cache_clear()


@pytest.mark.parametrize(
    "path", sorted((__import__("pathlib").Path(__file__).parents[2] / "recipes").glob("*.toml")), ids=lambda p: p.stem
)
def test_every_recipe_fits_its_model_and_survives_its_run_folder(path, tmp_path):
    from empathia.core import config
    from empathia.training.t5.recipe import T5Recipe

    kind = T5Recipe if "t5" in config.load(path) else Recipe
    recipe = kind.load(path)
    (tmp_path / "config.toml").write_text(recipe.dump())
    assert kind.load(tmp_path / "config.toml") == recipe


def test_an_exported_run_answers_with_the_words_it_kept(tmp_path):
    from empathia.core.types import Context
    from empathia.text.vocabulary import SPECIALS, Vocabulary
    from empathia.training.export import export
    from empathia.training.responder import RunResponder
    from empathia.training.run import Run, open_run

    torch.manual_seed(0)
    vocabulary = Vocabulary(f"word{chr(97 + i)}" for i in range(26))
    recipe = Recipe("mime", models.find("mime").Config(blocks=BLOCKS))
    run = Run("big", tmp_path, recipe, vocabulary, models.find("mime")(recipe.config, vocabulary.size).eval())
    small = open_run(str(export(run, tmp_path / "small", words=9)))
    assert small.vocabulary.words == vocabulary.words[: len(SPECIALS) + 9]
    assert (tmp_path / "small" / "model.safetensors").stat().st_size < 3 * sum(
        p.numel() for p in small.model.parameters()
    )
    assert "wordz" not in RunResponder(small).reply(Context.of("worda wordz")).text
