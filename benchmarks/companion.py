"""What the companion answers, how good that is, and how long it takes.

    python benchmarks/companion.py replies --split test --out replies.jsonl [--limit N] [--without plan] [--model base]
    python benchmarks/companion.py ablations --split valid --limit 400 --out FOLDER
    python benchmarks/companion.py score replies.jsonl [more.jsonl] [--record]
    python benchmarks/companion.py tune candidates.jsonl
    python benchmarks/companion.py latency [--record]

`replies` goes on where it was stopped; beside the replies it writes every candidate with its scores
(`OUT.candidates.jsonl`), from which `tune` finds the weights of the choice, on the validation split only. Gold replies
are written to the file for the scorer and are never seen by the companion. Replies quote the corpus now and then, so
such files stay out of the repository.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu import corpus_bleu

from empathia.commands.progress import announce, counting
from empathia.commands.responders import companion_of, responder_of
from empathia.companion import Companion, Settings
from empathia.companion.choose import Weights
from empathia.companion.engines.contract import Sampling
from empathia.companion.plan import plan
from empathia.core.errors import EmpathiaError
from empathia.core.files import read_jsonl
from empathia.core.replies import SystemReply, read_replies
from empathia.core.types import Example, Responder, Wish
from empathia.corpora import load
from empathia.evaluation import board
from empathia.evaluation.board import Figure
from empathia.evaluation.scorer import score_replies
from empathia.text import sentence_encoder
from empathia.text.tokenize import tokenize

PARTS = ("plan", "recall", "choose", "perceive", "causes")
TOPIC = "companion"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    ask = tasks.add_parser("replies")
    ask.add_argument("--split", default="valid")
    ask.add_argument("--out", type=Path, required=True)
    ask.add_argument("--limit", type=int, help="a random sample of so many contexts, the same for every system")
    ask.add_argument("--without", action="append", choices=PARTS, default=[])
    ask.add_argument("--know", action="store_true", help="with commonsense inferences among the notes")
    ask.add_argument("--model", help="base (the un-tuned language model), retrieval, or what `empathia reply` takes")
    ask.add_argument("--candidates", type=int)
    ask.add_argument("--temperature", type=float)
    ask.add_argument("--stochastic", action="store_true")
    ask.add_argument("--part", default="0/1", metavar="I/N", help="every Nth conversation, from the Ith")
    part = tasks.add_parser("ablations")
    part.add_argument("--split", default="valid")
    part.add_argument("--out", type=Path, required=True, help="a folder; a file of replies for each")
    part.add_argument("--limit", type=int)
    part.add_argument("--part", default="0/1", metavar="I/N", help="every Nth conversation, from the Ith")
    judge = tasks.add_parser("score")
    judge.add_argument("files", type=Path, nargs="+", help="the parts of one system's replies")
    judge.add_argument("--name", help="what the board shall call it (default: the replies' own)")
    judge.add_argument("--record", action="store_true")
    judge.add_argument("--split", default="test", help="whose contexts they answer")
    tune = tasks.add_parser("tune")
    tune.add_argument("files", type=Path, nargs="+")
    tune.add_argument("--trials", type=int, default=1000)
    pace = tasks.add_parser("latency")
    pace.add_argument("--record", action="store_true")
    pace.add_argument("--contexts", type=int, default=20)
    args = parser.parse_args()
    todo = {"replies": replies, "ablations": ablations, "score": score, "tune": tuned, "latency": latency}
    todo[args.task](args)


# Replies -----------------------------------------------------------------------------------------------------


def replies(args: argparse.Namespace) -> None:
    examples = own_part(contexts_of(args.split, args.limit), args.part)
    system = "-".join(["companion" if args.model is None else args.model, *(f"no-{part}" for part in args.without)])
    system += "-know" if args.know else ""
    responder = _responder(args)
    beside = args.out.with_suffix(".candidates.jsonl")
    done = {row["id"] for _, row in read_jsonl(args.out)} if args.out.exists() else set()
    todo = [example for example in examples if example.id not in done]
    wish = Wish(candidates=args.candidates, temperature=args.temperature, stochastic=args.stochastic)
    with (
        counting(system, len(todo)) as advance,
        args.out.open("a", encoding="utf-8") as out,
        beside.open("a", encoding="utf-8") as more,
    ):
        for example in todo:
            reply = responder.reply(example.context, wish)
            row = SystemReply(example.id, system, example.context, reply.text, example.gold.reply, example.gold.emotion)
            plan = max(reply.evidence.intent or {"": 0.0}, key=(reply.evidence.intent or {"": 0.0}).__getitem__)
            weighed = [{"text": c.text, "scores": dict(c.scores)} for c in reply.candidates]
            more.write(
                json.dumps(
                    {
                        "id": example.id,
                        "gold": example.gold.reply,
                        "last": example.context.last,
                        "plan": plan,
                        "candidates": weighed,
                        "timings": dict(reply.timings),
                    }
                )
                + "\n"
            )
            out.write(json.dumps(row.as_dict()) + "\n")
            more.flush()
            out.flush()
            advance(1)


def ablations(args: argparse.Namespace) -> None:
    """The companion without each of its parts, and with commonsense; one context at a time, so that the language model
    reads a conversation once for all."""
    examples = own_part(contexts_of(args.split, args.limit), args.part)
    whole = companion_of(None, announce)
    assert isinstance(whole, Companion)
    variants = {f"companion-no-{part}": whole.altered(**{part: False}) for part in PARTS}
    variants |= {"companion": whole, "companion-know": whole.altered(know=True)}
    args.out.mkdir(parents=True, exist_ok=True)
    files = {name: args.out / f"{name}-{args.part.replace('/', 'of')}.jsonl" for name in variants}
    done = {name: {row["id"] for _, row in read_jsonl(p)} if p.exists() else set() for name, p in files.items()}
    with counting("ablations", len(examples)) as advance:
        for example in examples:
            for name, companion in variants.items():
                if example.id not in done[name]:
                    text = companion.reply(example.context).text
                    gold = example.gold
                    row = SystemReply(example.id, name, example.context, text, gold.reply, gold.emotion)
                    with files[name].open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row.as_dict()) + "\n")
            advance(1)


def _responder(args: argparse.Namespace) -> Responder:
    if args.model == "retrieval":
        return responder_of("retrieval")
    left_out: dict[str, Any] = dict.fromkeys(args.without, False)
    settings = replace(Settings(), know=args.know, **left_out)
    if args.model == "base":
        from empathia.companion import weights

        return Companion(str(weights.base(announce)), settings)
    if args.model is not None:
        return responder_of(args.model)
    made = companion_of(None, announce)
    assert isinstance(made, Companion)
    made.settings = settings
    return made


def contexts_of(split: str, limit: int | None) -> list[Example]:
    examples = [example for dialogue in load("empathetic-dialogues", split) for example in dialogue.examples()]
    return examples if limit is None else random.Random(7).sample(examples, limit)


def own_part(examples: Sequence[Example], part: str) -> list[Example]:
    """Of `I/N` every Nth conversation, from the Ith."""
    place, parts = map(int, part.split("/"))
    conversations = {name: i for i, name in enumerate(dict.fromkeys(e.id.split("#")[0] for e in examples))}
    return [e for e in examples if conversations[e.id.split("#")[0]] % parts == place]


# Scores ------------------------------------------------------------------------------------------------------


def score(args: argparse.Namespace) -> None:
    found = [reply for file in args.files for reply in read_replies(file)]
    name = args.name or found[0].system
    conditions = f"corpus:empathetic-dialogues|split:{args.split}"
    scores = score_replies(found, sentence_encoder.load(announce), conditions=conditions)
    for one in scores:
        print(one)
    if args.record:
        board.record_scores(TOPIC, name, scores)


class Choices:
    """Candidates of many contexts as arrays: what each is worth, and every reason to choose it."""

    def __init__(self, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
        embed = sentence_encoder.load(announce)
        texts = [[c["text"] for c in row["candidates"]] for row in rows]
        gold, last = embed([row["gold"] for row in rows]), embed([row["last"] for row in rows])
        vectors = [embed(own) for own in texts]
        self.ses = [own @ g for own, g in zip(vectors, gold, strict=True)]
        self.rel = [own @ turn for own, turn in zip(vectors, last, strict=True)]
        self.reasons = [np.array([[c["scores"].get(n, 0.0) for n in names] for c in row["candidates"]]) for row in rows]
        self.words = [[tokenize(text.lower()) for text in own] for own in texts]
        self.gold = [tokenize(row["gold"].lower()) for row in rows]

    def figures(self, weights: np.ndarray, places: Sequence[int]) -> dict[str, float]:
        chosen = {i: int(np.argmax(self.reasons[i] @ weights)) for i in places}
        words = [self.words[i][k] for i, k in chosen.items()]
        said = [" ".join(own) for own in words]
        pairs = [pair for own in words for pair in pairwise(own)]
        commonest = sum(count for _, count in Counter(said).most_common(10))
        bleu = corpus_bleu(said, [[" ".join(self.gold[i]) for i in chosen]], tokenize="none", smooth_method="add-k")
        return {
            "ses": float(np.mean([self.ses[i][k] for i, k in chosen.items()])),
            "rel": float(np.mean([self.rel[i][k] for i, k in chosen.items()])),
            "bleu": bleu.score,
            "questions": float(np.mean(["?" in text for text in said])),
            "distinct": 100 * len(set(pairs)) / len(pairs),
            "commonest": 100 * commonest / len(said),
        }


def worth(figures: dict[str, float]) -> float:
    """SES, BLEU and variety up; REL not above the band, questions within theirs."""
    too_near = max(0.0, figures["rel"] - 0.36)
    off = max(0.0, figures["questions"] - 0.44) + max(0.0, 0.25 - figures["questions"])
    variety = 0.006 * figures["distinct"] - 0.004 * figures["commonest"]
    return figures["ses"] + 0.012 * figures["bleu"] + variety - 2 * too_near - 0.5 * off


def tuned(args: argparse.Namespace) -> None:
    """Weights of the choice by random search; half the contexts decide, the other half tells whether it holds."""
    rows = [row for file in args.files for _, row in read_jsonl(file) if len(row["candidates"]) > 1]
    names = [f.name for f in fields(Weights) if f.name != "unsafe"]
    choices = Choices(rows, names)
    chance = np.random.default_rng(1)
    start = np.array([getattr(Weights(), n) for n in names])
    decide, rest = range(0, len(rows), 2), range(1, len(rows), 2)
    best = (worth(choices.figures(start, decide)), start)
    for _ in range(args.trials):
        trial = best[1] + chance.normal(0, 0.25, len(names)) * (chance.random(len(names)) < 0.4)
        trial *= np.sign(trial) == np.sign(start)  # a reason never turns into its opposite
        value = worth(choices.figures(trial, decide))
        if value > best[0]:
            best = (value, trial)
    for name, weights in (("as they are", start), ("tuned", best[1])):
        print(f"{name}, on the held-out half:", {k: round(v, 4) for k, v in choices.figures(weights, rest).items()})
    print("Weights(" + ", ".join(f"{n}={w:.2f}" for n, w in zip(names, best[1], strict=True)) + ")")


# Time --------------------------------------------------------------------------------------------------------


def latency(args: argparse.Namespace) -> None:
    """A reply with all its evidence beside the language model alone on the same prompt, idle and with a core busy."""
    companion = companion_of(None, announce)
    assert isinstance(companion, Companion)
    companion.warm()
    examples = contexts_of("valid", args.contexts)
    figures: list[Figure] = []
    for busy in (False, True):
        with _one_core_busy(busy):
            for n in (1, 4, 8):
                whole, alone = [], []
                for example in examples:
                    began = time.perf_counter()
                    found = companion.reply(example.context, Wish(candidates=n, seed=1))
                    whole.append(time.perf_counter() - began)
                    alone.append(found.timings["generate"])
                p50, p95 = statistics.median(whole), float(np.quantile(whole, 0.95))
                overhead = 100 * (sum(whole) / sum(alone) - 1)
                where = "busy" if busy else "idle"
                print(f"N={n} {where}: p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms, overhead {overhead:.0f} %")
                signature = f"n:{n}|machine:{where}|contexts:{len(examples)}|cores:2"
                rows = {"latency_p50": (p50, "s"), "latency_p95": (p95, "s"), "overhead": (overhead, "%")}
                figures += [
                    Figure(
                        f"companion/{k}_n{n}_{where}", v, unit, signature, board.running_command(), board.commit_of()
                    )
                    for k, (v, unit) in rows.items()
                ]
    plain = []
    for example in examples:
        evidence = companion.recall(example.context, companion.perceive(example.context))
        steady = plan(evidence, Wish(seed=1), random.Random(1))
        asked = companion._prompt(example.context, companion.notes(example.context, evidence, steady))
        began = time.perf_counter()
        companion.engine.candidates(asked, 4, Sampling(seed=1))
        plain.append(time.perf_counter() - began)
    print(f"plain llama.cpp, 4 candidates, same prompts: p50 {1000 * statistics.median(plain):.0f} ms")
    if args.record:
        board.record_all(TOPIC, figures)


class _one_core_busy:
    def __init__(self, really: bool) -> None:
        self.process = multiprocessing.Process(target=_spin, daemon=True) if really else None

    def __enter__(self) -> None:
        if self.process:
            self.process.start()

    def __exit__(self, *_: object) -> None:
        if self.process:
            self.process.kill()


def _spin() -> None:
    while True:
        pass


if __name__ == "__main__":
    try:
        main()
    except EmpathiaError as problem:
        raise SystemExit(f"{problem}") from problem
