"""Is the intent asked for the one perceived in the reply?

    python benchmarks/intents.py [--model meed2] [--decoder beam5:block_ngrams=4] [--contexts 200] [--record]

Each of the eight intents is asked for in answer to the same contexts of the test split, drawn at random. Without
`--model` the companion answers; `--model` takes what `empathia reply` takes.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from companion import contexts_of

from empathia.commands.progress import announce, counting
from empathia.commands.responders import responder_of
from empathia.core.taxonomy import INTENTS
from empathia.core.types import Context, Responder, Wish
from empathia.evaluation import board
from empathia.perception import load as perception
from empathia.training.responder import RunResponder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a trained run, or what else `empathia reply` takes (default: the companion)")
    parser.add_argument("--decoder", help="a trained run's search (default: its own)")
    parser.add_argument("--contexts", type=int, default=200)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    responder = responder_of(args.model, args.decoder, announce)
    contexts = [example.context for example in contexts_of("test", args.contexts)]
    kept: dict[str, float] = {}
    for intent, texts in answers(responder, contexts).items():
        labels = [max(found, key=found.__getitem__) for found in perception().utterances(texts)]
        kept[intent] = 100 * labels.count(intent) / len(labels)
        print(f"{intent:15} {kept[intent]:5.1f} %")
    kept["all"] = statistics.mean(kept.values())
    print(f"{'all':15} {kept['all']:5.1f} %")
    if args.record:
        topic, name = ("empathetic-dialogues", args.model) if args.model else ("companion", "companion")
        who = "corpus:empathetic-dialogues"
        if isinstance(responder, RunResponder):
            who = f"{responder.run.conditions}|decoder:{responder.decoding}"
        signature = f"{who}|split:test|contexts:{args.contexts}|judge:perception/utterance"
        for intent, share in kept.items():
            board.record(topic, f"{name}/intent_kept_{intent}", share, "%", signature)


def answers(responder: Responder, contexts: Sequence[Context]) -> dict[str, list[str]]:
    """Intent → a reply to each context. A trained run answers all at once, having found their evidence once; any
    other responder one conversation after the other, so that each is read once for all intents."""
    if isinstance(responder, RunResponder):
        evidence = responder.find(contexts) if responder.find else None
        return {
            intent: [one.text for one in responder.replies(contexts, Wish(intent=intent), evidence=evidence)]
            for intent in INTENTS
        }
    texts: dict[str, list[str]] = {intent: [] for intent in INTENTS}
    with counting("intents", len(contexts)) as advance:
        for context in contexts:
            for intent, own in texts.items():
                own.append(responder.reply(context, Wish(intent=intent)).text)
            advance(1)
    return texts


if __name__ == "__main__":
    main()
