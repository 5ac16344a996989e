"""What the answers say: means, wins, agreement and tests, each with its interval.

Intervals resample *contexts*, all answers to one context together: they say how far a figure would move
with other conversations, judged by these annotators.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ..core.taxonomy import EMOTIONS
from ..evaluation.significance import Interval, bootstrap, bootstrap_mean, holm, paired_bootstrap_mean, ratio
from ..evaluation.significance import sign_test as signs
from ..evaluation.significance import wilcoxon as ranks
from .agreement import Level, alpha, alpha_interval, fleiss_kappa
from .designs import BINS, majority
from .quality import Quality, annotator_quality, kept
from .records import Judgement, Record, judgements
from .sampling import GOLD
from .settings import Settings

ALL = "all"


@dataclass(frozen=True, slots=True)
class Mean:
    """A system's mean rating, or in a bins study its share of one bin, over one group of contexts."""

    system: str
    question: str
    group: str
    value: float
    low: float
    high: float
    contexts: int
    answers: int


@dataclass(frozen=True, slots=True)
class Contest:
    """One system against another: verdicts by majority."""

    a: str
    b: str
    group: str
    wins: int
    losses: int
    ties: int
    undecided: int  # no majority; counted among the ties
    win_interval: Interval
    loss_interval: Interval
    tie_interval: Interval

    @property
    def items(self) -> int:
        return self.wins + self.losses + self.ties


@dataclass(frozen=True, slots=True)
class Difference:
    """Is A better than B by one question? Each p-value is Holm-corrected over all rows of its test."""

    question: str
    a: str
    b: str
    contexts: int
    difference: float
    low: float
    high: float
    bootstrap_p: float
    wilcoxon_p: float
    sign_p: float


@dataclass(frozen=True, slots=True)
class Agreement:
    question: str
    level: str
    alpha: float
    low: float
    high: float
    nominal_alpha: float
    kappa: float
    items: int
    answers: int


@dataclass(frozen=True, slots=True)
class Findings:
    title: str
    design: str
    systems: tuple[str, ...]
    means: tuple[Mean, ...]
    contests: tuple[Contest, ...]
    tests: tuple[Difference, ...]
    agreements: tuple[Agreement, ...]
    quality: tuple[Quality, ...]
    left_side: tuple[float, Interval] | None
    median_seconds: float
    answers: int
    annotators: int
    left_out: int
    extra_annotators: int  # items that called a fourth
    signature: str


def analyse(
    records: Sequence[Record], settings: Settings, drop_flagged: bool | None = None, resamples: int = 1000
) -> Findings:
    """All figures of a study. Flagged answers are left out of a bins study unless told otherwise."""
    drop = settings.design == "bins" if drop_flagged is None else drop_flagged
    used = kept(records, settings, drop)
    rows = judgements(used, settings)
    systems = tuple(sorted({name for record in used for name in record.candidates}, key=_gold_last))
    tests = _tests(rows, settings, resamples)
    per_item = Counter(record.item for record in used)
    return Findings(
        settings.title, settings.design, systems,
        tuple(_means(rows, settings, resamples)) if settings.design != "ab" else (),
        tuple(_contests(rows, resamples)) if settings.design == "ab" else (),
        tuple(_holm(tests)),
        tuple(agreements(rows, settings, resamples)),
        tuple(annotator_quality(records, settings)),
        _left_side(rows, resamples) if settings.design == "ab" else None,
        statistics.median(r.seconds for r in used) if used else 0.0,
        len(used), len({r.annotator for r in used}), len(records) - len(used),
        sum(n > settings.annotators for n in per_item.values()) if settings.design == "ab" else 0,
        f"{settings.design} | {len({r.context_id for r in used})} contexts | {len(used)} answers | "
        f"{len({r.annotator for r in used})} annotators | {settings.sampling} | "
        f"{'flagged left out' if drop else 'all kept'} | bootstrap {resamples} over contexts | seed {settings.seed}",
    )  # fmt: skip


def _gold_last(name: str) -> tuple[bool, str]:
    return name == GOLD, name


def _groups(rows: Iterable[Judgement]) -> dict[str, list[Judgement]]:
    """All, then by polarity (MIME's Table 4), then by emotion."""
    groups: dict[str, list[Judgement]] = {name: [] for name in (ALL, "positive", "negative", *EMOTIONS)}
    for row in rows:
        groups[ALL].append(row)
        if row.polarity is not None and row.emotion is not None:
            groups[row.polarity].append(row)
            groups[row.emotion].append(row)
    return {name: members for name, members in groups.items() if members}


def _means(rows: Sequence[Judgement], settings: Settings, resamples: int) -> Iterable[Mean]:
    questions = BINS if settings.design == "bins" else settings.attributes
    for group, members in _groups(rows).items():
        cells: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in members:
            if settings.design == "bins":
                for name in BINS:
                    cells[row.system, name][row.context_id].append(float(row.value == name))
            else:
                cells[row.system, row.question][row.context_id].append(float(row.score))
        for system in sorted({name for name, _ in cells}, key=_gold_last):
            for question in questions:
                if (system, question) in cells:
                    yield _mean(system, question, group, cells[system, question], resamples, settings.seed)


def _mean(
    system: str, question: str, group: str, by_context: dict[str, list[float]], resamples: int, seed: int
) -> Mean:
    sums = [(sum(values), float(len(values))) for values in by_context.values()]
    total, answers = sum(s for s, _ in sums), int(sum(n for _, n in sums))
    interval = bootstrap(sums, ratio, resamples, seed)
    return Mean(system, question, group, total / answers, interval.low, interval.high, len(sums), answers)


def _verdicts(rows: Iterable[Judgement]) -> dict[tuple[str, str], dict[int, int | None]]:
    """Pair → item → what the majority says: 1, 0, -1, or `None` without a majority."""
    votes: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        assert row.other is not None
        votes[row.system, row.other][row.item].append(row.score)
    return {pair: {item: majority(v) for item, v in items.items()} for pair, items in votes.items()}


def _contests(rows: Sequence[Judgement], resamples: int) -> Iterable[Contest]:
    for group, members in _groups(rows).items():
        for (a, b), verdicts in sorted(_verdicts(members).items()):
            found = list(verdicts.values())
            wins, losses = found.count(1), found.count(-1)
            yield Contest(
                a, b, group, wins, losses, len(found) - wins - losses, found.count(None),
                bootstrap_mean([v == 1 for v in found], resamples),
                bootstrap_mean([v == -1 for v in found], resamples),
                bootstrap_mean([v in (0, None) for v in found], resamples),
            )  # fmt: skip


def _tests(rows: Sequence[Judgement], settings: Settings, resamples: int) -> list[Difference]:
    if settings.design == "ab":
        tests = []
        for (a, b), verdicts in sorted(_verdicts(rows).items()):
            scores = [float(verdict or 0) for verdict in verdicts.values()]
            tests.append(_test("preference", a, b, scores, [0.0] * len(scores), resamples, settings.seed))
        return tests
    by_question: dict[str, dict[str, dict[str, list[int]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in rows:
        if row.system != GOLD:
            by_question[row.question][row.system][row.context_id].append(row.score)
    tests = []
    for question, by_system in by_question.items():
        means = {s: {c: statistics.fmean(v) for c, v in contexts.items()} for s, contexts in by_system.items()}
        for a, b in combinations(sorted(means), 2):
            shared = sorted(means[a].keys() & means[b].keys())
            if len(shared) > 1:
                left, right = [means[a][c] for c in shared], [means[b][c] for c in shared]
                tests.append(_test(question, a, b, left, right, resamples, settings.seed))
    return tests


def _test(
    question: str, a: str, b: str, left: Sequence[float], right: Sequence[float], resamples: int, seed: int
) -> Difference:
    drawn = paired_bootstrap_mean(left, right, resamples, seed)
    assert drawn.low is not None and drawn.high is not None
    return Difference(
        question, a, b, len(left), drawn.difference, drawn.low, drawn.high,
        drawn.p, ranks(left, right).p, signs(left, right).p,
    )  # fmt: skip


def _holm(tests: Sequence[Difference]) -> list[Difference]:
    bootstraps, wilcoxons, sign_tests = (
        holm([getattr(test, name) for test in tests]) for name in ("bootstrap_p", "wilcoxon_p", "sign_p")
    )
    return [
        replace(test, bootstrap_p=b, wilcoxon_p=w, sign_p=s)
        for test, b, w, s in zip(tests, bootstraps, wilcoxons, sign_tests, strict=True)
    ]


def agreements(rows: Sequence[Judgement], settings: Settings, resamples: int) -> Iterable[Agreement]:
    """Question by question, over everything that two or more annotators judged."""
    units: dict[str, dict[tuple[int, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        units[row.question][row.item, row.system].append(row.score)
    level: Level = "nominal" if settings.design == "ab" else "ordinal"
    for question, by_item in units.items():
        answers = [unit for unit in by_item.values() if len(unit) > 1]
        if answers:
            interval = alpha_interval(answers, level, min(resamples, 300), settings.seed)
            yield Agreement(
                question, level, alpha(answers, level), interval.low, interval.high, alpha(answers, "nominal"),
                fleiss_kappa(answers), len(answers), sum(map(len, answers)),
            )  # fmt: skip


def _left_side(rows: Sequence[Judgement], resamples: int) -> tuple[float, Interval] | None:
    """How often the left reply was preferred, ties aside: 0.5 where sides mean nothing."""
    chose_left = [(row.slot == 0) == (row.score > 0) for row in rows if row.score != 0]
    if not chose_left:
        return None
    return sum(chose_left) / len(chose_left), bootstrap_mean(chose_left, resamples)
