"""Getting a corpus: all of its files, into the folder that downloads go to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .base import Corpus, writable_root
from .download import Watch, fetch


def get(corpus: Corpus, watcher: Callable[[str], Watch]) -> Path:
    """The folder of `corpus`, its files downloaded unless they are here. `watcher(file)` follows each download."""
    here, folder = corpus.here(), writable_root() / corpus.folder
    downloaded = all((folder / source.file).exists() for source in corpus.sources)
    if here is not None and not downloaded:  # someone put it there in another form or another folder
        return here
    for source in corpus.sources:
        fetch(source, folder, watch=watcher(source.file))
    return folder
