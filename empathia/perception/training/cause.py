"""Question four: which turns, and which of their words, cause the emotion of the last turn? Trained on RECCON-DD.

One row per utterance that carries an emotion: the conversation up to it, its author as the speaker. Every turn
up to and including the utterance itself is a candidate.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...core.types import Context, Turn
from ...corpora import load
from ...corpora.types import CauseDialogue
from ..candidates import distances
from ..tokens import Reader, Tokens
from .network import Encoder
from .rows import UNSAID, Batch, Row, batches


class CauseTurns:
    name = "cause"

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._train: list[Row] | None = None

    def rows(self, epoch: int, seed: int) -> list[Row]:
        if self._train is None:
            self._train = self.held_out("train")
        return self._train

    def held_out(self, split: str) -> list[Row]:
        targets = [(one, i) for one in load("reccon", split) for i, causes in enumerate(one.causes) if causes]
        read = self.reader.contexts([told_by_its_author(one, i) for one, i in targets], turn=64, total=256)
        return [Row(tokens, _labels(tokens, one, i)) for tokens, (one, i) in zip(read, targets, strict=True)]

    def loss(self, encoder: Encoder, heads: nn.ModuleDict, batch: Batch) -> Tensor:
        turn_logits, piece_logits = self._logits(encoder, heads, batch)
        gold = _padded([row.labels["cause"] for row in batch.rows])
        said = gold != UNSAID
        total = F.binary_cross_entropy_with_logits(turn_logits[said], gold[said])
        pieces = batch.piece_labels("cause_words")
        known = pieces != UNSAID
        return total + 0.5 * F.binary_cross_entropy_with_logits(piece_logits[known], pieces[known])

    def measure(self, encoder: Encoder, heads: nn.ModuleDict, rows: Sequence[Row]) -> dict[str, float]:
        """F1 of the causes at the threshold that serves these rows best; causes outside the input are missed."""
        scored: list[tuple[float, int]] = []
        missed = 0
        for batch in batches(rows, 4096):
            logits = self._logits(encoder, heads, batch)[0].sigmoid().tolist()
            for row, values in zip(batch.rows, logits, strict=True):
                scored += [(v, int(g)) for v, g in zip(values, row.labels["cause"], strict=False)]
                missed += row.labels["missed"]
        best = max((f1(scored, missed, at / 50), at / 50) for at in range(5, 45))
        return {"f1": best[0], "threshold": best[1], "f1_at_half": f1(scored, missed, 0.5), "best": best[0]}

    def _logits(self, encoder: Encoder, heads: nn.ModuleDict, batch: Batch) -> tuple[Tensor, Tensor]:
        states = encoder(batch.ids_BT, batch.listener_BT)
        distance = _padded([row.labels["distance"] for row in batch.rows], 0).long()
        turns_BT = torch.full_like(batch.turns_BT, -1)
        for i, row in enumerate(batch.rows):
            turns_BT[i, : len(row.tokens)] = torch.tensor(row.labels["places"])
        return heads["cause"](states, turns_BT, distance)


def f1(scored: Sequence[tuple[float, int]], missed: int, threshold: float) -> float:
    """Of the positive class, over (probability, gold) pairs and `missed` positives that had no chance."""
    hits = sum(gold for value, gold in scored if value >= threshold)
    guesses = sum(value >= threshold for value, _ in scored)
    positives = missed + sum(gold for _, gold in scored)
    return 2 * hits / max(1, guesses + positives)


def told_by_its_author(one: CauseDialogue, i: int) -> Context:
    author = one.dialogue.turns[i].speaker
    return Context(
        tuple(Turn("speaker" if t.speaker == author else "listener", t.text) for t in one.dialogue.turns[: i + 1])
    )


def _labels(tokens: Tokens, one: CauseDialogue, i: int) -> dict[str, object]:
    places, distance, kept = distances(tokens, told_by_its_author(one, i))
    causes = {cause.turn: cause.span for cause in one.causes[i] if cause.turn is not None and cause.turn <= i}
    spans = {}
    for turn, span in causes.items():
        at = one.dialogue.turns[turn].text.find(span)
        if at >= 0:
            spans[turn] = (at, at + len(span))
    words = []
    for turn, (start, end) in zip(tokens.turns, tokens.spans, strict=True):
        first, last = spans.get(turn, (0, 0))
        words.append(
            float(UNSAID) if turn < 0 or (turn in causes and turn not in spans) else float(first < end and start < last)
        )
    return {
        "cause": [float(turn in causes) for turn in kept],
        "distance": distance,
        "places": places,
        "missed": sum(turn not in kept for turn in causes),
        "cause_words": words,
    }


def _padded(lists: Sequence[Sequence[float]], filler: float = UNSAID) -> Tensor:
    longest = max(map(len, lists))
    return torch.tensor([[*one, *[filler] * (longest - len(one))] for one in lists], dtype=torch.float)
