"""Exemplars for the examples of a corpus, for a model that learns from them (LEMPEx)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from ..core.types import Context, Evidence, Example, Exemplar
from .index import Emotions
from .recall import Recall

#: exemplars of an example (the paper's q), and how many times more are looked at where the emotion must be the same
FEW, WIDER = 10, 4


class Lookup:
    """Contexts to their exemplars, none of which comes from a dialogue that holds the very same context.

    `gold_emotion` keeps only exemplars of the annotated emotion, as LEMPEx does, which nobody knows at run time; else
    what the speaker is thought to feel (`Evidence.emotion`) adds to the score.
    """

    def __init__(
        self, recall: Recall, examples: Iterable[Example], count: int = FEW, gold_emotion: bool = False
    ) -> None:
        self._recall, self._count = recall, count
        self._dialogues: defaultdict[Context, set[str]] = defaultdict(set)
        self._gold: dict[Context, str] | None = {} if gold_emotion else None
        for example in examples:
            self._dialogues[example.context].add(example.id.rpartition("#")[0])
            if self._gold is not None and example.gold.emotion:
                self._gold[example.context] = example.gold.emotion

    def __call__(self, contexts: Sequence[Context], known: Sequence[Evidence]) -> list[Evidence]:
        own: list[Collection[str]] = [self._dialogues[context] for context in contexts]
        if self._gold is None:
            felt: list[Emotions] = [seen.emotion for seen in known]
            found = self._recall.exemplars_of(contexts, felt, self._count, own)
        else:
            gold = [self._gold.get(context, "") for context in contexts]
            felt = [{emotion: 1.0} for emotion in gold]
            wider = self._recall.exemplars_of(contexts, felt, WIDER * self._count, own)
            same = zip(wider, gold, strict=True)
            found = [tuple(e for e in some if e.emotion == emotion)[: self._count] for some, emotion in same]
        return [seen.with_(exemplars=tuple(map(_short, some))) for seen, some in zip(known, found, strict=True)]


def _short(exemplar: Exemplar) -> Exemplar:
    """Without its context, which no model reads: a file of them stays small."""
    return Exemplar(exemplar.reply, emotion=exemplar.emotion, score=round(exemplar.score, 4))
