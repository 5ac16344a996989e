"""Files from their authors' public addresses: resumed after a cut, checked, whole or not there at all.

A download grows in `NAME.part` beside its place. After a cut the next try asks for the missing rest
(`Range`) on condition that the file has not changed (`If-Range` with its ETag or date), and starts afresh
when the server gives no such mark, ignores ranges, or holds another file by now.

The SHA-256 is compared with the pinned one. Where none is pinned, because nobody has verified the file, the
first download's is written to `downloads.json` beside it, and every later one must equal it.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from .. import __version__
from ..core.errors import BadFile, DownloadFailed, EmpathiaError
from ..core.files import read_json, write_json
from .base import Source

LOCK = "downloads.json"
CHUNK = 1 << 18
#: How the kinds of files we fetch begin; a sign-in page served in their place does not.
MAGIC = {".gz": b"\x1f\x8b", ".tgz": b"\x1f\x8b", ".zip": b"PK"}

FULL = (errno.ENOSPC, errno.EDQUOT)

#: Told the bytes at hand and, where the server says, the bytes in all.
Watch = Callable[[int, int | None], None]


class _Cut(Exception):
    """The connection ended early, or the server asks to come back later; another try may help."""


def fetch(
    source: Source,
    folder: Path,
    *,
    watch: Watch = lambda at_hand, total: None,
    tries: int = 5,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> Path:
    """`source` in `folder`, downloaded unless it is there already. Raises an error with the next step."""
    target = folder / source.file
    if target.exists():
        _verify(target, source, folder, blame=BadFile)
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _disk(error, target.parent) from error
    part = target.with_name(target.name + ".part")
    for attempt in range(1, tries + 1):
        try:
            _continue(source, part, watch, timeout)
            break
        except _Cut as cut:
            if attempt == tries:
                raise DownloadFailed(
                    f"{source.address}: {cut} ({tries} tries)",
                    "check the connection and run again; it goes on from there",
                ) from cut
            time.sleep(pause * 2 ** (attempt - 1))
    try:
        checksum = _verify(part, source, folder, blame=_wrong)
    except EmpathiaError:
        _forget(part)
        raise
    if source.sha256 is None:
        _record(folder, source, checksum, part.stat().st_size)
    part.replace(target)
    _marks(part).unlink(missing_ok=True)
    return target


def _continue(source: Source, part: Path, watch: Watch, timeout: float) -> None:
    """One try: ask for what is missing and write it down as it comes."""
    have = part.stat().st_size if part.exists() else 0
    mark = _mark(part, source)
    request = urllib.request.Request(source.address, headers={"User-Agent": f"empathia/{__version__}"})
    if have and mark:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", mark)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            start, total = _extent(answer, have)
            if start == 0:
                _forget(part)  # before the new mark: an old beginning must never carry it
                _remember(part, source, answer)
            _save(answer, part, start, total, watch)
    except urllib.error.HTTPError as error:
        _refused(error, source, part)
    except urllib.error.URLError as error:
        raise _Cut(f"cannot connect: {error.reason}") from error
    except http.client.HTTPException as error:
        raise _Cut(f"the connection dropped: {type(error).__name__}") from error
    except OSError as error:
        if error.errno in FULL:  # told only when the file is closed
            raise _disk(error, part) from error
        raise _Cut(f"the connection dropped: {error}") from error


def _extent(answer: Any, have: int) -> tuple[int, int | None]:
    """Where the answer's first byte belongs, and the size of the whole file if the server says."""
    length = answer.headers.get("Content-Length")
    if answer.status != 206:
        return 0, int(length) if length and length.isdecimal() else None
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", "").strip())
    if found is None or int(found[1]) != have:
        raise _Cut("the server sent another part than asked for")
    return have, int(found[2]) if found[2].isdecimal() else None


def _save(answer: IO[bytes], part: Path, start: int, total: int | None, watch: Watch) -> None:
    at_hand = start
    watch(at_hand, total)
    try:
        out = part.open("r+b" if start else "wb")
    except OSError as error:
        raise _disk(error, part) from error
    with out:
        out.seek(start)
        while chunk := answer.read(CHUNK):
            try:
                out.write(chunk)
            except OSError as error:
                raise _disk(error, part) from error
            at_hand += len(chunk)
            watch(at_hand, total)
        try:
            out.flush()
            os.fsync(out.fileno())
        except OSError as error:
            raise _disk(error, part) from error
    if total is not None and at_hand < total:
        raise _Cut(f"the connection dropped after {at_hand:,} of {total:,} bytes")


def _refused(error: urllib.error.HTTPError, source: Source, part: Path) -> None:
    error.close()
    if error.code == 416:  # the part is no beginning of what the server has now
        _forget(part)
        raise _Cut("the file has changed since the download began") from error
    if error.code in (408, 425, 429) or error.code >= 500:
        raise _Cut(f"the server answers {error.code} {error.reason}") from error
    raise DownloadFailed(
        f"{source.address}: the server answers {error.code} {error.reason}",
        f"it may have moved; get {source.file} from its authors and put it in the data folder (EMPATHIA_DATA)",
    ) from error


def _marks(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _remember(part: Path, source: Source, answer: Any) -> None:
    """Keep the mark by which a later try can ask for the rest of this very file. Weak ETags cannot serve."""
    etag = answer.headers.get("ETag", "")
    mark = etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified", "")
    write_json(_marks(part), {"address": source.address, "mark": mark})


def _mark(part: Path, source: Source) -> str:
    try:
        kept = json.loads(_marks(part).read_text(encoding="utf-8"))
        return str(kept["mark"]) if kept["address"] == source.address else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _marks(part).unlink(missing_ok=True)


def sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _verify(path: Path, source: Source, folder: Path, blame: Callable[..., EmpathiaError]) -> str:
    """The file's checksum, after comparing it with the pinned one or else with the first download's."""
    magic = MAGIC.get(Path(source.file).suffix, b"")
    with path.open("rb") as handle:
        if handle.read(len(magic)) != magic:
            raise blame(path, f"not a {Path(source.file).suffix} file", hint=_again(source))
    known = source.sha256 or _recorded(folder).get(source.file, {}).get("sha256")
    found = sha256(path)
    if known and found != known:
        where = "pinned" if source.sha256 else f"of the first download (in {folder / LOCK})"
        raise blame(path, f"wrong file: sha256 {found[:12]}… is not the {known[:12]}… {where}", hint=_again(source))
    return found


def _recorded(folder: Path) -> dict[str, dict[str, Any]]:
    lock = folder / LOCK
    recorded = read_json(lock) if lock.exists() else {}
    if not isinstance(recorded, dict) or not all(isinstance(entry, dict) for entry in recorded.values()):
        raise BadFile(lock, "must be a JSON object of objects", hint="delete it; checksums are recorded anew")
    return recorded


def _record(folder: Path, source: Source, checksum: str, size: int) -> None:
    entry = {"sha256": checksum, "bytes": size, "address": source.address}
    write_json(folder / LOCK, {**_recorded(folder), source.file: entry})


def _again(source: Source) -> str:
    return f"delete it and fetch it again, or get {source.file} from its authors: {source.address}"


def _wrong(path: Path, problem: str, hint: str) -> DownloadFailed:
    return DownloadFailed(f"{path.name.removesuffix('.part')}: {problem}", f"try again later; {hint}")


def _disk(error: OSError, path: Path) -> EmpathiaError:
    if error.errno in FULL:
        return EmpathiaError(f"the disk is full: {path}", "free some space and run again; it goes on from there")
    return EmpathiaError(f"cannot write {path}: {error.strerror or error}", "choose another folder with EMPATHIA_DATA")
