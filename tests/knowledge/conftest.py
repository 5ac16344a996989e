from __future__ import annotations

from pathlib import Path

import pytest
from knowledge_toys import CONCEPTNET, put_atomic

from empathia.knowledge import store as opened


@pytest.fixture
def tuples_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a few hand-written tuples, and an empty home beside it."""
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("empathia.core.places.shipped", lambda: tmp_path / "none shipped")
    put_atomic(tmp_path / "data")
    (tmp_path / "data" / "conceptnet").mkdir()
    for split, text in CONCEPTNET.items():
        (tmp_path / "data" / "conceptnet" / f"{split}.txt").write_text(text)
    return tmp_path


@pytest.fixture
def words_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every store is made and asked with an encoder of words."""
    from knowledge_toys import WordEncoder

    monkeypatch.setattr("empathia.text.sentence_encoder.load", lambda say=None: WordEncoder())


@pytest.fixture
def store(tuples_here: Path, words_encoder: None):
    return opened()
