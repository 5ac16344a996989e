"""How a conversation becomes word pieces: the same for training and for use.

[CLS] turn [SEP] turn [SEP] …, each piece marked with who says it and in which turn it stands. A long
conversation keeps its first turn, where ED's speakers say what happened, and as many of the last turns as fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from ..core.types import Context, Turn

#: word pieces of one turn, and of all turns together
TURN, TOTAL = 48, 160
_BEGIN, _END = 101, 102


@dataclass(frozen=True, slots=True)
class Tokens:
    """One encoder input. `turns` is -1 and `spans` empty where a piece is a mark, not text."""

    ids: tuple[int, ...]
    listener: tuple[int, ...]  # 1 where the listener speaks: BERT's token type
    turns: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]  # first and past-last character of the turn's text

    def __len__(self) -> int:
        return len(self.ids)


class Reader:
    """Texts to `Tokens`, with the encoder's own word pieces."""

    def __init__(self, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def contexts(self, contexts: Sequence[Context], turn: int = TURN, total: int = TOTAL) -> list[Tokens]:
        texts = [clean(t.text, turn) for context in contexts for t in context.turns]
        pieces = iter(self._tokenizer.encode_batch(texts, add_special_tokens=False))
        found = []
        for context in contexts:
            turns = [(i, t, next(pieces)) for i, t in enumerate(context.turns)]
            parts = [(i, t, p.ids[:turn], p.offsets[:turn]) for i, t, p in turns]
            found.append(_joined(_fitting(parts, total)))
        return found

    def utterances(self, texts: Sequence[str]) -> list[Tokens]:
        """Texts that stand alone, as a speaker's single turn."""
        return self.contexts([Context((Turn("speaker", text),)) for text in texts], turn=2 * TURN)


def clean(text: str, turn: int) -> str:
    """No NUL characters, and no more text than `turn` word pieces could hold: 10,000 words cost no time."""
    return text[: 40 * turn].replace("\0", " ")


_Part = tuple[int, Turn, list[int], list[tuple[int, int]]]


def _fitting(parts: list[_Part], total: int) -> list[_Part]:
    """The first part and as many of the last as fit into `total` pieces with their marks."""
    kept: list[_Part] = []
    room = total - 1 - (len(parts[0][2]) + 1 if parts else 0)
    for part in reversed(parts[1:]):
        room -= len(part[2]) + 1
        if room < 0:
            break
        kept.append(part)
    return [*parts[:1], *reversed(kept)]


def _joined(parts: list[_Part]) -> Tokens:
    ids, listener, turns, spans = [_BEGIN], [0], [-1], [(0, 0)]
    for place, turn, pieces, offsets in parts:
        who = int(turn.speaker == "listener")
        ids += [*pieces, _END]
        listener += [who] * (len(pieces) + 1)
        turns += [*[place] * len(pieces), -1]
        spans += [*offsets, (0, 0)]
    return Tokens(tuple(ids), tuple(listener), tuple(turns), tuple(spans))
