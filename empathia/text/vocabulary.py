"""Words and their numbers. Ids run from the commonest word to the rarest, behind seven special ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from ..core.errors import BadFile
from ..core.files import read_json, write_json
from .tokenize import detokenize, tokenize


class Codec(Protocol):
    """Text to ids and back; a word vocabulary and a BPE are both one."""

    pad: int
    unk: int
    end: int
    start: int
    speaker: int
    listener: int
    context: int

    @property
    def size(self) -> int: ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Iterable[int]) -> str: ...

    def save(self, path: Path) -> None: ...


SPECIALS: tuple[str, ...] = ("<pad>", "<unk>", "<end>", "<start>", "<speaker>", "<listener>", "<context>")


class Vocabulary:
    pad, unk, end, start, speaker, listener, context = range(len(SPECIALS))

    def __init__(self, words: Iterable[str]) -> None:
        self.words: tuple[str, ...] = (*SPECIALS, *words)
        self._ids = {word: i for i, word in enumerate(self.words)}

    @classmethod
    def build(cls, texts: Iterable[str], min_count: int = 1) -> Vocabulary:
        """Every word seen at least `min_count` times, the commonest first."""
        counts = Counter(word for text in texts for word in tokenize(text))
        kept = [(word, n) for word, n in counts.items() if n >= min_count]
        return cls(word for word, _ in sorted(kept, key=lambda pair: (-pair[1], pair[0])))

    @property
    def size(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(word, self.unk) for word in tokenize(text)]

    def decode(self, ids: Iterable[int]) -> str:
        return detokenize([self.words[i] for i in ids if i >= len(SPECIALS) or i == self.unk])

    def save(self, path: Path) -> None:
        write_json(path, {"kind": "words", "words": self.words[len(SPECIALS) :]})

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        saved = read_json(path)
        words = saved.get("words") if isinstance(saved, dict) else None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise BadFile(path, "not a vocabulary", hint="train the run again or restore the file")
        return cls(words)
