"""What several rooms' tests share: a real headless Chromium, a small trained run, a T5 of random weights."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")  # while it is open, asyncio has a running loop; other tests need their own
def browser() -> Iterator[Any]:
    """Chromium through Playwright. Without it browser tests are skipped, loudly; on CI they fail."""
    problem = ""
    if shutil.which(CHROMIUM) is None:
        problem = f"no Chromium at {CHROMIUM}: install it, or set CHROMIUM to its path"
    else:
        try:
            from playwright.sync_api import sync_playwright
        except ImportError:
            problem = "playwright is not installed: pip install -e '.[dev]'"
    if problem:
        if os.environ.get("CI") == "true":
            pytest.fail(problem)
        pytest.skip(f"BROWSER TESTS SKIPPED: {problem}")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS), headless=True)
        yield chromium
        chromium.close()


SMALL_RECIPE = """
[model]
name = "mime"

[model.blocks]
width = 32
depth = 16
hidden = 32

[data]
vectors = "none"

[train]
epochs = 4
batch = 5
lr = 3e-3
warmup = 5
patience = 99
"""


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An EMPATHIA_HOME with `small.toml` and the MIME that `empathia train` made of it; copied, never changed."""
    torch = pytest.importorskip("torch")
    from empathia.cli import main

    home = tmp_path_factory.mktemp("trained") / "home"
    home.mkdir()
    (home / "small.toml").write_text(SMALL_RECIPE)
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        at_home(home, patch)
        main(["train", str(home / "small.toml"), "--name", "mime", "--threads", "1"])
    torch.set_num_threads(threads)
    return home


@pytest.fixture
def trained_home(trained_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A test's own copy of a home with a trained run `mime`, and the hand-written corpus."""
    home = tmp_path / "home"
    shutil.copytree(trained_once, home)
    at_home(home, monkeypatch)
    return home


def at_home(home: Path, patch: pytest.MonkeyPatch) -> None:
    """Nothing outside `home` and the hand-written corpus is seen, weights shipped with the repository included."""
    patch.setenv("EMPATHIA_HOME", str(home))
    patch.setenv("EMPATHIA_DATA", str(Path(__file__).parent / "data"))
    patch.delenv("EMPATHIA_RUNS", raising=False)
    patch.setattr("empathia.core.places.shipped", lambda: home / "none shipped")


@pytest.fixture
def tiny_t5(tmp_path: Path) -> Path:
    """A folder of `transformers` with a T5 of random weights that spells letter by letter, described as T5-small is."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    folder = tmp_path / "t5-tiny"
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?'</>"
    marks = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    tokenizer = transformers.T5Tokenizer([*marks, *((letter, -3.0) for letter in letters)], extra_ids=2)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(tokenizer) + 5, d_model=32, d_kv=8, num_heads=4, d_ff=48, num_layers=2, dropout_rate=0.1,
        decoder_start_token_id=0, n_positions=512, output_past=True,
        task_specific_params={"summarization": {"num_beams": 4, "prefix": "summarize: "}},
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
