"""Text as T5's pieces of words, and contexts as rows of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...core.errors import BadInput
from ...core.types import Context
from ...text.batches import Encoder
from ...text.bpe import encodable

#: the padding of every codec here, and of every T5
PAD = 0


class Pieces:
    """A T5's tokenizer as a codec. A reply starts from the padding; there are no marks of speakers and contexts. The
    name of a mark inside a text, such as "</s>", is an unknown piece."""

    pad = start = speaker = listener = context = PAD

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.end, self.unk, self.size = tokenizer.eos_token_id, tokenizer.unk_token_id, len(tokenizer)
        self._marks = frozenset(tokenizer.all_special_ids)

    def encode(self, text: str) -> list[int]:
        ids = self._tokenizer(encodable(text), add_special_tokens=False, verbose=False)["input_ids"]
        return [self.unk if i in self._marks else i for i in ids]

    def decode(self, ids: Iterable[int]) -> str:
        known = [i for i in ids if i < self.size]  # a T5's output layer has a few more places than pieces
        return str(self._tokenizer.decode(known, skip_special_tokens=True)).strip()

    def save(self, path: Path) -> None:
        self._tokenizer.save_pretrained(path)


class Turns(Encoder):
    """Every turn ends with T5's end mark: so turns stay apart, and the last mark stands where T5 expects one."""

    def context(self, context: Context) -> tuple[list[int], list[int]]:
        turns = [self.turn(turn.text) for turn in context.turns]
        if not any(turns):
            raise BadInput("the message holds no words", "write something to answer")
        pieces = [piece for turn in turns for piece in (*turn, self.codec.end)][-self.max_context :]
        return pieces, [PAD] * len(pieces)
