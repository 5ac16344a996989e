"""One loop for every LoRA adapter (peft) on a frozen language model: resumable, logged, by steps.

It knows sequences of token ids with marks on those that are learned, and nothing of what they say. A sequence may
consist of a trunk and branches: each branch sees the trunk and itself, not the other branches, as if trunk and branch
stood in a sequence of their own. So many continuations of one beginning cost that beginning once. The first token of a
sequence or branch is never learned: nothing stands before it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from safetensors import safe_open
from safetensors.torch import load_file
from safetensors.torch import save as serialised
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from ..core.errors import BadConfig
from ..core.files import atomic
from ..nn.adam import restore, state_tensors
from .precision import bf16_problem

CHECKPOINT = "checkpoint.safetensors"
#: Sequences of which neighbours by length share a batch.
STRETCH = 256


@dataclass(frozen=True)
class Settings:
    rank: int = 32
    alpha: int = 64
    first_layer: int = 6  # layers below keep the base's weights, and no gradient goes there
    lr: float = 4e-4
    warmup: float = 0.04
    tokens: int = 1024  # of a batch
    epochs: float = 0.3
    dropout: float = 0.0
    seed: int = 1
    save_minutes: float = 5.0
    validate_every: int = 150  # steps
    #: the frozen base in bfloat16 and the products too; None where this processor multiplies them itself
    bf16: bool | None = None


@dataclass(frozen=True, slots=True)
class Lined:
    """Token ids, which of them are learned and, if it has branches, the branch of each (0 is the trunk)."""

    ids: list[int]
    learned: list[bool]
    branches: list[int] | None = None


class LoraTrainer:
    """The base with an adapter on it, ready to learn. `base` is a GGUF file or a folder of transformers."""

    def __init__(self, base: Path, settings: Settings, folder: Path, say: Callable[[str], None]) -> None:
        self.settings, self.folder, self.say = settings, folder, say
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(settings.seed)
        self.tokenizer, model = load_base(base)
        self.model: Any = get_peft_model(model, lora(settings, model.config.num_hidden_layers))
        self.bf16 = bf16_problem() is None if settings.bf16 is None else settings.bf16
        if self.bf16:
            for frozen in (p for p in self.model.parameters() if not p.requires_grad):
                frozen.data = frozen.data.bfloat16()
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=settings.lr, weight_decay=0.0, betas=(0.9, 0.98), fused=True)
        self.batches: list[list[Lined]] = []
        self.valid: Sequence[Lined] = []
        self.step = 0

    def teach(self, sequences: Sequence[Lined], valid: Sequence[Lined]) -> None:
        """What is to be learned, in this order; `ordered` gives one."""
        self.batches, self.valid = list(batched(sequences, self.settings.tokens)), valid

    def run(self) -> None:
        self.resume()
        total, saved_at = len(self.batches), time.monotonic()
        sequences = sum(len(batch) for batch in self.batches)
        tokens = sum(len(s.ids) for batch in self.batches for s in batch)
        self.say(f"{sequences} sequences, {total} steps, {tokens} tokens")
        self.say(f"step {self.step} valid {self.validate():.4f} nats per token")
        began, seen, recent = time.monotonic(), 0, []
        while self.step < total:
            batch = self.batches[self.step]
            for group in self.optimizer.param_groups:
                group["lr"] = self.settings.lr * self._share(total)
            loss, count = self._loss(batch)
            (loss / count).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.step += 1
            seen += sum(len(s.ids) for s in batch)
            recent.append(loss.item() / count)
            if self.step % 20 == 0:
                speed = seen / (time.monotonic() - began)
                self.say(
                    f"step {self.step}/{total} loss {sum(recent[-20:]) / len(recent[-20:]):.3f} {speed:.0f} tokens/s"
                )
            if self.step % self.settings.validate_every == 0 or self.step == total:
                self.say(f"step {self.step} valid {self.validate():.4f} nats per token")
            if time.monotonic() - saved_at > 60 * self.settings.save_minutes or self.step == total:
                self.save()
                saved_at = time.monotonic()

    def _share(self, total: int) -> float:
        warm = max(1, int(self.settings.warmup * total))
        return min((self.step + 1) / warm, 0.05 + 0.95 * (total - self.step) / total)

    def _loss(self, batch: Sequence[Lined]) -> tuple[Tensor, int]:
        """Summed over the learned tokens; the output layer sees only the states that predict one."""
        longest = max(len(s.ids) for s in batch)
        ids_BT = torch.tensor([s.ids + [0] * (longest - len(s.ids)) for s in batch])
        there_BT = torch.tensor([[1] * len(s.ids) + [0] * (longest - len(s.ids)) for s in batch])
        learned_BT = torch.tensor([s.learned + [False] * (longest - len(s.ids)) for s in batch])
        seen: dict[str, Tensor] = {"attention_mask": there_BT}
        if any(s.branches for s in batch):
            rows = [(s.branches or [0] * len(s.ids)) + [-1] * (longest - len(s.ids)) for s in batch]
            seen = branched(torch.tensor(rows))
        inner = self.model.base_model.model
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            states_BTD = inner.model(input_ids=ids_BT, use_cache=False, **seen).last_hidden_state
            logits_NV = inner.lm_head(states_BTD[:, :-1][learned_BT[:, 1:]])
        gold_N = ids_BT[:, 1:][learned_BT[:, 1:]]
        return F.cross_entropy(logits_NV.float(), gold_N, reduction="sum"), len(gold_N)

    def validate(self) -> float:
        self.model.eval()
        total, count = 0.0, 0
        with torch.inference_mode():
            for batch in grouped(sorted(self.valid, key=lambda s: len(s.ids)), 2048):
                loss, tokens = self._loss(batch)
                total, count = total + loss.item(), count + tokens
        self.model.train()
        return total / max(1, count)

    def save(self) -> None:
        """The adapter in peft's layout, and beside it what going on needs."""
        named = {n: p.detach() for n, p in self.model.named_parameters() if p.requires_grad}
        adapter = {n.replace(".default", ""): p.contiguous() for n, p in named.items()}
        with atomic(self.folder / "adapter_model.safetensors", "wb") as file:
            file.write(serialised(adapter))
        config = self.model.peft_config["default"].to_dict()
        with atomic(self.folder / "adapter_config.json") as file:
            plain = {k: sorted(v) if isinstance(v, set) else v for k, v in config.items()}
            json.dump(plain | {"base_model_name_or_path": "SmolLM2-135M-Instruct"}, file, indent=1, default=str)
        state = state_tensors(self.optimizer) | {f"now.{n}": p for n, p in named.items()}
        with atomic(self.folder / CHECKPOINT, "wb") as file:
            facts = {"step": str(self.step), "settings": json.dumps(asdict(self.settings))}
            file.write(serialised({n: v.contiguous() for n, v in state.items()}, facts))

    def begin_with(self, adapter: Path) -> None:
        """Matrices that were trained before, in peft's layout, as a beginning; a run that goes on keeps its own."""
        given = {n.replace(".weight", ".default.weight"): v.float() for n, v in load_file(adapter).items()}
        missing = {n for n, p in self.model.named_parameters() if p.requires_grad} - given.keys()
        if missing:
            raise BadConfig(f"{adapter} does not fit: it has no {min(missing)}", "keep its rank and first layer")
        self.model.load_state_dict(given, strict=False)

    def resume(self) -> None:
        path = self.folder / CHECKPOINT
        if not path.exists():
            return
        with safe_open(path, "pt") as file:
            self.step = int(file.metadata()["step"])
        tensors = load_file(path)
        self.model.load_state_dict({n[4:]: v for n, v in tensors.items() if n.startswith("now.")}, strict=False)
        restore(self.optimizer, tensors)
        self.say(f"going on from step {self.step}")


def load_base(base: Path) -> tuple[Any, Any]:
    """Tokenizer and language model of a GGUF file (dequantised) or of a folder, in float32."""
    place, given = (base.parent, {"gguf_file": base.name}) if base.is_file() else (base, {})
    tokenizer = AutoTokenizer.from_pretrained(place, **given)
    return tokenizer, AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **given)


def lora(settings: Settings, layers: int) -> LoraConfig:
    if not 0 <= settings.first_layer < layers:
        raise BadConfig(f"'train.first_layer' cannot be {settings.first_layer}", f"the base has {layers} layers")
    return LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        layers_to_transform=list(range(settings.first_layer, layers)),
        task_type="CAUSAL_LM",
    )


def ordered(count: int, epochs: float, seed: int) -> list[int]:
    """Places of `count` lessons in the order they are taught: one shuffle, `epochs` times, the last time in part."""
    order = list(range(count))
    random.Random(seed).shuffle(order)
    whole, part = divmod(epochs, 1)
    return order * int(whole) + order[: round(part * count)]


def batched(sequences: Sequence[Lined], tokens: int) -> Iterator[list[Lined]]:
    """In their order, sorted by length within stretches, so that little is padding."""
    for start in range(0, len(sequences), STRETCH):
        stretch = sorted(sequences[start : start + STRETCH], key=lambda s: len(s.ids))
        groups = list(grouped(stretch, tokens))
        random.Random(start).shuffle(groups)
        yield from groups


def grouped(sequences: Sequence[Lined], tokens: int) -> Iterator[list[Lined]]:
    """Neighbours, as many as fit into `tokens` with their padding."""
    group: list[Lined] = []
    for one in sequences:
        longest = max([len(one.ids), *(len(s.ids) for s in group)])
        if group and longest * (len(group) + 1) > tokens:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def branched(branches_BT: Tensor) -> dict[str, Tensor]:
    """What a model must be told about branches: who sees whom, and where each token stands. −1 marks padding."""
    longest = branches_BT.shape[1]
    earlier_TT = torch.ones(longest, longest, dtype=torch.bool).tril()
    same_BTT = branches_BT[:, :, None] == branches_BT[:, None, :]
    sees_BTT = earlier_TT & (same_BTT | (branches_BT == 0)[:, None, :])
    hidden_BTT = torch.zeros(sees_BTT.shape).masked_fill(~sees_BTT, torch.finfo(torch.float32).min)
    return {"attention_mask": hidden_BTT[:, None], "position_ids": sees_BTT.sum(-1) - 1}
