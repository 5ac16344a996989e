"""The crisis guard: it reads every message before any model does, and answers a crisis with fixed text.

    from empathia.guard import Guard
    verdict = Guard(country="NZ").check(context)
    if verdict.answer: ...   # show this and ask no model

Rules over plain text (`rules/*.toml`), a small linear classifier for what is said indirectly (`weights.toml`), fixed
texts (`answers.toml`) and help lines (`helplines.toml`). No model, no network, no state; see docs/guard.md.
"""

from .guard import Guard
from .types import CATEGORIES, Category, Verdict

__all__ = ["CATEGORIES", "Category", "Guard", "Verdict"]
