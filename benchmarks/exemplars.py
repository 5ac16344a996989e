"""Whether the bi-encoder finds the reply that was given, and whether it hears the whole conversation.

    python benchmarks/exemplars.py [--limit N] [--record]

Recall@1, 10 and 100 of the given reply among all listener replies of EmpatheticDialogues' test split, and collapse:
how far what is found for a conversation of three turns or more is what is found for its first turn alone (LEMPEx' named
weakness), beside the same for its last turn, and `repeats`, how often what the listener has said already scores above
what was said next. Three encoders: the trained one if there is one, MiniLM as it comes turn
by turn, and MiniLM on the joined text, as LEMPEx reads. `--limit` takes a random sample: fewer candidates,
easier, never recorded. Needs EMPATHIA_DATA.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

from empathia.core.errors import BadInput
from empathia.core.types import Example
from empathia.corpora.registry import corpus
from empathia.evaluation import board
from empathia.evaluation.board import Figure
from empathia.exemplars.encoder import DialogueEncoder, JoinedEncoder, PlainEncoder, TunedEncoder, load
from empathia.exemplars.measure import collapse, ranks, recall_at, repeats
from empathia.text import sentence_encoder

MOST, SEED = (1, 10, 100), 2026

#: name, value, unit, signature
Found = tuple[str, float, str, str]


def encoders() -> dict[str, DialogueEncoder]:
    sentences = sentence_encoder.load()
    found: dict[str, DialogueEncoder] = {
        "minilm-joined": JoinedEncoder(sentences),
        "minilm-turns": PlainEncoder(sentences),
    }
    best = load()
    return {"exemplars": best, **found} if isinstance(best, TunedEncoder) else found


def figures(name: str, encoder: DialogueEncoder, examples: Sequence[Example]) -> list[Found]:
    """Every figure of one encoder."""
    began = time.process_time()
    replies = encoder.replies([example.gold.reply for example in examples])
    contexts = [example.context for example in examples]
    answers = encoder.contexts(contexts).answer_ND
    spent = 1000 * (time.process_time() - began) / (2 * len(examples))
    found = ranks(answers, replies)
    long = [len(context.turns) >= 3 for context in contexts]
    signature = f"ed-test|candidates:{len(examples)}|encoder:{encoder.signature}"
    rows: list[Found] = []
    for most in MOST:
        rows.append((f"{name}/recall_at_{most}", recall_at(found, most), "%", signature))
        rows.append((f"{name}/recall_at_{most}_long", recall_at(found[long], most), "%", f"{signature}|turns>=3"))
    for which, turn in (("first", 0), ("last", -1)):
        read = collapse(encoder, contexts, replies, turn)
        conditions = f"{signature}|contexts:{read.contexts}|turns>=3"
        rows.append((f"{name}/same_best_as_{which}_turn", read.same_best, "%", conditions))
        rows.append((f"{name}/shared_with_{which}_turn", read.shared, "%", f"{conditions}|nearest:10"))
        rows.append((f"{name}/cosine_to_{which}_turn", read.cosine, "", conditions))
    again = repeats(encoder, contexts, [example.gold.reply for example in examples])
    rows.append((f"{name}/repeats", again, "%", f"ed-test|encoder:{encoder.signature}|turns>=3"))
    rows.append((f"{name}/text", spent, "ms", f"{signature}|processor time, mean"))
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--limit", type=int, help="a random sample of so many pairs, for a quick look")
    parser.add_argument("--record", action="store_true", help="put the figures on the board")
    options = parser.parse_args(argv)
    if options.record and options.limit:
        raise BadInput("a sample is not recorded", "leave --limit or --record out")
    examples = [example for dialogue in corpus("empathetic-dialogues").load("test") for example in dialogue.examples()]
    if options.limit:
        examples = random.Random(SEED).sample(examples, min(options.limit, len(examples)))
    found: list[Found] = []
    for name, encoder in encoders().items():
        rows = figures(name, encoder, examples)
        for metric, value, unit, signature in rows:
            print(f"{metric:36} {value:8.3f} {unit:3} {signature}", flush=True)
        found += rows
    if options.record:
        command, commit = board.running_command(), board.commit_of()
        path = board.record_all("exemplars", [Figure(n, v, u, s, command, commit) for n, v, u, s in found])
        print(f"recorded in {path}")


if __name__ == "__main__":
    main()
