"""A recipe small enough to train in a second or two, on the hand-written corpus."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = """
[model]
name = "{model}"

[model.blocks]
width = 32
depth = 16
hidden = 32
{blocks}

[data]
vectors = "none"

[train]
epochs = {epochs}
batch = 5
lr = 3e-3
warmup = 5
save_every = 3
patience = 99
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty EMPATHIA_HOME and the hand-written corpus, for this process and the ones it starts."""
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EMPATHIA_DATA", str(ROOT / "tests" / "data"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path / "home"


@pytest.fixture
def recipe(tmp_path):
    """Writes a small recipe and returns its path."""

    def write(model="mime", epochs=4, blocks=""):
        path = tmp_path / f"{model}.toml"
        path.write_text(SMALL.format(model=model, epochs=epochs, blocks=blocks))
        return path

    return write


def start(*arguments, **options):
    """`empathia …` in a process of its own."""
    command = [sys.executable, "-m", "empathia", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}, **options
    )


def run(*arguments):
    process = start(*arguments)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err
