"""Rebuild the generated parts of docs/.

    python docs/build.py         results.md, from the board
    python docs/build.py --tour  also the outputs in tour.md, with the trained run `mime`

Nothing in results.md is typed by hand: figures come from benchmarks/results/, published ones from
benchmarks/published.json.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snippets import refreshed

from empathia.core.files import atomic
from empathia.evaluation.board import Figure, Published, published_for, read_board, read_published
from empathia.evaluation.report import interval, number

ROOT = Path(__file__).resolve().parents[1]

HEAD = """\
# Results

<!-- Made by `make docs` from benchmarks/results/ and benchmarks/published.json. Do not edit: run it again. -->

Every figure here was written to the board by the command that measured it, together with its conditions and the commit
of the code. What each metric is, and which published variant it matches, is in [evaluation.md](evaluation.md).
Published figures (rows in italics) come from the papers and files named there; their conditions are often unknown, and
where something is known it is noted.
"""

EMPTY = """
**The board is empty: nothing has been recorded yet.** A measuring command with `--record TOPIC` puts its figures there,
for example `empathia evaluate mime --record empathetic-dialogues`; then run `make docs`.
"""

#: Tables a person reads first: title, and metric → heading.
TABLES: dict[str, dict[str, str]] = {
    "How well the model predicts": {
        "perplexity_macro": "perplexity, macro ↓",
        "perplexity": "perplexity ↓",
        "perplexity_train_vocabulary": "perplexity, training-split words ↓",
        "perplexity_given_label": "perplexity, reply's label given ↓",
        "accuracy_top_1": "emotion top-1 % ↑",
        "accuracy_top_2": "top-2 % ↑",
        "accuracy_top_5": "top-5 % ↑",
    },
    "What it answers": {
        "bleu_1": "BLEU-1 ↑",
        "bleu_2": "BLEU-2 ↑",
        "bleu_4": "BLEU-4 ↑",
        "distinct_1_per_ngram": "Distinct-1 ↑",
        "distinct_2_per_ngram": "Distinct-2 ↑",
        "ses": "SES ↑",
        "rel": "REL ↑",
        "length": "length",
        "question_share": "questions %",
        "ten_commonest_share": "ten commonest % ↓",
    },
    "Whether it reacts, interprets and asks where people did": {
        "emotional_reaction_f1": "emotional reaction F1 ↑",
        "interpretation_f1": "interpretation F1 ↑",
        "exploration_f1": "exploration F1 ↑",
        "mechanisms_f1": "mean F1 ↑",
        "sentiment_mae": "sentiment error ↓",
    },
}

#: What a table says once above its rows where all agree, and beside each row where they differ.
CONDITIONS = ("corpus", "split", "first", "n", "vocabulary", "epochs", "decoder", "seed")
_SAME_ROW = ("corpus", "split", "first", "decoder", "seed")
_DECODER = re.compile(r"-((greedy|beam\d+|sample)(-[\w.-]+)?)$")


@dataclass(frozen=True)
class Row:
    """One line of a main table: a system under one set of conditions, or a published source."""

    label: str
    cells: Mapping[str, str]  # metric → value
    conditions: Mapping[str, str]
    note: str = ""


def results(folder: Path) -> str:
    """The text of results.md for the repository at `folder`."""
    board, published = read_board(folder=folder), read_published(folder)
    parts = [HEAD]
    if not any(board.values()):
        return HEAD + EMPTY
    for topic, figures in board.items():
        if not figures:
            continue
        parts.append(f"\n## {topic}\n")
        mains = [_main_table(title, headings, figures, published) for title, headings in TABLES.items()]
        parts += [table for table in mains if table]
        parts.append(_pictures(folder, topic))
        if any(mains):
            parts.append(_every_figure(figures, published))
        else:
            parts.append("\n" + _figures(figures, published))
    return "".join(parts)


def _main_table(
    title: str, headings: Mapping[str, str], figures: Sequence[Figure], published: Mapping[str, Sequence[Published]]
) -> str:
    own = [f for f in figures if _metric(f.name) in headings]
    if not own:
        return ""
    rows = {system: _own_rows(system, own) for system in sorted({_system(f.name) for f in own}, key=_by_system)}
    told = [row for some in rows.values() for row in some]
    shared = {
        key: told[0].conditions.get(key, "")
        for key in CONDITIONS
        if len({row.conditions.get(key, "") for row in told}) == 1
    }
    shared = {key: value for key, value in shared.items() if value}
    metrics = [metric for metric in headings if any(metric in row.cells for row in told)]
    lines = [f"\n### {title}\n\n"]
    if shared:
        lines.append("All of ours: " + ", ".join(f"{key} {value}" for key, value in shared.items()) + ".\n\n")
    lines += [_line(["system", *(headings[metric] for metric in metrics), "conditions"])]
    lines += [_line(["---", *["---:"] * len(metrics), "---"])]
    systems = list(rows)
    for i, system in enumerate(systems):
        for row in rows[system]:
            differing = [f"{k} {v}" for k, v in row.conditions.items() if v and k not in shared]
            lines.append(_line([f"`{row.label}`", *(row.cells.get(m, "–") for m in metrics), ", ".join(differing)]))
        if i + 1 == len(systems) or _base(systems[i + 1]) != _base(system):
            alike = [s for s in systems if _base(s) == _base(system)]
            for row in _published_rows(alike, metrics, published):
                cells = (_italic(row.cells.get(m, "–")) for m in metrics)
                lines.append(_line([_italic(row.label), *cells, _italic(row.note)]))
    return "".join(lines)


def _own_rows(system: str, figures: Sequence[Figure]) -> list[Row]:
    """A row for every set of conditions the system was measured under; two figures in one cell show both."""
    cells: dict[tuple[str, ...], dict[str, list[str]]] = {}
    told: dict[tuple[str, ...], dict[str, dict[str, None]]] = {}
    for figure in figures:
        if _system(figure.name) != system:
            continue
        conditions, metric = _conditions(figure.signature), _metric(figure.name)
        key = tuple(conditions.get(name, "") for name in _SAME_ROW)
        cells.setdefault(key, {}).setdefault(metric, []).append(number(figure.value))
        for name in CONDITIONS:
            if name == "vocabulary" and metric == "perplexity_train_vocabulary":
                continue  # its column says so
            told.setdefault(key, {}).setdefault(name, {})[conditions.get(name, "")] = None
    return [
        Row(
            system,
            {metric: " / ".join(values) for metric, values in row.items()},
            {name: " / ".join(filter(None, values)) for name, values in told[key].items()},
        )
        for key, row in sorted(cells.items())
    ]


def _published_rows(
    systems: Iterable[str], metrics: Sequence[str], published: Mapping[str, Sequence[Published]]
) -> list[Row]:
    """What was published for systems of one kind: a row per source."""
    found = dict.fromkeys(p for s in systems for m in metrics for p in published_for(f"{s}/{m}", published))
    rows: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for figure in found:
        key = (figure.source, _system(figure.name), figure.note)
        rows.setdefault(key, {}).setdefault(_metric(figure.name), []).append(number(figure.value))
    return [
        Row(
            f"{source}" + (f" ({decoder[1]})" if (decoder := _DECODER.search(system)) else ""),
            {metric: " / ".join(values) for metric, values in cells.items()},
            {},
            note,
        )
        for (source, system, note), cells in rows.items()
    ]


def _every_figure(figures: Sequence[Figure], published: Mapping[str, Sequence[Published]]) -> str:
    """All figures of a topic, folded away system by system."""
    lines = ["\n### Every figure, with its conditions\n"]
    for system in sorted({_system(f.name) for f in figures}, key=_by_system):
        own = [f for f in figures if _system(f.name) == system]
        lines.append(f"\n<details><summary><code>{system}</code></summary>\n\n{_figures(own, published)}\n</details>\n")
    return "".join(lines)


def _figures(figures: Sequence[Figure], published: Mapping[str, Sequence[Published]]) -> str:
    """Figures one by one, with intervals and signatures, and which commands measured them at which commits."""
    lines = [_line(["figure", "value", "95 % interval", "published", "signature"])]
    lines += [_line(["---", "---:", "---:", "---", "---"])]
    for figure in figures:
        said = "; ".join(_said(p) for p in published_for(figure.name, published))
        value = f"{number(figure.value)} {figure.unit}".rstrip()
        lines.append(_line([f"`{figure.name}`", value, interval(figure), said, f"`{figure.signature}`"]))
    lines.append("\n")
    lines += [f"Measured by `{command}` at `{commit}`.\n" for command, commit in _measured(figures)]
    return "".join(lines)


def _measured(figures: Sequence[Figure]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((figure.command, figure.commit) for figure in figures))


def _pictures(folder: Path, topic: str) -> str:
    """Plots named `results-<topic>….png` in docs/figures."""
    found = sorted((folder / "docs" / "figures").glob(f"results-{topic}*.png"))
    return "".join(f"\n![{path.stem.replace('-', ' ')}](figures/{path.name})\n" for path in found)


def _said(figure: Published) -> str:
    return f"{number(figure.value)} ({figure.source}{'; ' + figure.note if figure.note else ''})"


def _conditions(signature: str) -> dict[str, str]:
    return {key: value for key, _, value in (part.partition(":") for part in signature.split("|"))}


def _system(name: str) -> str:
    return name.partition("/")[0]


def _metric(name: str) -> str:
    return name.partition("/")[2]


def _base(system: str) -> str:
    """The system without its decoder."""
    return _DECODER.sub("", system)


def _by_system(system: str) -> tuple[str, str]:
    return _base(system), system


def _italic(text: str) -> str:
    return f"*{text}*" if text and text != "–" else text


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Rebuild the generated parts of docs/.")
    parser.add_argument("--tour", action="store_true", help="also run the tour again, with the trained run mime")
    chosen = parser.parse_args(argv)
    _write(ROOT / "docs" / "results.md", results(ROOT))
    if chosen.tour:
        _write(ROOT / "docs" / "tour.md", refreshed(ROOT / "docs" / "tour.md"))


def _write(path: Path, text: str) -> None:
    with atomic(path) as out:
        out.write(text)
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
