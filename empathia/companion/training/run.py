"""The companion's adapter from corpora to `adapter_model.safetensors`, in one folder that can be gone on with."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from ...core.types import Dialogue, Turn
from ...corpora import load
from ...exemplars.pairs import Pair, own_bank
from ...text import sentence_encoder
from ..common import count
from ..merge import MATRICES
from ..prompt import Notes
from ..weights import base
from .evidence import gather
from .fit import Settings, Trainer
from .lessons import Lesson
from .prepare import lessons


@dataclass(frozen=True)
class Data:
    """Which conversations teach, and which stand by as exemplars."""

    first: int = 0  # of the shuffled conversations
    conversations: int = 7000
    others: int = 5000
    valid: int = 120
    seed: int = 1


def train(
    data: Data,
    settings: Settings,
    folder: Path,
    say: Callable[[str], None],
    threads: int = 1,
    start: Path | None = None,
) -> None:
    torch.set_num_threads(threads)
    folder.mkdir(parents=True, exist_ok=True)
    dialogues, valid = load("empathetic-dialogues", "train"), load("empathetic-dialogues", "valid")[: data.valid]
    count((e.gold.reply for d in dialogues for e in d.examples()), folder)
    random.Random(data.seed).shuffle(dialogues)
    last = data.first + data.conversations
    taught, others = dialogues[data.first : last], (dialogues[last:] + dialogues[: data.first])[: data.others]
    bank = own_bank()
    known = gather([*taught, *valid], others, bank, sentence_encoder.load(say), folder / "evidence.json", say)
    labels = {row.id: row.label for split in ("train", "valid") for row in load("ed-intents", split)}
    told = [lessons(group, labels, known.mechanisms, known.exemplars, known.knows) for group in (taught, valid)]
    own = [own_lesson(pair) for pair in bank.pairs]
    trainer = Trainer(base(say), settings, folder, [*told[0], *own], told[1], known.strangers, say)
    if start is not None:
        trainer.begin_with(start / MATRICES)
    trainer.run()


def own_lesson(pair: Pair) -> Lesson:
    """A pair of the project's own bank; it has no mechanisms, and its exemplars would be itself."""
    turns = (*pair.context.turns, Turn("listener", pair.reply))
    notes = Notes(feeling=(pair.emotion,) if pair.emotion else (), answer=pair.intent or "")
    return Lesson(Dialogue(f"own:{pair.dialogue}", turns, pair.emotion), {len(turns) - 1: notes})
