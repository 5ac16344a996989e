"""The companion's lessons as sequences of tokens, for the loop that all adapters share (`training/lora.py`)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from ...training.lora import Lined, LoraTrainer, Settings, ordered
from .lessons import Lesson, pieces

__all__ = ["Settings", "Trainer"]

LONGEST = 320


class Trainer(LoraTrainer):
    def __init__(
        self,
        base: Path,
        settings: Settings,
        folder: Path,
        lessons: Sequence[Lesson],
        valid: Sequence[Lesson],
        strangers: Sequence[str],
        say: Callable[[str], None],
    ) -> None:
        super().__init__(base, settings, folder, say)
        self.strangers = strangers
        taught = [lessons[i] for i in ordered(len(lessons), settings.epochs, settings.seed)]
        made = [self._sequence(one, random.Random(f"{settings.seed} {i}")) for i, one in enumerate(taught)]
        self.teach(made, [self._sequence(lesson, random.Random(i)) for i, lesson in enumerate(valid)])

    def _sequence(self, lesson: Lesson, chance: random.Random) -> Lined:
        ids: list[int] = []
        learned: list[bool] = []
        for piece in pieces(lesson, chance, self.strangers):
            own = self.tokenizer(piece.text, add_special_tokens=False)["input_ids"]
            ids += own
            learned += [piece.learned] * len(own)
        return Lined(ids[:LONGEST], learned[:LONGEST])
