"""`empathia train`: what is wrong with a recipe, a corpus or a folder is said in a line, before any training."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

from commands_terminal import answered, empathia, refused

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def recipe(trained_home: Path) -> Path:
    return trained_home / "small.toml"


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("train.lrr=1", "unknown key 'train.lrr'; did you mean 'lr'?"),
        ("trian.lr=1", "unknown key 'trian'; did you mean 'train'?"),
        ("model.blocks.widht=8", "unknown key 'model.blocks.widht'; did you mean 'width'?"),
        ("model.name=mimee", "no model 'mimee'; did you mean 'mime'?"),
        ("model.name=5", "no model '5'; known: imagine, lempex"),
        ("model=3", "'model' must be a table"),
        ("train=3", "'train' must be a table"),
        ("train.lr=fast", "'train.lr' must be a number, not 'fast'"),
        ("train.batch=2.5", "'train.batch' must be a whole number, not 2.5"),
        ("train.schedule=cosin", "'train.schedule' cannot be 'cosin'; did you mean 'cosine'?"),
        ("train.lr", "'train.lr' is not an override; write it as key.subkey=value"),
        ("train.batch=0", "train.batch, train.epochs, train.accumulate and train.save_every must be at least 1"),
        ("train.save_every=0", "must be at least 1"),
        ("train.lr=-1", "must not be negative"),
        ("train.betas=[0.9]", "train.betas takes two numbers"),
        ("train.betas=[0.9, 1.0]", "train.betas takes two numbers from 0 to below 1"),
        ("train.seed=99999999999999999999", "train.seed must be from 0 to 2147483647"),
        ("model.blocks.width=0", "must be at least 1"),
        ("model.blocks.width=33", "model.blocks.width must be even"),
        ("model.blocks.heads=3", "model.blocks.depth must be a multiple of heads"),
        ("model.blocks.dropout=1.5", "model.blocks.dropout must be from 0 to below 1"),
        ("model.reply.sample=0", "model.reply.sample must be at least 1"),
        ("data.max_context=1", "data.max_context must be from 2 to 1024"),
        ("data.max_context=5000", "data.max_context must be from 2 to 1024"),
        ("data.max_reply=0", "data.max_reply must be from 1 to 1024"),
        ("data.corpus=empathetic-dialogue", "no corpus 'empathetic-dialogue'; did you mean 'empathetic-dialogues'?"),
    ],
)
def test_a_wrong_key_or_value_is_named(recipe, override, told):
    assert told in refused(2, "train", recipe, "--name", "new", "--set", override)


@pytest.mark.parametrize(
    ("content", "code", "told"),
    [
        (b"[model\n", 4, "broken.toml: not TOML"),
        (b"\xff\xfe", 4, "broken.toml: not UTF-8 at byte 0"),
        (b"", 2, "missing key 'model.name'; known: imagine, lempex"),
        (b'model = "mime"', 2, "'model' must be a table"),
        (b"extends = 5", 4, "broken.toml: 'extends' must be a string"),
        (b'extends = "broken.toml"', 4, "broken.toml: extends itself"),
        (b'extends = "gone.toml"', 3, "gone.toml; 'extends' in "),
    ],
)
def test_a_broken_recipe_is_named(trained_home, content, code, told):
    path = trained_home / "broken.toml"
    path.write_bytes(content)
    assert told in refused(code, "train", path)


def test_a_missing_recipe_and_a_folder_in_its_place(trained_home):
    missing = refused(3, "train", trained_home / "gone.toml")
    assert "no such file: " in missing and "empathia train recipes/mime.toml" in missing
    assert "cannot be read: Is a directory" in refused(4, "train", trained_home)


def test_a_missing_corpus_says_how_to_get_it(recipe, trained_home, monkeypatch):
    empty = trained_home / "nothing here"
    empty.mkdir()
    monkeypatch.setenv("EMPATHIA_DATA", str(empty))
    told = refused(3, "train", recipe, "--name", "new")
    assert "empathetic-dialogues is not here" in told and "run: empathia data get empathetic-dialogues" in told
    assert "is not here" in refused(3, "generate", "mime")
    assert "is not here" in refused(3, "evaluate", "mime", "--no-embeddings")


@pytest.mark.parametrize("path", sorted(RECIPES.rglob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_of_the_house_is_checked_by_its_room(path):
    assert "unknown key 'train.epocs'; did you mean 'epochs'?" in refused(2, "train", path, "--set", "train.epocs=1")


def test_a_recipe_that_cannot_stop_at_an_update_says_so():
    told = refused(2, "train", RECIPES / "exemplars" / "encoder.toml", "--stop-at", "3")
    assert "--stop-at does not fit this recipe; stop it at any time; the same command goes on" in told


def test_a_corpus_without_dialogues_cannot_be_trained_on(recipe, monkeypatch):
    monkeypatch.setattr("empathia.training.prepare.load", lambda name, split: [object()])
    assert "'atomic' holds no dialogues" in refused(2, "train", recipe, "--name", "new", "--set", "data.corpus=atomic")


def test_missing_word_vectors_are_named(recipe):
    gone = recipe.parent / "gone.txt"
    assert f"no such file: {gone}" in refused(3, "train", recipe, "--name", "new", "--set", f"data.vectors={gone}")


def test_a_folder_of_another_recipe_is_not_overwritten(recipe, trained_home):
    run = trained_home / "runs" / "mime"
    before = (run / "checkpoint.safetensors").read_bytes()
    other = ("train", recipe, "--name", "mime", "--set", "train.batch=7")
    told = refused(2, *other)
    assert "was made by another recipe; choose another --name, or start over with --fresh" in told
    (run / "config.toml").write_bytes(b"\xff")
    assert "was made by another recipe" in refused(2, *other)
    assert (run / "checkpoint.safetensors").read_bytes() == before
    assert answered(*other, "--fresh", "--stop-at", "1") == f"{run}\n"
    assert (run / "checkpoint.safetensors").read_bytes() != before
    assert "batch = 7" in (run / "config.toml").read_text()


def test_a_finished_run_is_left_as_it_is(recipe, trained_home):
    weights = trained_home / "runs" / "mime" / "model.safetensors"
    before = weights.read_bytes()
    said = empathia("train", recipe, "--name", "mime")
    assert said.code == 0 and "going on at update 16" in said.err
    assert weights.read_bytes() == before


def test_a_loss_that_explodes_stops_the_run(recipe):
    said = empathia("train", recipe, "--name", "new", "--set", "train.lr=1e9", "--set", "train.clip=0")
    assert said.code == 1
    assert "the loss is not finite at update 2; lower train.lr or set train.clip\n" in said.err


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


@pytest.mark.parametrize(
    ("file", "damage", "told"),
    [
        ("checkpoint.safetensors", _half, "checkpoint.safetensors: damaged"),
        ("checkpoint.safetensors", lambda content: b"", "checkpoint.safetensors: damaged"),
        ("vocabulary.json", _half, "vocabulary.json, line "),
        ("vocabulary.json", lambda content: b'{"words": [["a"]]}', "vocabulary.json: not a vocabulary"),
        ("vocabulary.json", lambda content: b'{"words": ["a"]}', "checkpoint.safetensors: does not fit this model"),
    ],
)
def test_a_damaged_folder_is_not_trained_on(recipe, trained_home, file, damage, told):
    path = trained_home / "runs" / "mime" / file
    path.write_bytes(damage(path.read_bytes()))
    assert told in refused(4, "train", recipe, "--name", "mime")


def test_weights_are_no_checkpoint(recipe, trained_home):
    run = trained_home / "runs" / "mime"
    shutil.copy(run / "model.safetensors", run / "checkpoint.safetensors")
    assert "not a checkpoint; delete it to start over" in refused(4, "train", recipe, "--name", "mime")


def test_a_folder_that_cannot_be_made_is_named(recipe, trained_home):
    told = refused(1, "train", recipe, "--name", "mime/config.toml/inside")
    assert "cannot write " in told and "choose another folder" in told
