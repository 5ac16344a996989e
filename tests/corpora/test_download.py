"""Downloads against a real server on this machine: whole, cut, resumed, wrong, absent, on a full disk."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from empathia.core.errors import BadFile, DownloadFailed, EmpathiaError
from empathia.corpora import download
from empathia.corpora.base import Source
from empathia.corpora.download import LOCK, fetch

BODY = bytes(range(256)) * 4096  # 1 MiB


class Server(ThreadingHTTPServer):
    """Serves `body` under every path. Knobs: what it does wrong, and for how many requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.etag, self.status = BODY, '"one"', 200
        self.cut_after: int | None = None  # bytes of an answer before the connection drops
        self.cuts = 0  # how many answers are cut
        self.failures = 0  # how many answers are 503
        self.ignores_range = False
        self.ranges: list[str | None] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/corpus.bin"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *words: object) -> None:
        pass

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.ranges.append(wanted)
        if server.failures:
            server.failures -= 1
            self.send_error(503)
            return
        if server.status != 200:
            self.send_error(server.status)
            return
        start = 0
        if wanted and not server.ignores_range and self.headers.get("If-Range") == server.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(server.body):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.body) - 1}/{len(server.body)}")
        self.send_header("Content-Length", str(len(server.body) - start))
        if server.etag:
            self.send_header("ETag", server.etag)
        self.end_headers()
        if server.cuts and server.cut_after is not None:
            server.cuts -= 1
            self.wfile.write(server.body[start : start + server.cut_after])
            self.wfile.flush()
            self.close_connection = True
        else:
            self.wfile.write(server.body[start:])


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def get(server: Server, folder: Path, **options) -> Path:
    source = Source("corpus.bin", server.address, options.pop("sha256", None))
    return fetch(source, folder, **{"tries": 3, "pause": 0.001, "timeout": 5.0, **options})


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in ("corpus.bin", LOCK))


def test_a_whole_file_arrives_watched_and_recorded(server, tmp_path):
    seen: list[tuple[int, int | None]] = []
    path = get(server, tmp_path / "new", watch=lambda at_hand, total: seen.append((at_hand, total)))
    assert path.read_bytes() == BODY
    assert seen[0] == (0, len(BODY)) and seen[-1] == (len(BODY), len(BODY))
    recorded = json.loads((path.parent / LOCK).read_text())["corpus.bin"]
    assert recorded == {"sha256": hashlib.sha256(BODY).hexdigest(), "bytes": len(BODY), "address": server.address}
    assert leftovers(path.parent) == []
    get(server, path.parent)
    assert len(server.ranges) == 1  # the second time nothing is asked for


def test_a_cut_is_resumed_with_a_range(server, tmp_path):
    server.cuts, server.cut_after = 2, 300_000
    assert get(server, tmp_path).read_bytes() == BODY
    assert server.ranges == [None, "bytes=300000-", "bytes=600000-"]
    assert leftovers(tmp_path) == []


def test_a_download_given_up_goes_on_in_the_next_run(server, tmp_path):
    server.cuts, server.cut_after = 1, 300_000
    with pytest.raises(DownloadFailed, match=r"dropped after 300,000 of 1,048,576 bytes .*run again") as caught:
        get(server, tmp_path, tries=1)
    assert caught.value.exit_code == 5 and "\n" not in str(caught.value)
    assert not (tmp_path / "corpus.bin").exists()
    assert get(server, tmp_path).read_bytes() == BODY
    assert server.ranges[-1] == "bytes=300000-"


def test_a_server_that_ignores_ranges_means_a_fresh_start(server, tmp_path):
    server.cuts, server.cut_after, server.ignores_range = 1, 300_000, True
    assert get(server, tmp_path).read_bytes() == BODY


def test_a_file_that_changed_meanwhile_is_fetched_afresh(server, tmp_path):
    server.cuts, server.cut_after = 1, 300_000
    with pytest.raises(DownloadFailed):
        get(server, tmp_path, tries=1)
    server.body, server.etag = BODY[::-1], '"two"'
    assert get(server, tmp_path).read_bytes() == BODY[::-1]


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_without_a_strong_mark_nothing_is_pieced_together(server, tmp_path, etag):
    server.cuts, server.cut_after, server.etag = 1, 300_000, etag
    assert get(server, tmp_path).read_bytes() == BODY
    assert server.ranges == [None, None]


def test_a_part_longer_than_the_file_is_thrown_away(server, tmp_path):
    server.cuts, server.cut_after = 1, 300_000
    with pytest.raises(DownloadFailed):
        get(server, tmp_path, tries=1)
    server.body = BODY[:1000]
    assert get(server, tmp_path).read_bytes() == BODY[:1000]


def test_a_busy_server_is_asked_again_but_not_for_ever(server, tmp_path):
    server.failures = 2
    assert get(server, tmp_path).read_bytes() == BODY
    server.failures = 9
    with pytest.raises(DownloadFailed, match=r"503 .*\(3 tries\)"):
        get(server, tmp_path / "other")
    assert server.failures == 6


def test_an_absent_file_is_not_asked_for_twice(server, tmp_path):
    server.status = 404
    with pytest.raises(DownloadFailed, match=r"404 Not Found; it may have moved; get corpus.bin from its authors"):
        get(server, tmp_path)
    assert len(server.ranges) == 1 and leftovers(tmp_path) == []


def test_a_wrong_file_is_refused_and_removed(server, tmp_path):
    pinned = hashlib.sha256(BODY).hexdigest()
    server.body = b"<html>please sign in</html>"
    with pytest.raises(DownloadFailed, match=r"wrong file: sha256 .* pinned; try again later"):
        get(server, tmp_path, sha256=pinned)
    assert list(tmp_path.iterdir()) == []
    server.body = BODY
    assert get(server, tmp_path, sha256=pinned).read_bytes() == BODY
    assert not (tmp_path / LOCK).exists()


def test_an_unpinned_file_must_stay_what_it_first_was(server, tmp_path):
    get(server, tmp_path).unlink()
    server.body = b"another"
    with pytest.raises(DownloadFailed, match=r"wrong file: .* of the first download \(in .*downloads.json\)"):
        get(server, tmp_path)
    server.body = BODY
    path = get(server, tmp_path)
    path.write_bytes(b"spoilt")
    with pytest.raises(BadFile, match="delete it and fetch it again"):
        get(server, tmp_path)


def test_a_sign_in_page_is_no_archive(server, tmp_path):
    server.body = b"<html>please sign in</html>"
    source = Source("corpus.tar.gz", server.address)
    with pytest.raises(DownloadFailed, match=r"corpus.tar.gz: not a .gz file"):
        fetch(source, tmp_path)
    server.body = gzip.compress(b"rows")
    assert gzip.decompress(fetch(source, tmp_path).read_bytes()) == b"rows"


def test_no_server_at_all(server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(DownloadFailed, match=r"cannot connect: .*\(2 tries\); check the connection"):
        get(server, tmp_path, tries=2)


def test_a_full_disk_is_one_line_and_keeps_what_there_is(server, tmp_path, monkeypatch):
    class Full:
        """A file on a disk with room for one chunk."""

        def __init__(self, file):
            self.file, self.room = file, 1

        def __enter__(self):
            return self

        def __exit__(self, *problem):
            self.file.close()

        def write(self, chunk):
            if not self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.room -= 1
            return self.file.write(chunk)

        def __getattr__(self, name):
            return getattr(self.file, name)

    plain = Path.open

    def crowded(path, mode="r", *rest, **options):
        file = plain(path, mode, *rest, **options)
        return Full(file) if path.suffix == ".part" and mode == "wb" else file

    monkeypatch.setattr(Path, "open", crowded)
    with pytest.raises(EmpathiaError, match=r"the disk is full: .*; free some space and run again"):
        get(server, tmp_path)
    monkeypatch.undo()
    assert (tmp_path / "corpus.bin.part").stat().st_size == download.CHUNK
    assert get(server, tmp_path).read_bytes() == BODY
    assert server.ranges[-1] == f"bytes={download.CHUNK}-"
