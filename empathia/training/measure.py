"""What a trained run is measured by: perplexity and emotion accuracy, and its replies to a split."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..core.replies import SystemReply
from ..core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS
from ..core.types import Example, Score, Wish
from ..decoding.contract import Decoding
from ..evaluation.accuracy import accuracy
from ..evaluation.classification import classification
from ..evaluation.perplexity import perplexity, perplexity_macro
from ..text.batches import Encoded, bucketed, collate
from ..text.tokenize import tokenize
from ..text.vocabulary import SPECIALS, Codec, Vocabulary
from .prepare import Split, build_vocabulary
from .responder import RunResponder
from .run import Run


@dataclass(frozen=True)
class Predictions:
    pairs: list[tuple[float, int]]  # negative log-likelihood and tokens of each gold reply
    emotions: np.ndarray | None  # (contexts, 32) log-probabilities
    intents: np.ndarray | None = None  # (contexts, 41) of the reply to come
    granted: list[tuple[float, int]] | None = None  # as pairs, the reply's own label being asked for


def predictions(
    run: Run, encoded: Sequence[Encoded], unseen_V: torch.Tensor | None = None, batch: int = 64
) -> Predictions:
    """Teacher-forced likelihoods and emotion predictions for each example, in order."""
    pairs: list[tuple[float, int]] = [(0.0, 0)] * len(encoded)
    granted = pairs.copy()
    emotions = np.zeros((len(encoded), len(EMOTIONS)), dtype=np.float32)
    intents = np.zeros((len(encoded), len(EMOTIONS_AND_INTENTS)), dtype=np.float32)
    feels = plans = True
    for some in bucketed([len(e.words) for e in encoded], batch):
        inputs, gold = collate([encoded[i] for i in some])
        nll_B, tokens_B, memory = run.model.response_nll(inputs, gold, unseen_V)
        for i, nll, tokens in zip(some, nll_B.tolist(), tokens_B.tolist(), strict=True):
            pairs[i] = (nll, tokens)
        feels, plans = memory.emotion_BE is not None, memory.intent_BL is not None
        if memory.emotion_BE is not None:
            emotions[some] = memory.emotion_BE.numpy()
        if memory.intent_BL is not None:
            intents[some] = memory.intent_BL.numpy()
            with torch.inference_mode():
                told_B, _ = run.model.likelihood(run.model.granted(memory, gold), gold, unseen_V)
            for i, nll, tokens in zip(some, told_B.tolist(), tokens_B.tolist(), strict=True):
                granted[i] = (nll, tokens)
    return Predictions(pairs, emotions if feels else None, intents if plans else None, granted if plans else None)


def teacher_forced_scores(
    run: Run, split: Split, found: Predictions, conditions: str, bootstrap: int = 1000
) -> list[Score]:
    """Perplexity over tokens and over responses, the former also under the training split's vocabulary, over words
    where tokens are pieces of words, and with the reply's own label asked for; how often the emotion, and the reply's
    label, are told right."""
    where = f"{run.conditions}|{conditions}"
    scores = [perplexity(found.pairs, where, bootstrap), perplexity_macro(found.pairs, where, bootstrap)]
    if not isinstance(run.vocabulary, Vocabulary):
        scores.append(_per_word(run.vocabulary, split, found, where, bootstrap))
    elif run.recipe.data.vocabulary == "all":
        scores.append(_folded(run, run.vocabulary, split, conditions, bootstrap))
    if found.emotions is not None:
        known = [i for i, e in enumerate(split.encoded) if e.emotion >= 0]
        gold, told = [split.encoded[i].emotion for i in known], found.emotions[known]
        scores += accuracy(told, gold, conditions=where, resamples=bootstrap)
        scores += classification([EMOTIONS[i] for i in gold], [EMOTIONS[i] for i in told.argmax(1)], where)
    return scores + _label_scores(split, found, where, bootstrap)


def _label_scores(split: Split, found: Predictions, where: str, bootstrap: int) -> list[Score]:
    """Of a model that plans the reply's label: how well, and its perplexity where the label is given, as in MEED2's
    tables."""
    known = [i for i, e in enumerate(split.encoded) if e.intent >= 0]
    if found.intents is None or found.granted is None or not known:
        return []
    gold, told = [split.encoded[i].intent for i in known], found.intents[known]
    names = [EMOTIONS_AND_INTENTS[i] for i in gold], [EMOTIONS_AND_INTENTS[i] for i in told.argmax(1)]
    scores = accuracy(told, gold, conditions=where, resamples=bootstrap) + classification(*names, where)
    given = perplexity([found.granted[i] for i in known], where, bootstrap)
    return [replace(given, name="perplexity_given_label"), *(replace(s, name=f"label_{s.name}") for s in scores)]


def _per_word(codec: Codec, split: Split, found: Predictions, where: str, bootstrap: int) -> Score:
    """Perplexity of a system that spells words out of pieces, over the words that other systems count, end included."""
    words = [len(tokenize(codec.decode(e.reply))) + 1 for e in split.encoded]
    pairs = [(nll, count) for (nll, _), count in zip(found.pairs, words, strict=True)]
    return replace(perplexity(pairs, where, bootstrap), name="perplexity_per_word")


def _folded(run: Run, vocabulary: Vocabulary, split: Split, conditions: str, bootstrap: int) -> Score:
    """Perplexity as if the vocabulary held the training split's words only: in contexts all others are the unknown
    word, and in replies they are one word whose probability is the sum of theirs."""
    seen = build_vocabulary(replace(run.recipe.data, vocabulary="train"))
    unseen_V = torch.tensor([word not in seen for word in vocabulary.words])
    unseen_V[vocabulary.unk] = True
    encoder = run.recipe.encoder(_Folded(vocabulary, seen))
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
