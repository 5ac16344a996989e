"""Question one: what does the speaker feel, and what will a listener do? Trained on EmpatheticDialogues.

An epoch takes every conversation once, cut after one of its speaker's turns, and its situation sentence. Beside
the 32 emotions the encoder learns polarity (from the emotions that have one; surprise, anticipation, nostalgia and
sentimentality have none), the 41-way label of the reply to come (MEED2's predictor) and, to read better, that of
the last turn. Both labels are silver: another classifier's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from ...core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, POSITIVE
from ...core.types import Dialogue
from ...corpora import load
from ..tokens import Reader, Tokens
from .network import Encoder
from .rows import UNSAID, Batch, Row, batches

AMBIVALENT = frozenset({"surprised", "anticipating", "nostalgic", "sentimental"})
_EMOTION = {name: i for i, name in enumerate(EMOTIONS)}
_LABEL = {name: i for i, name in enumerate(EMOTIONS_AND_INTENTS)}


class Feeling:
    name = "feeling"

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._train: list[tuple[list[Row], Row | None]] | None = None

    def rows(self, epoch: int, seed: int) -> list[Row]:
        if self._train is None:
            self._train = self._cut(load("empathetic-dialogues", "train"), silver("train"), situations=True)
        chance = random.Random(f"{seed} {epoch}")
        found = []
        for cuts, situation in self._train:
            found += [chance.choice(cuts)] if cuts else []
            found += [situation] if situation else []
        return found

    def held_out(self, split: str) -> list[Row]:
        cut = self._cut(load("empathetic-dialogues", split), silver(split), situations=False)
        return [row for cuts, _ in cut for row in cuts]

    def _cut(
        self, dialogues: Sequence[Dialogue], labels: dict[str, str], situations: bool
    ) -> list[tuple[list[Row], Row | None]]:
        examples = [list(dialogue.examples()) for dialogue in dialogues]
        read = iter(self.reader.contexts([e.context for group in examples for e in group]))
        made = []
        told = iter(self.reader.utterances([d.situation or "" for d in dialogues])) if situations else None
        for dialogue, group in zip(dialogues, examples, strict=True):
            rows = []
            for example in group:
                before = f"{dialogue.id}#{len(example.context.turns) - 1}"
                row = _row(next(read), dialogue.emotion)
                row.labels["reply"] = _LABEL.get(labels.get(example.id, ""), UNSAID)
                row.labels["last"] = _LABEL.get(labels.get(before, ""), UNSAID)
                rows.append(row)
            situation = _row(next(told), dialogue.emotion) if told is not None and dialogue.situation else None
            made.append((rows, situation))
        return made

    def loss(self, encoder: Encoder, heads: nn.ModuleDict, batch: Batch) -> Tensor:
        states, where = encoder(batch.ids_BT, batch.listener_BT), batch.there_BT
        total = F.cross_entropy(heads["emotion"](states, where), batch.labels("emotion"), label_smoothing=0.1)
        polarity = batch.labels("polarity")
        known = polarity != UNSAID
        if known.any():
            logits = heads["polarity"](states, where)[known, 0]
            total = total + 0.3 * F.binary_cross_entropy_with_logits(logits, polarity[known].float())
        for name, weight in (("reply", 0.3), ("last", 0.3)):
            labels = batch.labels(name)
            if (labels != UNSAID).any():
                total = total + weight * F.cross_entropy(heads[name](states, where), labels, label_smoothing=0.05)
        return total

    def measure(self, encoder: Encoder, heads: nn.ModuleDict, rows: Sequence[Row]) -> dict[str, float]:
        emotion, reply = [], []
        for batch in batches(rows, 4096):
            states, where = encoder(batch.ids_BT, batch.listener_BT), batch.there_BT
            gold = batch.labels("emotion")[:, None]
            top = heads["emotion"](states, where).topk(5).indices == gold
            emotion += [(bool(t[0]), bool(t.any())) for t in top]
            labels = batch.labels("reply")
            reply += [bool(x) for x in (heads["reply"](states, where).argmax(-1) == labels)[labels != UNSAID]]
        one, five = np.mean(emotion, axis=0)
        return {"top1": float(one), "top5": float(five), "reply": float(np.mean(reply)), "best": float(one)}


def _row(tokens: Tokens, emotion: str | None) -> Row:
    if emotion is None:
        return Row(tokens, {})
    polarity = UNSAID if emotion in AMBIVALENT else int(emotion in POSITIVE)
    return Row(tokens, {"emotion": _EMOTION[emotion], "polarity": polarity})


def silver(split: str) -> dict[str, str]:
    """`CONVERSATION#TURN` → one of the 41 labels."""
    return {row.id: row.label for row in load("ed-intents", split)}
