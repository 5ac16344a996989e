"""A progress bar for work that is counted, on standard error, so that output stays clean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with how many are newly done."""
    with _bar() as bar:
        task = bar.add_task(what, total=total)
        yield lambda n: bar.update(task, advance=n)


@contextmanager
def growing(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives a function to call with how many are newly done, and of how many; no bar until it is called."""
    with _bar() as bar:
        task = bar.add_task(what, total=None, visible=False)
        yield lambda n, total: bar.update(task, advance=n, total=total, visible=True)


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)


def announce(line: str) -> None:
    """One line on standard error: something is fetched or made, once."""
    Console(stderr=True, highlight=False).print(line, style="dim")
