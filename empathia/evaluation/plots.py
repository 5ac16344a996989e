"""Pictures, as PNG: systems side by side, emotions in the plane, what is taken for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import BboxBase
from numpy.typing import ArrayLike, NDArray

from ..core.errors import BadInput
from ..core.files import atomic
from ..core.taxonomy import polarity
from ..core.types import Score

#: Okabe and Ito's colours, distinguishable without red-green vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
_POLARITY = {"positive": ("#0072B2", "o"), "negative": ("#D55E00", "s")}


def bar_comparison(
    systems: Mapping[str, Sequence[Score]], path: Path, metrics: Sequence[str] | None = None, title: str = ""
) -> Path:
    """One panel per metric, one bar per system, with its 95 % interval where there is one."""
    tables = {name: {score.name: score for score in scores} for name, scores in systems.items()}
    present = dict.fromkeys(metric for table in tables.values() for metric in table)
    shown = [metric for metric in metrics or present if metric in present]
    if not shown:
        raise BadInput("nothing to draw: no such scores")
    across = min(4, len(shown))
    down = -(-len(shown) // across)
    figure = Figure(figsize=(3 * across, 0.9 + down * (1.1 + 0.3 * len(tables))), layout="constrained")
    for place, metric in enumerate(shown, 1):
        axes = figure.add_subplot(down, across, place)
        for row, table in enumerate(tables.values()):
            if metric in table:
                score = table[metric]
                axes.barh(row, score.value, color=PALETTE[row % len(PALETTE)], height=0.7)
                if score.low is not None and score.high is not None:
                    axes.hlines(row, score.low, score.high, color="black", linewidth=1)
        axes.set_yticks(range(len(tables)), list(tables) if place % across == 1 or across == 1 else [""] * len(tables))
        axes.set_ylim(len(tables) - 0.5, -0.5)
        axes.set_title(metric.replace("_", " "), fontsize=9)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(title)
    return save(figure, path)


def emotion_scatter(vectors: ArrayLike, emotions: Sequence[str], path: Path, title: str = "") -> Path:
    """Emotion embeddings on their first two principal components, coloured by MIME's polarity groups."""
    points, shares = principal_components(vectors)
    if len(points) != len(emotions):
        raise BadInput(f"one vector per emotion: {len(points)} for {len(emotions)}")
    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.add_subplot()
    groups = [polarity(emotion) for emotion in emotions]
    for group, (colour, marker) in _POLARITY.items():
        own = np.array([g == group for g in groups])
        axes.scatter(points[own, 0], points[own, 1], c=colour, marker=marker, label=group, s=28)
    axes.set_xlabel(f"first component ({100 * shares[0]:.0f} % of the variance)")
    axes.set_ylabel(f"second component ({100 * shares[1]:.0f} %)")
    axes.margins(0.1)
    axes.legend(frameon=False)
    if title:
        axes.set_title(title)
    _label(figure, axes, points, emotions, [_POLARITY[group][0] for group in groups])
    return save(figure, path)


def confusion_matrix(counts: ArrayLike, labels: Sequence[str], path: Path, title: str = "") -> Path:
    """Gold in rows, predictions in columns, each row as shares of its gold label."""
    table = np.asarray(counts, dtype=np.float64)
    if table.shape != (len(labels), len(labels)):
        raise BadInput(f"a confusion matrix of {len(labels)} labels is not {table.shape}")
    whole = table.sum(1, keepdims=True)
    shares = np.divide(100 * table, whole, out=np.zeros_like(table), where=whole > 0)
    side = 2.5 + 0.24 * len(labels)
    figure = Figure(figsize=(side + 0.8, side), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=max(1.0, shares.max()))
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=8)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_xlabel("predicted")
    axes.set_ylabel("gold")
    if len(labels) <= 12:
        for row, column in np.ndindex(shares.shape):
            shade = "white" if shares[row, column] > 0.55 * shares.max() else "black"
            axes.text(column, row, f"{shares[row, column]:.0f}", ha="center", va="center", color=shade, fontsize=8)
    figure.colorbar(image, ax=axes, label="% of the gold label", shrink=0.8)
    if title:
        axes.set_title(title)
    return save(figure, path)


def principal_components(vectors: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates on the first two principal components, and the share of the variance of each.

    A component's sign is arbitrary; ours makes its largest loading positive, so a plot does not flip.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 3 or rows.shape[1] < 2:
        raise BadInput("a scatter plot needs at least three vectors of two numbers")
    centred = rows - rows.mean(0)
    _, spread, directions = np.linalg.svd(centred, full_matrices=False)
    directions = directions[:2]
    directions *= np.sign(directions[range(2), np.abs(directions).argmax(1)])[:, None]
    total = float((spread**2).sum())
    return centred @ directions.T, spread[:2] ** 2 / total if total else np.zeros(2)


def _label(
    figure: Figure, axes: Axes, points: NDArray[np.float64], labels: Sequence[str], colours: Sequence[str]
) -> None:
    """Write each label beside its point, on the first side where it covers no point and no earlier label."""
    sides: list[tuple[float, float, Literal["left", "right", "center"]]]
    sides = [(5, 2, "left"), (-5, 2, "right"), (5, -9, "left"), (-5, -9, "right"), (0, 7, "center")]
    figure.draw_without_rendering()  # settles the layout, so that sizes in pixels are known
    dots = axes.transData.transform(points)
    taken: list[BboxBase] = []
    for (x, y), label, colour in zip(points, labels, colours, strict=True):
        text = axes.annotate(label, (x, y), (0, 0), textcoords="offset points", fontsize=8, color=colour)
        for across, up, side in (*sides, sides[0]):  # the first again, where no side is free
            text.xyann = (across, up)
            text.set_horizontalalignment(side)
            box = text.get_window_extent()
            if not (box.count_overlaps(taken) or box.count_contains(dots)):
                break
        taken.append(box)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, whole or not at all."""
    with atomic(path, "wb") as out:
        figure.savefig(out, format="png", dpi=150)
    return path
