"""How sure is sure? Temperatures and thresholds, fitted on validation data with the run time's own int8 logits.

A head's logits are divided by the temperature that makes the validation labels likeliest (Guo et al. 2017). The cause
thresholds are where F1 on RECCON's validation dialogues is best; these are only 47, so the curve is smoothed first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from ...core.taxonomy import MECHANISMS
from ...corpora import load
from ..encoder import Array, where
from ..perception import Perception
from ..tokens import Tokens
from .cause import CauseTurns, told_by_its_author
from .questions import QUESTIONS
from .rows import UNSAID

#: the heads that give classes; `polarity` gives one logit
HEADS: dict[str, tuple[str, ...]] = {
    "feeling": ("emotion", "polarity", "reply"),
    "utterance": ("label",),
    "mechanisms": MECHANISMS,
}
#: validation rows; enough for one number a head
ROWS = 2_500
#: thresholds to try, and how many on either side are averaged
GRID = np.round(np.arange(0.2, 0.801, 0.02), 2)
_SMOOTH = 4
#: for words; most annotated spans are almost whole turns, so F1 would take less still, and marking all marks nothing
WORD_GRID = GRID[GRID >= 0.3]

Spans = dict[int, tuple[int, int]]  # turn → first and past-last character


def calibration(question: str, perception: Perception) -> dict[str, float]:
    """What `calibration.json` should say for one encoder, which stands exported in the perception's folder."""
    if question == "cause":
        return cause_thresholds(perception)
    rows = QUESTIONS[question](perception.reader).held_out("valid")
    rows = random.Random(1).sample(rows, min(ROWS, len(rows)))
    found = logits(perception, question, [row.tokens for row in rows])
    return {
        head: temperature(found[head], np.array([row.labels.get(head, UNSAID) for row in rows]))
        for head in HEADS[question]
    }


def logits(perception: Perception, question: str, inputs: Sequence[Tokens]) -> dict[str, Array]:
    """Head → (inputs, classes), before any temperature."""
    encoder = getattr(perception, f"_{question}")
    turn = 1 if question == "mechanisms" else None

    def answer(states: Array, batch: Sequence[Tokens]) -> list[dict[str, Array]]:
        pieces = where(batch, turn)
        made = {head: perception._logits(encoder, head, states, pieces) for head in HEADS[question]}
        return [{head: rows[i] for head, rows in made.items()} for i in range(len(batch))]

    found = encoder.each(inputs, answer)
    return {head: np.stack([one[head] for one in found]) for head in HEADS[question]}


def temperature(logits_NC: Array, gold_N: NDArray[np.int64]) -> float:
    """What to divide logits by so that `gold` is likeliest; rows without a label do not count. A single column is
    the logit of yes against no."""
    said = gold_N != UNSAID
    rows, gold = logits_NC[said].astype(np.float64), gold_N[said]
    if rows.shape[1] == 1:
        rows = np.concatenate([np.zeros_like(rows), rows], 1)

    def loss(log_temperature: float) -> float:
        return -float(log_softmax(rows / np.exp(log_temperature), 1)[np.arange(len(gold)), gold].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-1.5, 1.5), method="bounded").x))


def cause_thresholds(perception: Perception) -> dict[str, float]:
    """`cause_threshold` by F1 over turns, then `cause_word_threshold` by F1 over the characters of cause words."""
    asked = Causes(perception, "valid")
    turn = best(asked.turn_f1)
    return {"cause_threshold": turn, "cause_word_threshold": best(lambda at: asked.word_f1(turn, at), WORD_GRID)}


class Causes:
    """A split of RECCON with its encoder states, to be asked at any threshold."""

    def __init__(self, perception: Perception, split: str, limit: int | None = None) -> None:
        targets = [(one, i) for one in load("reccon", split) for i, causes in enumerate(one.causes) if causes][:limit]
        self.contexts = [told_by_its_author(one, i) for one, i in targets]
        self.gold: list[set[int]] = []
        self.spans: list[Spans] = []  # of the causes whose words are found in their turn
        for one, i in targets:
            causes = [c for c in one.causes[i] if c.turn is not None and c.turn <= i]
            self.gold.append({c.turn for c in causes if c.turn is not None})
            self.spans.append(
                {
                    c.turn: (at, at + len(c.span))
                    for c in causes
                    if c.turn is not None and (at := one.dialogue.turns[c.turn].text.find(c.span)) >= 0
                }
            )
        self._perception = perception
        self._inputs = [row.tokens for row in CauseTurns(perception.reader).held_out(split)[:limit]]
        self._states = perception._cause.each(self._inputs, lambda states, batch: list(states))

    def found(self, turn: float, word: float = 0.5) -> list[tuple[set[int], list[tuple[int, int, int]]]]:
        """Cause turns and cause words of every context, at these thresholds."""
        kept = self._perception.calibration
        self._perception.calibration = kept | {"cause_threshold": turn, "cause_word_threshold": word}
        try:
            made = []
            for state, tokens, context in zip(self._states, self._inputs, self.contexts, strict=True):
                one = self._perception._caused(state[None], [tokens], [context])[0]
                made.append((set(one["causes"]), list(one["cause_words"])))
            return made
        finally:
            self._perception.calibration = kept

    def turn_f1(self, at: float) -> float:
        return f1_of_sets([turns for turns, _ in self.found(at)], self.gold)

    def word_f1(self, turn: float, at: float) -> float:
        """Over the characters of turns whose cause words are known."""
        guessed, gold = [], []
        for (_, words), spans in zip(self.found(turn, at), self.spans, strict=True):
            guessed.append({(t, c) for t, first, last in words if t in spans for c in range(first, last)})
            gold.append({(t, c) for t, (first, last) in spans.items() for c in range(first, last)})
        return f1_of_sets(guessed, gold)


def f1_of_sets(guessed: Sequence[set[Any]], gold: Sequence[set[Any]]) -> float:
    hits = sum(len(g & t) for g, t in zip(guessed, gold, strict=True))
    return 2 * hits / max(1, sum(map(len, guessed)) + sum(map(len, gold)))


def best(score: Callable[[float], float], grid: NDArray[np.float64] = GRID) -> float:
    """The threshold with the highest score, each averaged with its neighbours'."""
    raw = np.array([score(float(at)) for at in grid])
    window = np.ones(2 * _SMOOTH + 1)
    smooth = np.convolve(raw, window, "same") / np.convolve(np.ones_like(raw), window, "same")
    return float(grid[int(smooth.argmax())])
