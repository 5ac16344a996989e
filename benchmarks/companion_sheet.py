"""The companion's replies to our own situations, every one, and how often three known faults are in them.

    python benchmarks/companion_sheet.py [--out docs/companion-samples.md] [--replies FILE.jsonl] [--record]
    python benchmarks/companion_sheet.py --marks MARKS --key KEY [--pairs PAIRS] [--replies FILE.jsonl] [--record]

128 situations written for the project and never trained on, four per emotion. The same adapter answers twice: bare
(one reply, no evidence, no choice: what the pilot was) and as the default does. Three faults that readers of the pilot
named are counted in both, by plain rules that anyone can read below:

sympathy   «I'm sorry to hear that» said to news that is good or neutral
clash      a sentence that condoles and one that congratulates in the same reply
asked      a question made of words that the speaker has just used

The rules see words only. `--replies` keeps both replies of each situation, in random order under neutral names, with a
key beside it (`FILE.key.json`); a reader who does not see the key may mark faults in it (`{"3-A": ["sympathy"], …}`),
and `--marks` counts those; `--pairs` counts which of the two was found better (`{"3": "A", "4": "tie", …}`). With
`--replies` beside `--marks` the rules are counted once more, in the replies that were read.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from empathia.commands.progress import announce, counting
from empathia.commands.responders import companion_of
from empathia.companion import Companion, Settings
from empathia.companion.choose import asked_again
from empathia.core.errors import EmpathiaError
from empathia.core.files import read_json, read_jsonl, write_json
from empathia.core.types import Context, Reply
from empathia.evaluation import board

SITUATIONS = Path(__file__).parent / "situations"
BARE = replace(Settings(), perceive=False, recall=False, plan=False, choose=False)
FAULTS = ("sympathy", "clash", "asked", "misread")

_SORRY = re.compile(
    r"\b(?:sorry (?:to hear|for your|about|that|you)|(?:that|it) (?:is|'s|must be|sounds) (?:so |really |very |too )?"
    r"(?:awful|terrible|horrible|sad|bad|rough|unfortunate|tough|heartbreaking)|that(?: really)? sucks|oh no)\b"
)
_GLAD = re.compile(
    r"\b(?:congrat\w*|(?:so |very |really )?(?:glad|happy) (?:to hear|for you|that|you)|(?:that|it) (?:is|'s|sounds) "
    r"(?:so |really |very |pretty )?(?:great|awesome|wonderful|amazing|nice|good|fantastic|cool|exciting)"
    r"|good for you)\b"
)


@dataclass(frozen=True, slots=True)
class Situation:
    emotion: str
    context: Context
    facts: Sequence[str]
    news: str  # good, bad, mixed or neutral


def situations() -> Iterator[Situation]:
    for path in sorted(SITUATIONS.glob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["situation"]:
            yield Situation(path.stem, Context.of(*row["context"]), row["facts"], row["news"])


def faults(situation: Situation, reply: str) -> set[str]:
    """What the rules find in a reply."""
    found = set()
    low = reply.lower().replace("’", "'")
    if situation.news in ("good", "neutral") and _SORRY.search(low):
        found.add("sympathy")
    if _SORRY.search(low) and _GLAD.search(low):
        found.add("clash")
    if asked_again(reply, situation.context) >= 0.6:
        found.add("asked")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--replies", type=Path)
    parser.add_argument("--marks", type=Path)
    parser.add_argument("--key", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    if args.marks:
        key = read_json(args.key)
        counted(read_json(args.marks), key, args.record)
        if args.replies:
            rows = [row for _, row in read_jsonl(args.replies)]
            for name in sorted(set(key.values())):
                said = [row[place] for row in rows for place, system in key.items() if system == name and place in row]
                ruled(name, list(situations()), said, args.record)
        if args.pairs:
            preferred(read_json(args.pairs), key, args.record)
        return
    known = list(situations())
    answered: dict[str, list[Reply]] = {}
    for name, settings in (("bare", BARE), ("companion", Settings())):
        companion = companion_of(None, announce)  # a new one: parts are opened once, as the settings say
        assert isinstance(companion, Companion)
        companion.settings = settings
        with counting(name, len(known)) as advance:
            answered[name] = [reply for one in known for reply in [companion.reply(one.context)] if not advance(1)]
    for name, replies in answered.items():
        ruled(name, known, [reply.text for reply in replies], args.record)
    if args.out:
        args.out.write_text(sheet(known, answered["companion"]), encoding="utf-8")
    if args.replies:
        shuffled(known, answered, args.replies)


def ruled(system: str, known: Sequence[Situation], replies: Sequence[str], record: bool) -> None:
    found = [faults(one, reply) for one, reply in zip(known, replies, strict=True)]
    tell(system, "rules", {fault: sum(fault in f for f in found) for fault in FAULTS[:3]}, len(known), record)


def tell(system: str, judge: str, counts: Mapping[str, int], of: int, record: bool) -> None:
    print(f"{system:10} ({judge}, of {of}): " + ", ".join(f"{name} {n}" for name, n in counts.items()))
    if record:
        for name, n in counts.items():
            signature = f"situations:{of}|judge:{judge}"
            board.record("companion", f"{system}/fault_{name}_{judge}", n, "replies", signature)


def sheet(known: Sequence[Situation], replies: Sequence[Reply]) -> str:
    lines = [
        "# Sample sheet",
        "",
        f"The default companion's replies to {len(known)} situations written for this project and never trained on,",
        "four per emotion, as they came: none was picked, mended or left out. Made by `benchmarks/companion_sheet.py`.",
    ]
    emotion = ""
    for one, reply in zip(known, replies, strict=True):
        if one.emotion != emotion:
            emotion = one.emotion
            lines += ["", f"## {emotion}", ""]
        lines += [f"> **{turn.speaker}:** {turn.text}  " for turn in one.context.turns]
        lines += [f"> **reply:** {reply.text}", "", f"*({one.news} news; seen: {reply.evidence.top_emotion})*", ""]
    return "\n".join(lines).rstrip() + "\n"


def shuffled(known: Sequence[Situation], answered: Mapping[str, Sequence[Reply]], path: Path) -> None:
    """Both replies of each situation, in random order, and in another file who is who."""
    chance, key = random.Random(11), {}
    with path.open("w", encoding="utf-8") as file:
        for i, one in enumerate(known):
            order = list(answered)
            chance.shuffle(order)
            names = dict(zip("AB", order, strict=True))
            key.update({f"{i}-{letter}": system for letter, system in names.items()})
            row = {
                "situation": i,
                "news": one.news,
                "context": [f"{turn.speaker}: {turn.text}" for turn in one.context.turns],
                "facts": list(one.facts),
                **{f"{i}-{letter}": answered[system][i].text for letter, system in names.items()},
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    write_json(path.with_suffix(".key.json"), key)


def counted(marks: Mapping[str, Sequence[str]], key: Mapping[str, str], record: bool) -> None:
    systems = sorted(set(key.values()))
    for system in systems:
        mine = [marks.get(place, ()) for place, whose in key.items() if whose == system]
        tell(system, "reader", {f: sum(f in m for m in mine) for f in FAULTS}, len(mine), record)


def preferred(pairs: Mapping[str, str], key: Mapping[str, str], record: bool) -> None:
    better = Counter(key.get(f"{place}-{letter}", "neither") for place, letter in pairs.items())
    print(", ".join(f"{system} better {n}" for system, n in better.most_common()))
    if record:
        for system, n in better.items():
            board.record("companion", f"{system}/preferred", n, "pairs", f"situations:{len(pairs)}|judge:reader")


if __name__ == "__main__":
    try:
        main()
    except EmpathiaError as problem:
        raise SystemExit(str(problem)) from problem
