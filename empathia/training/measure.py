"""What a trained run is measured by: perplexity and emotion accuracy, and its replies to a split."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..core.replies import SystemReply
from ..core.taxonomy import EMOTIONS
from ..core.types import Example, Score, Wish
from ..decoding.contract import Decoding
from ..evaluation.accuracy import accuracy
from ..evaluation.classification import classification
from ..evaluation.perplexity import perplexity, perplexity_macro
from ..text.batches import Encoded, bucketed, collate
from ..text.vocabulary import SPECIALS, Vocabulary
from .prepare import Split, build_vocabulary, encoder_of
from .responder import RunResponder
from .run import Run


@dataclass(frozen=True)
class Predictions:
    pairs: list[tuple[float, int]]  # negative log-likelihood and tokens of each gold reply
    emotions: np.ndarray | None  # (contexts, 32) log-probabilities


def predictions(
    run: Run, encoded: Sequence[Encoded], unseen_V: torch.Tensor | None = None, batch: int = 64
) -> Predictions:
    """Teacher-forced likelihoods and emotion predictions for each example, in order."""
    pairs: list[tuple[float, int]] = [(0.0, 0)] * len(encoded)
    emotions = np.zeros((len(encoded), len(EMOTIONS)), dtype=np.float32)
    told = True
    for some in bucketed([len(e.words) for e in encoded], batch):
        nll_B, tokens_B, memory = run.model.response_nll(*collate([encoded[i] for i in some]), unseen_V)
        for i, nll, tokens in zip(some, nll_B.tolist(), tokens_B.tolist(), strict=True):
            pairs[i] = (nll, tokens)
        told = memory.emotion_BE is not None
        if memory.emotion_BE is not None:
            emotions[some] = memory.emotion_BE.numpy()
    return Predictions(pairs, emotions if told else None)


def teacher_forced_scores(
    run: Run, split: Split, found: Predictions, conditions: str, bootstrap: int = 1000
) -> list[Score]:
    """Perplexity over tokens and over responses, the former also under the training split's vocabulary, and how
    often the emotion is told right."""
    where = f"{run.conditions}|{conditions}"
    scores = [perplexity(found.pairs, where, bootstrap), perplexity_macro(found.pairs, where, bootstrap)]
    if run.recipe.data.vocabulary == "all":
        scores.append(_folded(run, split, conditions, bootstrap))
    if found.emotions is not None:
        known = [i for i, e in enumerate(split.encoded) if e.emotion >= 0]
        gold, told = [split.encoded[i].emotion for i in known], found.emotions[known]
        scores += accuracy(told, gold, conditions=where, resamples=bootstrap)
        scores += classification([EMOTIONS[i] for i in gold], [EMOTIONS[i] for i in told.argmax(1)], where)
    return scores


def _folded(run: Run, split: Split, conditions: str, bootstrap: int) -> Score:
    """Perplexity as if the vocabulary held the training split's words only: in contexts all others are the unknown
    word, and in replies they are one word whose probability is the sum of theirs."""
    seen = build_vocabulary(replace(run.recipe.data, vocabulary="train"))
    unseen_V = torch.tensor([word not in seen for word in run.vocabulary.words])
    unseen_V[run.vocabulary.unk] = True
    encoder = encoder_of(run.recipe, _Folded(run.vocabulary, seen))
    encoded = [
        replace(encoder.example(example), reply=e.reply)
        for example, e in zip(split.examples, split.encoded, strict=True)
    ]
    where = f"{run.conditions_under(f'train-{seen.size}-folded')}|{conditions}"
    score = perplexity(predictions(run, encoded, unseen_V).pairs, where, bootstrap)
    return replace(score, name="perplexity_train_vocabulary")


class _Folded(Vocabulary):
    """A vocabulary's ids for the words that another one also has; all others are the unknown word."""

    def __init__(self, whole: Vocabulary, seen: Vocabulary) -> None:
        super().__init__(whole.words[len(SPECIALS) :])
        self._ids = {word: i for word, i in self._ids.items() if word in seen}


def generate(
    run: Run,
    examples: Sequence[Example],
    decoding: Decoding,
    stochastic: bool = False,
    batch: int = 64,
    advance: Callable[[int], None] = lambda n: None,
) -> Iterator[SystemReply]:
    """The run's reply to every example, in order."""
    responder = RunResponder(run, decoding)
    found: dict[int, str] = {}
    order = bucketed([sum(len(t.text) for t in e.context.turns) for e in examples], batch)
    for some in order:
        contexts, evidence = [examples[i].context for i in some], [examples[i].evidence for i in some]
        replies = responder.replies(contexts, Wish(stochastic=stochastic), some, evidence)
        found |= {i: reply.text for i, reply in zip(some, replies, strict=True)}
        advance(len(some))
    for i, e in enumerate(examples):
        yield SystemReply(e.id, run.name, e.context, found[i], e.gold.reply, e.gold.emotion)
