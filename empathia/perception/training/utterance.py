"""Question two: which of the 41 emotions and intents does one utterance carry? Trained on EmpatheticIntents.

Its 25,023 utterances are joined by silver-labelled turns of EmpatheticDialogues' training split (what a larger
classifier, trained on the same set, said of them), at half weight; none that is also in a held-out set.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...core.taxonomy import EMOTIONS_AND_INTENTS
from ...corpora import load
from ...corpora.types import LabelledUtterance
from ..tokens import Reader
from .network import Encoder
from .rows import Batch, Row, batches

_LABEL = {name: i for i, name in enumerate(EMOTIONS_AND_INTENTS)}


class Utterance:
    name = "utterance"
    silver_rows = 15_000  # drawn anew for every epoch

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._train: tuple[list[Row], list[Row]] | None = None

    def rows(self, epoch: int, seed: int) -> list[Row]:
        if self._train is None:
            held_out = {key(r.text) for split in ("valid", "test") for r in load("empathetic-intents", split)}
            silver = [r for r in load("ed-intents", "train") if key(r.text) not in held_out]
            self._train = self._of(load("empathetic-intents", "train"), 1.0), self._of(silver, 0.5)
        gold, silver_rows = self._train
        return gold + random.Random(f"{seed} {epoch}").sample(silver_rows, self.silver_rows)

    def held_out(self, split: str) -> list[Row]:
        return self._of(load("empathetic-intents", split), 1.0)

    def _of(self, labelled: Sequence[LabelledUtterance], weight: float) -> list[Row]:
        read = self.reader.utterances([row.text for row in labelled])
        return [Row(t, {"label": _LABEL[r.label], "weight": weight}) for t, r in zip(read, labelled, strict=True)]

    def loss(self, encoder: Encoder, heads: nn.ModuleDict, batch: Batch) -> Tensor:
        logits = heads["label"](encoder(batch.ids_BT, batch.listener_BT), batch.there_BT)
        each = F.cross_entropy(logits, batch.labels("label"), label_smoothing=0.1, reduction="none")
        weights = torch.tensor([row.labels["weight"] for row in batch.rows])
        return (each * weights).sum() / weights.sum()

    def measure(self, encoder: Encoder, heads: nn.ModuleDict, rows: Sequence[Row]) -> dict[str, float]:
        right = []
        for batch in batches(rows, 4096):
            logits = heads["label"](encoder(batch.ids_BT, batch.listener_BT), batch.there_BT)
            right += (logits.argmax(-1) == batch.labels("label")).tolist()
        return {"accuracy": float(np.mean(right)), "best": float(np.mean(right))}


def key(text: str) -> str:
    """What two spellings of one utterance share: its letters and digits."""
    return "".join(c for c in text.lower() if c.isalnum())
