"""Whether an event is told as one that does not happen.

A sentence encoder hardly minds a «not»: «I was not invited» stands beside «I was invited», whose tails are the
contrary of what is so.
"""

from __future__ import annotations

import re

from .wordlists import listed

_DENIALS = listed("denials")
#: «cannot wait», «could not be happier», «cannot stop crying»: said with a not, and nothing is denied.
_NO_DENIAL = re.compile(
    r"\b(?:can|could) ?(?:not|n't|'t) (?:wait|believe|stop|(?:be|have been) (?:more|better|happier|prouder|gladder))\b"
)


def denied(event: str) -> bool:
    words = _NO_DENIAL.sub(" ", event.lower()).split()
    return any(word in _DENIALS or word.endswith("n't") for word in words)
