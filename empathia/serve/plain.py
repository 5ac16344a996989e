"""Evidence, replies and verdicts as plain JSON data."""

from __future__ import annotations

import math
import re
from typing import Any

from ..core.types import Reply
from ..guard import Verdict

_TOKEN = re.compile(r"\w+|[^\w\s]")


def tokens(text: str) -> int:
    """Words and punctuation marks: a count that means the same for every responder."""
    return sum(1 for _ in _TOKEN.finditer(text))


def plain(value: Any) -> Any:
    """JSON has no infinities, no numpy and no tuples: they become null, numbers and lists."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def why(reply: Reply, verdict: Verdict) -> dict[str, Any]:
    """How a reply came about: everything but its text."""
    found = plain(reply.as_dict())
    return {key: found[key] for key in ("evidence", "candidates", "timings")} | {"guard": verdict.as_dict()}
