"""How well the companion's language model foresees what listeners really said: perplexity per word.

    python benchmarks/companion_perplexity.py --record [--split test] [--limit N] [--threads N] [--untuned]

Whole conversations, the gold replies forced, at full precision in torch: the un-tuned base on the conversation alone,
the tuned model on the conversation alone, and the tuned model with the notes that perception gives it (emotion, cause,
plan; never a gold label). Words are those of `empathia.text.tokenize` and one end per reply, as for the from-scratch
systems, but over an open vocabulary: these models spell any word, the others are given `unk`. Needs EMPATHIA_DATA.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer

from empathia.commands.progress import announce, counting
from empathia.companion import Companion, Settings
from empathia.companion.plan import plan
from empathia.companion.prompt import END, Notes, chat_turn, opening, plain
from empathia.companion.weights import base, shipped_adapter
from empathia.core.types import Context, Dialogue, Wish
from empathia.corpora import load
from empathia.evaluation import board
from empathia.text.tokenize import tokenize

Noted = Callable[[Context], Notes]


@dataclass(frozen=True, slots=True)
class Forced:
    ids: list[int]
    reply: list[bool]  # which tokens are of a reply
    words: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, help="so many conversations, drawn at random")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--untuned", action="store_true", help="the un-tuned base too")
    parser.add_argument("--adapter", type=Path, default=shipped_adapter())
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dialogues = load("empathetic-dialogues", args.split)
    if args.limit:
        dialogues = random.Random(7).sample(dialogues, args.limit)
    file = base(announce)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    model: Any = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    model.eval()
    if args.untuned:
        report("untuned", model, [forced(d, tokenizer, _nothing) for d in dialogues], args)
    from peft import PeftModel

    tuned: Any = PeftModel.from_pretrained(model, str(args.adapter))
    tuned = tuned.merge_and_unload().eval()
    report("tuned", tuned, [forced(d, tokenizer, _nothing) for d in dialogues], args)
    noted = noter()
    with counting("notes", len(dialogues)) as advance:
        told = [one for d in dialogues for one in [forced(d, tokenizer, noted)] if not advance(1)]
    report("tuned_with_notes", tuned, told, args)


def noter() -> Noted:
    companion = Companion(settings=Settings(recall=False))

    def notes(context: Context) -> Notes:
        evidence = companion.perceive(context)
        return companion.notes(context, evidence, plan(evidence, Wish(stochastic=False), random.Random(0)))

    return notes


def _nothing(context: Context) -> Notes:
    return Notes()


def forced(dialogue: Dialogue, tokenizer: Any, noted: Noted) -> Forced:
    """A conversation as one sequence: the reply's tokens and its end are foreseen, everything else is given."""
    ids: list[int] = []
    reply: list[bool] = []
    words = 0
    for i, turn in enumerate(dialogue.turns):
        if turn.speaker == "listener" and i:
            words += len(tokenize(turn.text)) + 1
            notes = noted(Context(dialogue.turns[:i]))
            parts = [(opening(notes), False), (plain(turn.text) + END, True), ("\n", False)]
        else:
            parts = [(chat_turn("user" if turn.speaker == "speaker" else "assistant", turn.text), False)]
        for text, is_reply in parts:
            own = tokenizer(text, add_special_tokens=False)["input_ids"]
            ids += own
            reply += [is_reply] * len(own)
    return Forced(ids, reply, words)


def report(name: str, model: Any, sequences: Sequence[Forced], args: argparse.Namespace) -> None:
    nats, tokens = 0.0, 0
    ordered = sorted(sequences, key=lambda s: len(s.ids))
    with counting(name, len(ordered)) as advance, torch.inference_mode():
        for start in range(0, len(ordered), 8):
            batch = ordered[start : start + 8]
            longest = max(len(s.ids) for s in batch)
            ids_BT = torch.tensor([s.ids + [0] * (longest - len(s.ids)) for s in batch])
            there_BT = torch.tensor([[1] * len(s.ids) + [0] * (longest - len(s.ids)) for s in batch])
            reply_BT = torch.tensor([s.reply + [False] * (longest - len(s.ids)) for s in batch])
            states_BTD = model.model(input_ids=ids_BT, attention_mask=there_BT, use_cache=False).last_hidden_state
            logits_ND = model.lm_head(states_BTD[:, :-1][reply_BT[:, 1:]])
            gold_N = ids_BT[:, 1:][reply_BT[:, 1:]]
            nats += F.cross_entropy(logits_ND, gold_N, reduction="sum").item()
            tokens += len(gold_N)
            advance(len(batch))
    words = sum(s.words for s in sequences)
    value = math.exp(nats / words)
    print(f"{name}: {value:.2f} per word, {math.exp(nats / tokens):.2f} per token, {nats / tokens:.4f} nats per token")
    if args.record:
        counted = f"conversations:{len(sequences)}|words:{words}"
        signature = f"corpus:empathetic-dialogues|split:{args.split}|{counted}|vocabulary:open|notes:{name}"
        board.record("companion", f"companion/perplexity_per_word_{name}", value, "", signature)


if __name__ == "__main__":
    main()
