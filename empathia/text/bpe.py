"""Byte-level BPE through `tokenizers`, with the interface of a word vocabulary.

Nothing is lower-cased or lost: decoding gives the text back. A special mark's name inside a text, such as
"<end>", is read as ordinary characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ..core.errors import BadConfig, BadFile
from ..core.files import read_json, write_json
from .vocabulary import SPECIALS

LEAST = len(SPECIALS) + 256  # the marks and every byte


class Bpe:
    pad, unk, end, start, speaker, listener, context = range(len(SPECIALS))

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.encode_special_tokens = True  # not saved by `tokenizers`
        self._tokenizer = tokenizer

    @classmethod
    def build(cls, texts: Iterable[str], size: int = 8000, min_count: int = 2) -> Bpe:
        """At most `size` entries; a pair of pieces is merged if seen at least `min_count` times."""
        if size < LEAST:
            raise BadConfig(f"a byte-level BPE of {size} entries is too small", f"{LEAST} hold the marks and all bytes")
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=min_count,
            special_tokens=list(SPECIALS),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(map(encodable, texts), trainer)
        return cls(tokenizer)

    @property
    def size(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(encodable(text)).ids)

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        return [list(coded.ids) for coded in self._tokenizer.encode_batch([encodable(text) for text in texts])]

    def decode(self, ids: Iterable[int]) -> str:
        return str(self._tokenizer.decode([i for i in ids if i >= len(SPECIALS)]))

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        return list(self._tokenizer.decode_batch([[i for i in ids if i >= len(SPECIALS)] for ids in batch]))

    def save(self, path: Path) -> None:
        write_json(path, {"kind": "bpe", "tokenizer": json.loads(self._tokenizer.to_str())})

    @classmethod
    def load(cls, path: Path) -> Bpe:
        saved = read_json(path)
        hint = "train the run again or restore the file"
        if not isinstance(saved, dict) or saved.get("kind") != "bpe":
            raise BadFile(path, "not a BPE", hint=hint)
        try:
            tokenizer = Tokenizer.from_str(json.dumps(saved.get("tokenizer")))
        except Exception as error:  # `tokenizers` raises nothing narrower
            raise BadFile(path, f"not a BPE: {error}", hint=hint) from error
        if [tokenizer.token_to_id(mark) for mark in SPECIALS] != list(range(len(SPECIALS))):
            raise BadFile(path, "its special marks are not empathia's", hint=hint)
        return cls(tokenizer)


def encodable(text: str) -> str:
    """A lone surrogate, which is no character, becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
