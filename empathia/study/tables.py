"""The findings as tables: one small type, written as Markdown, LaTeX or HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.taxonomy import EMOTIONS
from .analysis import ALL, Contest, Findings, Mean
from .sampling import GOLD
from .texts import scales

_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
          "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
          "α": r"$\alpha$", "κ": r"$\kappa$", "–": "--", "−": "$-$"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: frozenset[tuple[int, int]] = frozenset()  # (row, column) of the cells to set in bold


def markdown(table: Table) -> str:
    def cell(text: str, bold: bool = False) -> str:
        text = text.replace("|", "\\|")
        return f"**{text}**" if bold else text

    lines = [f"**{table.caption}**", "", "| " + " | ".join(map(cell, table.header)) + " |"]
    lines.append("|" + "|".join([" --- "] + [" ---: "] * (len(table.header) - 1)) + "|")
    for r, row in enumerate(table.rows):
        lines.append("| " + " | ".join(cell(text, (r, c) in table.best) for c, text in enumerate(row)) + " |")
    return "\n".join(lines) + "\n"


def latex(table: Table) -> str:
    def cell(text: str, bold: bool = False) -> str:
        text = "".join(_LATEX.get(c, c) for c in text)
        return rf"\textbf{{{text}}}" if bold else text

    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * (len(table.header) - 1)}}}", r"\toprule"]
    lines += [" & ".join(map(cell, table.header)) + r" \\", r"\midrule"]
    for r, row in enumerate(table.rows):
        lines.append(" & ".join(cell(text, (r, c) in table.best) for c, text in enumerate(row)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{cell(table.caption)}}}"]
    return "\n".join([*lines, rf"\label{{tab:{table.name}}}", r"\end{table}"]) + "\n"


def html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in table.header)
    body = []
    for r, row in enumerate(table.rows):
        cells = [f'<th scope="row">{html.escape(row[0])}</th>']
        for c, text in enumerate(row[1:], 1):
            mark = ' class="best"' if (r, c) in table.best else ""
            value, bracket, interval = html.escape(text).partition(" [")
            cells.append(f"<td{mark}>{value}{f'<small>[{interval}</small>' if bracket else ''}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll"><table><caption>{html.escape(table.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def all_tables(found: Findings) -> list[Table]:
    """Every table a study's design gives, main result first."""
    tables = [_main_means(found), _polarity_means(found), _emotion_means(found)] if found.means else []
    if found.contests:
        tables = [_contests(found, (ALL,)), _contests(found, ("positive", "negative")), _contests(found, EMOTIONS)]
    tables += [_tests(found), _agreement(found), _annotators(found)]
    return [table for table in tables if table is not None and table.rows]


def question_name(question: str) -> str:
    known = scales()
    return known[question].name if question in known else question.capitalize()


def number(value: float, places: int = 2) -> str:
    return "–" if value != value else f"{value:.{places}f}".replace("-", "−")


def _cell(mean: Mean) -> str:
    return f"{number(mean.value)} [{number(mean.low)}, {number(mean.high)}]"


def _by_cell(found: Findings, group: str) -> dict[tuple[str, str], Mean]:
    return {(m.system, m.question): m for m in found.means if m.group == group}


def _questions(found: Findings) -> list[str]:
    return list(dict.fromkeys(m.question for m in found.means))


def _main_means(found: Findings) -> Table:
    cells, questions = _by_cell(found, ALL), _questions(found)
    rows = [(s, *(_cell(cells[s, q]) if (s, q) in cells else "–" for q in questions)) for s in found.systems]
    best = frozenset(
        (_best_row(found, [cells.get((s, q)) for s in found.systems], q), c) for c, q in enumerate(questions, 1)
    )
    what = "Share of replies in each bin" if found.design == "bins" else "Mean rating"
    return Table(
        "main", f"{what} with 95 % bootstrap interval.", ("System", *map(question_name, questions)), tuple(rows), best
    )


def _best_row(found: Findings, means: Sequence[Mean | None], question: str) -> int:
    """The best system's row; gold is no contestant, and in the bin «bad» less is better."""
    sign = -1 if question == "bad" else 1
    scored = [(sign * m.value, i) for i, m in enumerate(means) if m is not None and m.system != GOLD]
    return max(scored)[1]


def _polarity_means(found: Findings) -> Table | None:
    """MIME's Table 4: systems across, each split into positive and negative contexts."""
    groups = {"positive": "pos", "negative": "neg"}
    cells = {(m.system, m.question, m.group): m for m in found.means}
    if not any(m.group in groups for m in found.means):
        return None
    columns = [(s, g) for s in found.systems for g in groups]
    rows, best = [], set()
    for r, q in enumerate(_questions(found)):
        row = [cells.get((s, q, g)) for s, g in columns]
        rows.append((question_name(q), *(number(m.value) if m else "–" for m in row)))
        for g in groups:
            rivals = [m if m is not None and m.group == g else None for m in row]
            if any(rivals):
                best.add((r, 1 + _best_row(found, rivals, q)))
    header = ("", *(f"{s} {groups[g]}" for s, g in columns))
    return Table("polarity", "By polarity of the speaker's emotion.", header, tuple(rows), frozenset(best))


def _emotion_means(found: Findings) -> Table | None:
    """One question is enough here: empathy, or the share of good."""
    question = _questions(found)[0]
    cells = {(m.group, m.system): m for m in found.means if m.question == question}
    systems = [s for s in found.systems if s != GOLD]
    emotions = [e for e in EMOTIONS if any((e, s) in cells for s in systems)]
    rows = [(e, *(number(cells[e, s].value) if (e, s) in cells else "–" for s in systems)) for e in emotions]
    return Table("emotions", f"{question_name(question)} by emotion.", ("Emotion", *systems), tuple(rows))


def _contests(found: Findings, groups: Sequence[str]) -> Table:
    rows = tuple(_contest_row(c, groups != (ALL,)) for c in found.contests if c.group in groups)
    header = ("Comparison", "wins", "loses", "tie", "items")
    captions = {(ALL,): ("main", "Verdicts by majority, with 95 % bootstrap interval."),
                ("positive", "negative"): ("polarity", "Verdicts by polarity of the speaker's emotion.")}  # fmt: skip
    name, caption = captions.get(tuple(groups), ("emotions", "Verdicts by emotion."))
    return Table(name, caption, header, rows)


def _contest_row(c: Contest, name_group: bool) -> tuple[str, ...]:
    def share(count: int, low: float, high: float) -> str:
        return f"{100 * count / c.items:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"

    name = f"{c.a} vs {c.b}" + (f", {c.group}" if name_group else "")
    return (
        name, share(c.wins, c.win_interval.low, c.win_interval.high),
        share(c.losses, c.loss_interval.low, c.loss_interval.high),
        share(c.ties, c.tie_interval.low, c.tie_interval.high), str(c.items),
    )  # fmt: skip


def p_value(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _tests(found: Findings) -> Table:
    rows = tuple(
        (
            f"{question_name(t.question)}: {t.a} − {t.b}",
            f"{number(t.difference)} [{number(t.low)}, {number(t.high)}]",
            p_value(t.bootstrap_p), p_value(t.wilcoxon_p), p_value(t.sign_p), str(t.contexts),
        )
        for t in found.tests
    )  # fmt: skip
    header = ("Difference", "mean", "p bootstrap", "p Wilcoxon", "p sign", "contexts")
    return Table("tests", "Paired tests over contexts; p-values Holm-corrected over the rows.", header, rows)


def _agreement(found: Findings) -> Table:
    rows = tuple(
        (
            question_name(a.question), f"{number(a.alpha)} [{number(a.low)}, {number(a.high)}]", a.level,
            number(a.nominal_alpha), number(a.kappa), str(a.items),
        )
        for a in found.agreements
    )  # fmt: skip
    header = ("Question", "α", "level", "α nominal", "Fleiss κ", "units")
    return Table("agreement", "Agreement between annotators.", header, rows)


def _annotators(found: Findings) -> Table:
    def share(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.0f} %"

    rows = tuple(
        (
            f"annotator {i}", str(q.answers), f"{q.median_seconds:.0f} s", share(q.same_answer), share(q.agreement),
            "–" if q.bonus is None else f"{q.bonus}/{q.bonus_possible}", "; ".join(q.flags) or "–",
        )
        for i, q in enumerate(found.quality, 1)
    )  # fmt: skip
    header = ("Annotator", "answers", "median time", "same answer", "agrees", "bonus", "flags")
    return Table("annotators", "Annotators: time per item and quality.", header, rows)
