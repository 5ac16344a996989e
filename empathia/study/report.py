"""One HTML page a person would want to read, with its tables in Markdown and LaTeX and its plots beside it."""

from __future__ import annotations

import base64
import html
from pathlib import Path

from ..core.files import atomic
from .analysis import ALL, Difference, Findings
from .pages import page
from .plots import all_plots
from .sampling import GOLD
from .tables import all_tables, html_table, latex, markdown, number, p_value, question_name

_KINDS = {
    "ratings": "Annotators rated one reply at a time.",
    "ab": "Annotators chose between two replies, or a tie; the majority decides each item.",
    "bins": "Annotators sorted all candidate replies of a conversation into good, okay and bad.",
}


def write_report(found: Findings, folder: Path) -> Path:
    """`report.html`, `tables.md`, `tables.tex` and the plots; returns the HTML file."""
    tables = all_tables(found)
    plots = all_plots(found)
    texts = {
        "tables.md": f"# {found.title}\n\n{found.signature}\n\n" + "\n".join(map(markdown, tables)),
        "tables.tex": f"% {found.signature}\n% needs \\usepackage{{booktabs}}\n\n" + "\n".join(map(latex, tables)),
        "report.html": html_report(found, plots),
    }
    for name, text in texts.items():
        with atomic(folder / name) as out:
            out.write(text)
    for name, content in plots.items():
        with atomic(folder / f"{name}.png", "wb") as out:
            out.write(content)
    return folder / "report.html"


def html_report(found: Findings, plots: dict[str, bytes] | None = None) -> str:
    plots = all_plots(found) if plots is None else plots
    parts = [
        f"<h1>{html.escape(found.title)}</h1>",
        f'<p class="lead">{html.escape(_lead(found))}</p>',
        "<h2>In short</h2>",
    ]
    parts.append("<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in summary(found)) + "</ul>")
    pictures = {"main": ("means", "shares", "verdicts"), "agreement": ("agreement",)}
    headings = {
        "main": "Result",
        "tests": "Is it real?",
        "agreement": "Do annotators agree?",
        "annotators": "Annotators",
    }
    for table in all_tables(found):
        if table.name in headings:
            parts.append(f"<h2>{headings[table.name]}</h2>")
        parts += [_picture(plots[name], name) for name in pictures.get(table.name, ()) if name in plots]
        body = html_table(table)
        parts.append(f"<details><summary>By emotion</summary>{body}</details>" if table.name == "emotions" else body)
    parts.append(f'<p class="signature">{html.escape(found.signature)}</p>')
    style = page("report.css")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(found.title)}</title><style>{style}</style></head><body><main>{''.join(parts)}</main></body></html>\n"
    )


def _picture(content: bytes, name: str) -> str:
    data = base64.b64encode(content).decode()
    return (
        f'<img alt="Plot: {html.escape(name)}; the numbers are in the table below" src="data:image/png;base64,{data}">'
    )


def _lead(found: Findings) -> str:
    text = f"{_KINDS[found.design]} {found.answers} answers from {found.annotators} annotators"
    text += f", a median of {found.median_seconds:.0f} seconds each." if found.median_seconds else "."
    return text + (f" {found.left_out} answers were left out." if found.left_out else "")


def summary(found: Findings) -> list[str]:
    """The findings in sentences, in the order a reader asks for them."""
    if not found.answers:
        return ["There are no finished answers yet."]
    lines = [_contest_sentence(found, i) for i in range(len([c for c in found.contests if c.group == ALL]))]
    if found.means:
        questions = ["bin"] if found.design == "bins" else list(dict.fromkeys(m.question for m in found.means))
        lines += [_leader_sentence(found, question) for question in questions]
    if found.agreements:
        lines.append(_agreement_sentence(found))
    if found.extra_annotators:
        lines.append(f"A fourth annotator decided {found.extra_annotators} items on which the first three split.")
    if found.left_side is not None:
        share, interval = found.left_side
        fair = interval.low <= 0.5 <= interval.high
        meaning = "no sign of a habit" if fair else "annotators leaned to one side; shuffling evens it out"
        lines.append(f"The left reply was preferred in {100 * share:.0f} % of choices: {meaning}.")
    flagged = sum(bool(q.flags) for q in found.quality)
    if flagged:
        lines.append(f"{flagged} of {len(found.quality)} annotators are flagged; see the last table.")
    return lines


def _contest_sentence(found: Findings, index: int) -> str:
    contest = [c for c in found.contests if c.group == ALL][index]
    test = next(t for t in found.tests if (t.a, t.b) == (contest.a, contest.b))
    winner, loser = (contest.a, contest.b) if contest.wins >= contest.losses else (contest.b, contest.a)
    won, lost = max(contest.wins, contest.losses), min(contest.wins, contest.losses)
    sure = "" if test.sign_p < 0.05 else ", which chance could explain"
    return (
        f"{winner} was preferred to {loser} in {won} of {contest.items} items and lost {lost}; "
        f"{contest.ties} were ties (sign test p = {p_value(test.sign_p)}{sure})."
    )


def _leader_sentence(found: Findings, question: str) -> str:
    """Who comes first by one question, and whom they are clearly ahead of (Wilcoxon, Holm-corrected)."""
    shown = "good" if question == "bin" else question
    means = [m for m in found.means if m.group == ALL and m.question == shown and m.system != GOLD]
    first = max(means, key=lambda m: m.value)
    tests = [t for t in found.tests if t.question == question and first.system in (t.a, t.b)]
    beaten = [t.b if t.a == first.system else t.a for t in tests if t.wilcoxon_p < 0.05 and _ahead(t, first.system)]
    if question == "bin":
        text = f"{first.system} has the most good replies ({100 * first.value:.0f} %)"
    else:
        text = f"{question_name(question)}: {first.system} has the highest mean ({first.value:.2f})"
    if not tests:
        return f"{text}."
    return f"{text}, {'clearly ahead of ' + ', '.join(beaten) if beaten else 'but no lead is clear'}."


def _ahead(test: Difference, system: str) -> bool:
    return (test.difference > 0) == (test.a == system)


def _agreement_sentence(found: Findings) -> str:
    """Krippendorff's own reading: 0.8 and above is reliable, 0.667 allows tentative conclusions."""
    values = ", ".join(f"{question_name(a.question).lower()} {number(a.alpha)}" for a in found.agreements)
    return f"Agreement, Krippendorff's α: {values} (from 0.8 reliable, from 0.67 tentative)."
