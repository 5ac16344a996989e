"""The crisis guard: it reads every message before any model does, and answers a crisis with fixed text.

    from empathia.guard import Guard
    verdict = Guard(country="NZ").check(context)
    if verdict.answer: ...   # show this and ask no model

Rules over plain text (`rules/*.toml`), a small linear classifier for what is said indirectly (`weights.toml`), fixed
texts (`answers.toml`) and help lines (`helplines.toml`). A small network (`weights/guard`) reads along where it can be
had; all the rest works without it. No network connection, no state; see docs/guard.md.
"""

from .guard import Guard
from .reader import no_reader
from .types import CATEGORIES, Category, Verdict

__all__ = ["CATEGORIES", "Category", "Guard", "Verdict", "no_reader"]
