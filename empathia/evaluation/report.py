"""Scores on paper: `scores.json`, a Markdown table, a LaTeX table. Metrics are rows, systems columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.files import atomic, write_json
from ..core.types import Score

if TYPE_CHECKING:
    from .comparison import SystemComparison

Systems = Mapping[str, Sequence[Score]]


def as_json(systems: Systems, comparisons: Sequence[SystemComparison] = ()) -> dict[str, Any]:
    """The content of `scores.json`: every score with its signature, and the tests between systems."""
    return {
        "systems": {
            name: [{key: value for key, value in asdict(score).items() if value is not None} for score in scores]
            for name, scores in systems.items()
        },
        "comparisons": [asdict(comparison) for comparison in comparisons],
    }


def markdown(systems: Systems, comparisons: Sequence[SystemComparison] = ()) -> str:
    """A table of values with their intervals, the tests, and the signature of every number."""
    lines = [_row("metric", *systems), _row("---", *["---:"] * len(systems))]
    lines += [_row(name, *(cell(score) for score in scores)) for name, scores in by_metric(systems)]
    if comparisons:
        lines += ["", _row("paired test", "difference", "95 % interval", "p", "p (Holm)")]
        lines += [_row("---", *["---:"] * 4)]
        for c in comparisons:
            what = f"{c.metric}: {c.first} − {c.second}"
            lines.append(
                _row(what, number(c.result.difference), interval(c.result), f"{c.result.p:.3g}", f"{c.p_holm:.3g}")
            )
    lines += ["", "Signatures:", ""]
    for name, scores in by_metric(systems):
        signatures = dict.fromkeys(score.signature for score in scores if score is not None)
        lines += [f"- `{name}`: `{signature}`" for signature in signatures]
    return "\n".join(lines) + "\n"


def latex(systems: Systems) -> str:
    """A `tabular` for booktabs, values only."""
    lines = [rf"\begin{{tabular}}{{l{'r' * len(systems)}}}", r"\toprule"]
    lines += [" & ".join(["Metric", *map(_latex_text, systems)]) + r" \\", r"\midrule"]
    for name, scores in by_metric(systems):
        values = ("--" if score is None else number(score.value) for score in scores)
        lines.append(" & ".join([_latex_text(name), *values]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def write_report(folder: Path, systems: Systems, comparisons: Sequence[SystemComparison] = ()) -> list[Path]:
    """`scores.json`, `scores.md`, `scores.tex` and `scores.png` in `folder`."""
    from .plots import bar_comparison

    paths = [folder / f"scores.{ending}" for ending in ("json", "md", "tex", "png")]
    write_json(paths[0], as_json(systems, comparisons))
    for path, text in ((paths[1], markdown(systems, comparisons)), (paths[2], latex(systems))):
        with atomic(path) as out:
            out.write(text)
    bar_comparison(systems, paths[3])
    return paths


def by_metric(systems: Systems) -> list[tuple[str, list[Score | None]]]:
    """Each metric with every system's score, None where a system has none; in the order they first appear."""
    tables = [{score.name: score for score in scores} for scores in systems.values()]
    names = dict.fromkeys(name for table in tables for name in table)
    return [(name, [table.get(name) for table in tables]) for name in names]


def number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}"


def interval(of: Any) -> str:
    """The bounds of a score, a comparison or a figure on the board, or nothing."""
    return "" if of.low is None else f"[{number(of.low)}, {number(of.high)}]"


def cell(score: Score | None) -> str:
    return "–" if score is None else f"{number(score.value)} {interval(score)}".rstrip()


def _row(*cells: str) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def _latex_text(text: str) -> str:
    for character in "\\{}":
        text = text.replace(character, " ")
    for character in "&%$#_":
        text = text.replace(character, "\\" + character)
    return text.replace("~", r"\textasciitilde{}").replace("^", r"\textasciicircum{}")
