"""Why this reply: the evidence of a reply on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..core.types import Reply
from ..guard.types import Verdict


def print_why(reply: Reply, console: Console | None = None) -> None:
    """The emotions seen as bars, the plan, what was recalled and known, then the candidates with their scores."""
    console = console or Console()
    seen = reply.evidence
    if seen.emotion:
        table = Table(box=None, show_header=False, padding=(0, 1))
        likeliest = sorted(seen.emotion.items(), key=lambda pair: -pair[1])[:5]
        for emotion, probability in likeliest:
            table.add_row(emotion, Text("█" * max(1, round(30 * probability)), style="cyan"), f"{probability:.0%}")
        if seen.polarity is not None:
            table.add_row("feels good", "", f"{seen.polarity:.0%}")
        console.print(table)
    if seen.intent or seen.mechanisms:
        likely = sorted((seen.intent or {}).items(), key=lambda pair: -pair[1])[:3]
        levels = [f"{name.replace('_', ' ')} {level:.1f}" for name, level in (seen.mechanisms or {}).items()]
        plan = ", ".join([f"{label} {p:.0%}" for label, p in likely] + levels)
        console.print(Text.assemble(("plan  ", "bold"), plan))
    for exemplar in seen.exemplars or ():
        console.print(Text.assemble(("like  ", "bold"), exemplar.reply, (f"  ({exemplar.score:.2f})", "dim")))
    known: dict[str, list[str]] = {}
    for inference in seen.inferences or ():
        known.setdefault(inference.relation, []).append(inference.text)
    for relation, tails in known.items():
        console.print(Text.assemble(("knows ", "bold"), (f"{relation} ", "dim"), ", ".join(tails)))
    for candidate in reply.candidates:
        scores = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in candidate.scores.items())
        console.print(Text(f"  {candidate.text}"), Text(f"({scores})" if scores else "", style="dim"))
    if reply.timings:
        spent = ", ".join(f"{stage} {1000 * seconds:.0f} ms" for stage, seconds in reply.timings.items())
        console.print(Text(spent, style="dim"))


def print_guard(verdict: Verdict, console: Console | None = None) -> None:
    """What the crisis guard saw, where it saw something."""
    if verdict.level == "none":
        return
    who = "the guard answered; no model was asked" if verdict.replaces else "the guard is alert"
    how = "said openly" if verdict.explicit else "said indirectly"
    whose = " about somebody else" if verdict.about == "other" else ""
    seen = f"{(verdict.category or '').replace('_', '-')}{whose}, {how}"
    (console or Console()).print(Text(f"{who} ({verdict.level}: {seen}; {verdict.why})", style="dim"))
