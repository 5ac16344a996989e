"""The findings as pictures (PNG)."""

from __future__ import annotations

import io
from typing import Any

from .analysis import ALL, Findings
from .tables import question_name

_COLOURS = ("#3b6ea5", "#c7793b", "#5b8f5b", "#8a5a9e", "#a34a55", "#6b7280", "#b59a2f")
_GOOD, _MIDDLE, _BAD = "#5b8f5b", "#d8d3c4", "#b5605f"


def all_plots(found: Findings) -> dict[str, bytes]:
    """Name → PNG: the main result, by polarity where known, agreement."""
    plots: dict[str, bytes] = {}
    if found.design == "ratings" and found.means:
        plots["means"] = _means(found)
    if found.design == "bins" and found.means:
        plots["shares"] = _stacked([
            (m.system, tuple(_share(found, m.system, name) for name in ("good", "okay", "bad")))
            for m in found.means if m.group == ALL and m.question == "good"
        ], ("good", "okay", "bad"))  # fmt: skip
    if found.contests:
        plots["verdicts"] = _stacked([
            (f"{c.a}\nvs {c.b}", (c.wins / c.items, c.ties / c.items, c.losses / c.items))
            for c in found.contests if c.group == ALL
        ], ("wins", "tie", "loses"))  # fmt: skip
    if any(a.alpha == a.alpha for a in found.agreements):
        plots["agreement"] = _agreement(found)
    return plots


def _share(found: Findings, system: str, question: str) -> float:
    return next(m.value for m in found.means if (m.system, m.question, m.group) == (system, question, ALL))


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _png(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _means(found: Findings) -> bytes:
    questions = list(dict.fromkeys(m.question for m in found.means))
    figure, axes = _figure(1.6 + 1.25 * len(questions), 3.4)
    step = 0.7 / max(1, len(found.systems))
    for s, system in enumerate(found.systems):
        cells = {m.question: m for m in found.means if m.group == ALL and m.system == system}
        rows = [(q, cells[name]) for q, name in enumerate(questions) if name in cells]
        x = [q + (s - (len(found.systems) - 1) / 2) * step for q, _ in rows]
        y = [m.value for _, m in rows]
        error = [[m.value - m.low for _, m in rows], [m.high - m.value for _, m in rows]]
        axes.errorbar(x, y, yerr=error, fmt="o", capsize=3, label=system, color=_COLOURS[s % len(_COLOURS)])
    axes.set_xticks(range(len(questions)), [question_name(q).replace(" ", "\n") for q in questions])
    axes.set_ylabel("mean rating, 95 % interval")
    axes.grid(axis="y", alpha=0.25)
    axes.legend(frameon=False, ncols=min(4, len(found.systems)), loc="lower center", bbox_to_anchor=(0.5, 1))
    return _png(figure)


def _stacked(rows: list[tuple[str, tuple[float, ...]]], names: tuple[str, ...]) -> bytes:
    figure, axes = _figure(6.4, 1.1 + 0.6 * len(rows))
    labels = [label for label, _ in rows][::-1]
    left = [0.0] * len(rows)
    for i, (name, colour) in enumerate(zip(names, (_GOOD, _MIDDLE, _BAD), strict=True)):
        widths = [shares[i] for _, shares in rows][::-1]
        bars = axes.barh(labels, widths, left=left, label=name, color=colour, height=0.6)
        axes.bar_label(bars, [f"{100 * w:.0f} %" if w >= 0.05 else "" for w in widths], label_type="center", fontsize=9)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    return _png(figure)


def _agreement(found: Findings) -> bytes:
    rows = [a for a in found.agreements if a.alpha == a.alpha][::-1]
    figure, axes = _figure(6.4, 1.0 + 0.4 * len(rows))
    for y, a in enumerate(rows):
        axes.plot([a.low, a.high], [y, y], color=_COLOURS[0], linewidth=2)
        axes.plot(a.alpha, y, "o", color=_COLOURS[0])
    axes.set_yticks(range(len(rows)), [question_name(a.question) for a in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(min(-0.1, *(a.low for a in rows)), 1)
    axes.axvline(0, color="#999999", linewidth=0.8)
    axes.set_xlabel("Krippendorff's α, 95 % interval (0: chance, 1: perfect)")
    return _png(figure)
