"""From reply files to the items people judge: matching, seeded sampling, pairing, tasks and checkpoints."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from ..core.errors import BadFile, BadInput
from ..core.files import read_jsonl
from ..core.replies import SystemReply, read_replies
from ..core.taxonomy import EMOTIONS, checked
from ..core.types import Turn

#: The name under which the human reply stands among the candidates of a checkpoint.
GOLD = "gold"


@dataclass(frozen=True, slots=True)
class Candidate:
    system: str
    reply: str


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge: a context and the replies shown under it, in a fixed order nobody sees."""

    context_id: str
    turns: tuple[Turn, ...]
    candidates: tuple[Candidate, ...]
    emotion: str | None = None
    gold: int | None = None  # index of the human reply, in a checkpoint


@dataclass(frozen=True, slots=True)
class Question:
    """One context with every system's reply to it."""

    context_id: str
    turns: tuple[Turn, ...]
    replies: dict[str, str]
    emotion: str | None
    gold: str | None


def matched_questions(paths: Sequence[Path]) -> list[Question]:
    """The same contexts answered by every file, or an error naming file, line and what differs."""
    files = [(path, read_replies(path), {row["id"]: line for line, row in read_jsonl(path)}) for path in paths]
    names: dict[str, Path] = {}
    for path, replies, lines in files:
        name = _only_system(path, replies, lines)
        if name in names:
            raise BadFile(path, f"its system '{name}' is also that of {names[name]}", hint="give each file one system")
        names[name] = path
    first_path, first, first_lines = files[0]
    for path, replies, lines in files[1:]:
        theirs = {r.id: r for r in replies}
        for ours in first:
            if ours.id not in theirs:
                where = f"{first_path}, line {first_lines[ours.id]}"
                raise BadFile(path, f"has no reply to '{ours.id}' ({where})", hint="generate both from one split")
            _same_question(ours, theirs[ours.id], path, lines[ours.id], first_path, first_lines[ours.id])
        extra = next((r.id for r in replies if r.id not in first_lines), None)
        if extra is not None:
            raise BadFile(path, f"id '{extra}' is not in {first_path}", line=lines[extra], column="id")
    others = [{r.id: r.reply for r in replies} for _, replies, _ in files]
    return [
        Question(
            r.id,
            r.context.turns,
            {name: by_id[r.id] for name, by_id in zip(names, others, strict=True)},
            r.emotion,
            r.gold,
        )
        for r in first
    ]


def _only_system(path: Path, replies: Sequence[SystemReply], lines: dict[str, int]) -> str:
    name = replies[0].system
    for reply in replies:
        if reply.system != name:
            problem = f"system '{reply.system}', but '{name}' on line {lines[replies[0].id]}"
            raise BadFile(path, problem, line=lines[reply.id], column="system", hint="give each file one system")
    if name == GOLD:
        raise BadFile(path, f"a system must not be called '{GOLD}'", hint="that name stands for the human reply")
    return name


def _same_question(ours: SystemReply, theirs: SystemReply, path: Path, line: int, other: Path, other_line: int) -> None:
    where = f"{other}, line {other_line}"
    if len(ours.context.turns) != len(theirs.context.turns):
        problem = f"{len(theirs.context.turns)} turns of context, but {len(ours.context.turns)} in {where}"
        raise BadFile(path, problem, line=line, column="context")
    for number, (a, b) in enumerate(zip(ours.context.turns, theirs.context.turns, strict=True), 1):
        if a != b:
            raise BadFile(path, f"turn {number} of the context differs from {where}", line=line, column="context")
    for field in ("emotion", "gold"):
        a, b = getattr(ours, field), getattr(theirs, field)
        if a != b:
            raise BadFile(path, f"'{field}' differs from {where}", line=line, column=field)


def sample(
    questions: Sequence[Question], seed: int, per_emotion: int | None = None, at_random: int | None = None
) -> list[Question]:
    """So many of each of the 32 emotions (MIME 4.3: four), or so many at random, or all; in shuffled order."""
    rng = random.Random(f"sample {seed}")
    if per_emotion is not None and at_random is not None:
        raise BadInput(
            "sampling per emotion and at random exclude each other", "give one of --per-emotion and --random"
        )
    chosen = list(questions)
    if per_emotion is not None:
        chosen = _per_emotion(questions, per_emotion, rng)
    elif at_random is not None:
        if not 0 < at_random <= len(questions):
            raise BadInput(f"cannot draw {at_random} of {len(questions)} contexts", f"ask for 1 to {len(questions)}")
        chosen = rng.sample(chosen, at_random)
    rng.shuffle(chosen)
    return chosen


def _per_emotion(questions: Sequence[Question], count: int, rng: random.Random) -> list[Question]:
    groups: dict[str, list[Question]] = {emotion: [] for emotion in EMOTIONS}
    for question in questions:
        if question.emotion is None:
            raise BadInput(f"context '{question.context_id}' has no emotion", "sample with --random instead")
        groups[checked(question.emotion, EMOTIONS, "emotion")].append(question)
    short = [f"{emotion} ({len(group)})" for emotion, group in groups.items() if len(group) < count]
    if short or count < 1:
        raise BadInput(
            f"fewer than {count} contexts of: {', '.join(short)}" if short else "--per-emotion must be above zero",
            "ask for fewer per emotion, or sample with --random",
        )
    return [question for group in groups.values() for question in rng.sample(group, count)]


def rating_items(questions: Sequence[Question]) -> list[Item]:
    """One reply at a time."""
    return [
        Item(q.context_id, q.turns, (Candidate(system, reply),), q.emotion)
        for q in questions
        for system, reply in q.replies.items()
    ]


def ab_items(questions: Sequence[Question], all_pairs: bool = False) -> list[Item]:
    """The first system against each other one, as the papers' tables have it, or every pair."""
    items = []
    for q in questions:
        names = list(q.replies)
        if len(names) < 2:
            raise BadInput("an A/B study needs two systems or more", "add another replies.jsonl to --systems")
        pairs = combinations(names, 2) if all_pairs else ((names[0], other) for other in names[1:])
        for a, b in pairs:
            items.append(
                Item(q.context_id, q.turns, (Candidate(a, q.replies[a]), Candidate(b, q.replies[b])), q.emotion)
            )
    return items


def bin_tasks(questions: Sequence[Question], task_size: int, checkpoints: int, seed: int) -> list[list[Item]]:
    """Dialogues in tasks of ten, some of each with the gold reply hidden among the candidates (MEED2 5.4.1)."""
    rng = random.Random(f"checkpoints {seed}")
    tasks = []
    for start in range(0, len(questions), task_size):
        task = list(questions[start : start + task_size])
        with_gold = [i for i, q in enumerate(task) if q.gold]
        wanted = min(checkpoints, len(task))
        if len(with_gold) < wanted:
            raise BadInput(
                f"a task needs {wanted} contexts with a 'gold' reply for its checkpoints and has {len(with_gold)}",
                "add 'gold' to the reply files, or use --checkpoints 0",
            )
        bonus = set(rng.sample(with_gold, wanted))
        tasks.append([_bin_item(q, i in bonus) for i, q in enumerate(task)])
    return tasks


def _bin_item(q: Question, checkpoint: bool) -> Item:
    candidates = tuple(Candidate(system, reply) for system, reply in q.replies.items())
    if checkpoint and q.gold is not None:
        return Item(q.context_id, q.turns, (*candidates, Candidate(GOLD, q.gold)), q.emotion, len(candidates))
    return Item(q.context_id, q.turns, candidates, q.emotion)
