"""Tails as people wrote them, made comparable: «to find a new job.» and «find new jobs» say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ..core.types import Inference
from .wordlists import listed

#: How an annotator says that nothing follows.
NOTHING = frozenset(("none", "no", "nothing", "na", "n a", "unknown", "none none", ""))
#: Two tails that share so much of their words are one.
ALIKE = 0.6

_WORD = re.compile(r"[a-z0-9_']+")
_LIGHT = listed("light")
_REMEMBERED = 1 << 17  # a corpus asks for the same tails again and again


@lru_cache(maxsize=_REMEMBERED)
def tidy(tail: str) -> str:
    """A tail in one form: lower case, single spaces, no full stop, underscores as «something»."""
    plain = " ".join(tail.lower().replace("___", "something").split()).strip(" .,;!")
    return "" if re.sub(r"[^a-z]+", " ", plain).strip() in NOTHING else plain


@lru_cache(maxsize=_REMEMBERED)
def words(tail: str) -> frozenset[str]:
    """What a tail is about: its words in their plain form, light ones left out unless there are no others."""
    all_words = _WORD.findall(tail.lower())
    return frozenset(singular(word) for word in all_words if word not in _LIGHT) or frozenset(all_words)


def singular(word: str) -> str:
    """«jobs» → «job», «parties» → «party»; also «wants» → «want»."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "xes", "sses")) else word[:-1]


def gathered(weights: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Tails with their weights, equal ones added up under the form that weighs most (the shortest of several)."""
    forms: dict[frozenset[str], dict[str, float]] = {}
    for tail, weight in weights:
        plain = tidy(tail)
        if plain:
            form = forms.setdefault(words(plain), {})
            form[plain] = form.get(plain, 0.0) + weight
    return {max(form, key=lambda f: (form[f], -len(f), f)): sum(form.values()) for form in forms.values()}


def best(relation: str, scores: Mapping[str, float], most: int) -> list[Inference]:
    """The tails of highest score, none of them nearly the same as a better one."""
    kept: list[tuple[Inference, frozenset[str]]] = []
    for tail in sorted(scores, key=lambda t: (-scores[t], t)):
        own = words(tail)
        if len(kept) < most and not any(_alike(own, other) for _, other in kept):
            kept.append((Inference(relation, tail, scores[tail]), own))
    return [inference for inference, _ in kept]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * len(one | other)
