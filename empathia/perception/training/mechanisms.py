"""Question three: which communication mechanisms does a response show, and how strongly? Trained on
EmpathyMentalHealth (Sharma et al. 2020): a seeker's post, a response, three levels for each of three mechanisms.

One encoder reads post and response together; each mechanism pools the response's pieces. The annotators'
rationales teach which pieces matter. A fifth of the posts is held out: all responses to a post go to one side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from ...core.taxonomy import MECHANISMS
from ...core.types import Context, Turn
from ...corpora import load
from ...corpora.types import MechanismPair
from ..tokens import Reader, Tokens
from .network import Encoder
from .rows import UNSAID, Batch, Row, batches

#: word pieces of a post or a response, and of both
TURN, TOTAL = 96, 176


class Mechanisms:
    name = "mechanisms"

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def rows(self, epoch: int, seed: int) -> list[Row]:
        return self.held_out("train")

    def held_out(self, split: str) -> list[Row]:
        pairs: dict[tuple[str, str], dict[str, MechanismPair]] = {}
        for pair in load("empathy-mental-health", "all"):
            if side(pair) == split:
                pairs.setdefault((pair.id, _beginning(pair.response)), {})[pair.mechanism] = pair
        read = self.reader.contexts([posed(of) for of in pairs.values()], TURN, TOTAL)
        return [Row(tokens, _labels(tokens, of)) for tokens, of in zip(read, pairs.values(), strict=True)]

    def loss(self, encoder: Encoder, heads: nn.ModuleDict, batch: Batch) -> Tensor:
        states = encoder(batch.ids_BT, batch.listener_BT)
        response_BT = batch.turns_BT == 1
        total = states.new_zeros(())
        for name in MECHANISMS:
            total = total + F.cross_entropy(
                heads[name](states, response_BT), batch.labels(name), label_smoothing=0.05, ignore_index=UNSAID
            )
            pieces = batch.piece_labels(f"{name}_words")
            said = pieces != UNSAID
            if said.any():
                logits = heads[f"{name}_words"](states)[..., 0][said]
                total = total + 0.3 * F.binary_cross_entropy_with_logits(logits, pieces[said])
        return total

    def measure(self, encoder: Encoder, heads: nn.ModuleDict, rows: Sequence[Row]) -> dict[str, float]:
        right: dict[str, list[bool]] = {name: [] for name in MECHANISMS}
        for batch in batches(rows, 4096):
            states = encoder(batch.ids_BT, batch.listener_BT)
            for name in MECHANISMS:
                gold = batch.labels(name)
                guess = heads[name](states, batch.turns_BT == 1).argmax(-1)
                right[name] += (guess == gold)[gold != UNSAID].tolist()
        found = {name: float(np.mean(values)) for name, values in right.items()}
        return found | {"best": float(np.mean(list(found.values())))}


def side(pair: MechanismPair) -> str:
    """`train`, `valid` or `test`, by the post's own number: 72 / 8 / 20 of a hundred posts."""
    place = int(hashlib.sha256(pair.id.split("_")[0].encode()).hexdigest(), 16) % 100
    return "test" if place < 20 else "valid" if place < 28 else "train"


def posed(of: dict[str, MechanismPair]) -> Context:
    one = next(iter(of.values()))
    return Context((Turn("speaker", one.seeker), Turn("listener", one.response)))


def _beginning(response: str) -> str:
    """What a response shares in the three files, which differ in spaces, line ends and where they cut."""
    return "".join(c for c in response.lower() if c.isalnum())[:40]


def _labels(tokens: Tokens, of: dict[str, MechanismPair]) -> dict[str, object]:
    labels: dict[str, object] = {name: pair.level for name, pair in of.items()}
    response = next(iter(of.values())).response
    for name, pair in of.items():
        spans = [(at, at + len(r)) for r in pair.rationales if r and (at := response.find(r)) >= 0]
        if pair.level == 0 or spans:
            labels[f"{name}_words"] = [
                float(UNSAID) if turn != 1 else float(any(first < end and start < last for first, last in spans))
                for turn, (start, end) in zip(tokens.turns, tokens.spans, strict=True)
            ]
    return labels
