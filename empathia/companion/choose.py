"""Which of several candidates to say. Every reason is a number from about −1 to 1, and stays with the candidate.

relevance    cosine of where the context's replies lie and the reply, by the bi-encoder
topic        cosine of the last message and the reply: saying the same again is not answering (negative weight)
agreement    mean cosine with the other candidates: what most of them say is the safer thing (minimum Bayes risk)
overlap      the same by words: mean F-score of runs of one to three words with the other candidates
tone         sympathy for what is good, or cheer for what is bad, by perception (negative weight; MIME's polarity)
plan         probability of the planned label in the reply, by perception
mechanisms   share of planned mechanisms that the reply shows as planned
fluency      the language model's own mean log-probability per token, / 4
generic      how common its sentences are in training (negative weight)
echo         share of its word pairs that the user, or an earlier reply, just said (negative weight)
repeats      share of its word pairs that it has said already (negative weight)
asked        a question mostly of words that the speaker has just used: asking for what was told (negative weight)
length       how far it falls short of, or exceeds, a natural length (negative weight)
unsafe       1 if it must not be said (it then is never chosen)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from ..core.types import Candidate, Context
from .plan import Plan

#: words of a natural reply
SHORT, LONG = 12, 32
_WORD = re.compile(r"[\w']+")
_SENTENCE = re.compile(r"[^.!?]+[.!?]*")
_LONG_WORD = re.compile(r"[a-z]{4,}")
#: long words that a question may hold without asking for anything
_EMPTY = re.compile(
    r"about|after|again|been|being|cant|could|does|doing|dont|ever|feel|from|going|good|have|hear|"
    r"here|into|just|know|like|long|made|make|more|much|must|never|really|should|some|something|"
    r"sounds|sure|tell|that|thats|their|them|then|there|they|thing|think|this|those|time|very|want|"
    r"well|were|what|when|where|which|will|with|would|your|youre"
)


@dataclass(frozen=True)
class Weights:
    """Tuned on validation (`python benchmarks/companion.py tune`)."""

    relevance: float = 0.9
    topic: float = -0.75
    agreement: float = 1.05
    overlap: float = 0.5
    tone: float = -0.15
    plan: float = 0.02
    mechanisms: float = 0.05
    fluency: float = 0.8
    generic: float = -0.55
    echo: float = -1.8
    repeats: float = -0.8
    asked: float = -0.5
    length: float = -0.35
    unsafe: float = -100.0


@dataclass(frozen=True, slots=True)
class Meaning:
    """Unit vectors of the bi-encoder: where the context's replies lie, its last message, and the replies."""

    answer_D: np.ndarray
    last_D: np.ndarray
    replies_ND: np.ndarray


@dataclass(frozen=True, slots=True)
class Judges:
    """Who says what of replies; whoever is missing is not asked."""

    meaning: Callable[[Context, Sequence[str]], Meaning] | None = None
    labels: Callable[[Sequence[str]], Sequence[Mapping[str, float]]] | None = None
    cheer: Callable[[str], float] | None = None  # from −1, gloomy, to 1
    mechanisms: Callable[[Context, Sequence[str]], Sequence[Mapping[str, int]]] | None = None
    generic: Callable[[str], float] | None = None
    unsafe: Callable[[str], bool] | None = None


def ranked(
    context: Context,
    texts: Sequence[str],
    fluency: Sequence[float | None],
    plan: Plan,
    judges: Judges,
    weights: Weights,
    good: float | None = None,
) -> list[Candidate]:
    """Candidates with their scores, best first; equal texts are one. `good`: how likely what was told is good news."""
    places = {text.casefold(): i for i, text in reversed(list(enumerate(texts))) if text.strip()}
    kept = sorted(places.values())
    replies = [texts[i] for i in kept]
    if not replies:
        return []
    scores: list[dict[str, float]] = [{} for _ in replies]

    def put(name: str, values: Sequence[float] | np.ndarray) -> None:
        for score, value in zip(scores, values, strict=True):
            score[name] = float(value)

    if judges.meaning:
        meaning = judges.meaning(context, replies)
        put("relevance", meaning.replies_ND @ meaning.answer_D)
        put("topic", meaning.replies_ND @ meaning.last_D)
        put("agreement", agreement(meaning.replies_ND))
    labels = judges.labels(replies) if judges.labels and (plan.label or good is not None) else None
    if labels and plan.label:
        put("plan", [found.get(plan.label, 0.0) for found in labels])
    if labels and judges.cheer and good is not None:
        put("tone", [off_tone(found, judges.cheer(reply), good) for found, reply in zip(labels, replies, strict=True)])
    if judges.mechanisms and plan.mechanisms:
        wanted = plan.mechanisms.items()
        shown = judges.mechanisms(context, replies)
        put("mechanisms", [sum((s[n] > 0) == (v > 0) for n, v in wanted) / len(wanted) for s in shown])
    if all(fluency[i] is not None for i in kept):
        put("fluency", [(fluency[i] or 0.0) / 4 for i in kept])
    if judges.generic:
        put("generic", [judges.generic(reply) / 10 for reply in replies])
    put("echo", [echo(reply, context) for reply in replies])
    put("overlap", overlap(replies))
    put("repeats", [repeats(reply) for reply in replies])
    put("asked", [max(0.0, 2 * asked_again(reply, context) - 1) for reply in replies])
    put("length", [off_length(reply) for reply in replies])
    if judges.unsafe:
        put("unsafe", [judges.unsafe(reply) for reply in replies])
    weight = {f.name: getattr(weights, f.name) for f in fields(weights)}
    if plan.asked:
        weight["plan"] = 2 * weight["plan"] + 1  # what the caller asked for comes first
    for score in scores:
        score["total"] = sum(weight[name] * value for name, value in score.items())
    order = sorted(range(len(replies)), key=lambda i: -scores[i]["total"])
    return [Candidate(replies[i], scores[i]) for i in order]


def agreement(replies_ND: np.ndarray) -> np.ndarray:
    """Of each unit vector with the others, mean; 0 for one that is alone."""
    others = max(1, len(replies_ND) - 1)
    return np.asarray((replies_ND @ replies_ND.sum(0) - (replies_ND**2).sum(1)) / others)


def overlap(replies: Sequence[str]) -> list[float]:
    """Of each reply with the others, mean; 0 for one that is alone."""
    runs = [_runs(_WORD.findall(reply.lower())) for reply in replies]

    def f_score(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
        return 2 * (one & other).total() / max(1, one.total() + other.total())

    others = max(1, len(runs) - 1)
    return [sum(f_score(own, run) for j, run in enumerate(runs) if j != i) / others for i, own in enumerate(runs)]


def off_tone(labels: Mapping[str, float], cheer: float, good: float) -> float:
    """Sympathy as far as the news is good, cheer as far as it is bad; half-way news forgives half of either."""
    sympathy = sum(labels.get(label, 0.0) for label in ("sympathizing", "consoling"))
    return sympathy * good + max(0.0, cheer) * (1 - good)


def echo(reply: str, context: Context) -> float:
    """Share of the reply's word pairs that stand in the context's last turns."""
    own = _pairs(reply)
    said = set().union(*(_pairs(turn.text) for turn in context.turns[-3:]))
    return len(own & said) / len(own) if own else 0.0


def repeats(reply: str) -> float:
    words = _WORD.findall(reply.lower())
    return 1 - len(set(pairwise(words))) / (len(words) - 1) if len(words) > 1 else 0.0


def asked_again(reply: str, context: Context) -> float:
    """Of the question whose words the speaker has used most: the share that were."""
    said = " ".join(turn.text.lower() for turn in context.turns if turn.speaker == "speaker")
    told = set(_LONG_WORD.findall(said))
    questions = [s for s in _SENTENCE.findall(reply.lower()) if s.endswith("?")]
    words = [{w for w in _LONG_WORD.findall(question) if not _EMPTY.fullmatch(w)} for question in questions]
    return max((len(own & told) / len(own) for own in words if own), default=0.0)


def off_length(reply: str) -> float:
    words = len(_WORD.findall(reply))
    return max(0.0, (SHORT - words) / SHORT, min(1.0, (words - LONG) / LONG))


def _runs(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + size]) for size in (1, 2, 3) for i in range(len(words) - size + 1))


def _pairs(text: str) -> set[tuple[str, str]]:
    words = _WORD.findall(text.lower())
    return set(pairwise(words))
