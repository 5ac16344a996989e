"""A progress bar for work that is counted, on standard error, so that output stays clean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with how many are newly done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda n: bar.update(task, advance=n)


def announce(line: str) -> None:
    """One line on standard error: something is fetched or made, once."""
    Console(stderr=True, highlight=False).print(line, style="dim")
