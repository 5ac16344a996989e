"""Train the danger reader: about seven minutes of one core, and the same weights every time on the same machine.

    python -m empathia.guard.train_reader [--out weights/guard]

The first layers of all-MiniLM-L6-v2 are fine-tuned to tell the hand-written dangers of `training/` from the ordinary
sentences there and from turns of EmpatheticDialogues' *train* split: those that the linear classifier finds most
dangerous, as they teach most, and some at random. Turns that a rule answers are left out, as they may be true. The
word vectors stay frozen, so that the table of `weights/perception` serves. Then: ONNX, int8, and thresholds from turns
that nothing has learned from. Train the linear classifier (train.py) first: its score has a share in the sum.

Shapes: B rows, T word pieces, D width, K kinds: none and the categories.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.files import atomic, existing, write_json
from ..core.places import cache, shipped
from .classifier import classifier
from .noise import amid, typed
from .reader import CARD, GRAPH, LONGEST, Reader, padded, windows, written_out
from .rules import rules
from .train import HELD_OUT, TURNS, held_out, thresholds, turns, written
from .types import CATEGORIES

if TYPE_CHECKING:
    import torch

#: EmpatheticDialogues' turns: looked at, of these the most dangerous-sounding, and others at random
POOL, HARD, ANY = 32_000, 8_000, 8_000
#: ordinary turns that may alarm, rules and all: at first, and once the guard is alert
ALARMS, ALERT_ALARMS = 0.013, 0.03
#: the linear classifier's share in the score, chosen on the development sets
SHARE = 0.1
WIDTH = 384

ABOUT = """\
# The guard's danger reader

Reads a message for danger to someone's life or safety: none, suicide, self-harm, abuse, violence. It is a second layer
in empathia's crisis guard (docs/guard.md), which works without it. The first layers of all-MiniLM-L6-v2 (Apache 2.0),
fine-tuned, int8 for onnxruntime ({size:.1f} MB); the word vectors are those of `weights/perception`. Made by
`python -m empathia.guard.train_reader`; measured by `benchmarks/guard.py`.

- Learned from: the guard's own hand-written sentences (`empathia/guard/training`), and turns of EmpatheticDialogues
  (CC BY-NC 4.0) as ordinary talk. So the weights may be used for research, not commercially.
- `card.json`: the score above which a message is danger (at first, and once the guard is alert), and the linear
  classifier's share in that score. Set so that {alarms:.2%} of {turns:,} held-out turns alarm, rules included.
- English only. Not a medical device, not a risk assessment. It misses much that is said indirectly: figures in
  docs/guard.md.
"""


@dataclass(frozen=True)
class Settings:
    layers: int = 4
    epochs: int = 2
    batch: int = 32
    lr: float = 1.2e-4
    head_lr: float = 1e-3
    warmup: float = 0.08
    decay: float = 0.01
    dropout: float = 0.1
    amid: float = 0.3  # of dangers, and half as often of harmless sentences, stand amid other talk
    typed: float = 0.5  # of sentences are typed in haste
    seed: int = 5


@dataclass(frozen=True, slots=True)
class Lesson:
    text: str
    kind: int  # 0: harmless, else the category's place + 1


def lessons() -> tuple[list[Lesson], list[Lesson]]:
    """What people wrote for the guard, and turns of ordinary talk."""
    dangers, kinds, near = written()
    own = [Lesson(text, 1 + kind) for text, kind in zip(dangers, kinds, strict=True)]
    own += [Lesson(text, 0) for text in near]
    pool = [text for text in turns(TURNS + HELD_OUT, POOL) if rules().sign(text) is None]
    pool.sort(key=lambda text: -classifier().guess(text).score)
    talk = pool[:HARD] + random.Random(1).sample(pool[HARD:], ANY)
    return own, [Lesson(text, 0) for text in talk]


def epoch_of(own: Sequence[Lesson], talk: Sequence[Lesson], epoch: int, settings: Settings) -> list[Lesson]:
    """Everything written, disturbed anew, and this epoch's part of the talk."""
    chance = random.Random(f"{settings.seed} {epoch}")
    short = [lesson.text for lesson in talk if len(lesson.text.split()) <= 10]
    made = []
    for lesson in own:
        text = typed(lesson.text, chance) if chance.random() < settings.typed else lesson.text
        if chance.random() < (settings.amid if lesson.kind else settings.amid / 2):
            text = amid(text, short, chance)
        made.append(Lesson(next(windows(text)) if lesson.kind == 0 else text, lesson.kind))
    return made + list(talk[epoch :: settings.epochs])


def network(settings: Settings, pretrained: Path) -> Any:
    """The first layers of the pretrained encoder, a pool that starts as a mean, and one linear map to the kinds."""
    import torch
    from safetensors.torch import load_file
    from torch import Tensor, nn
    from transformers import BertConfig, BertModel

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            config = BertConfig(
                hidden_size=WIDTH,
                num_hidden_layers=settings.layers,
                num_attention_heads=12,
                intermediate_size=4 * WIDTH,
                hidden_dropout_prob=settings.dropout,
                attention_probs_dropout_prob=0.0,
            )
            config._attn_implementation = "eager"  # the one that ONNX knows
            self.bert = BertModel(config, add_pooling_layer=False)  # type: ignore[no-untyped-call]
            self.query = nn.Parameter(torch.zeros(WIDTH))
            self.dropout, self.out = nn.Dropout(0.2), nn.Linear(WIDTH, 1 + len(CATEGORIES))

        def forward(self, words_BTD: Tensor, there_BT: Tensor) -> Tensor:
            states_BTD = self.bert(inputs_embeds=words_BTD, attention_mask=there_BT).last_hidden_state
            weight_BT = ((states_BTD * self.query).sum(-1) - 1e4 * (1 - there_BT)).softmax(-1)
            logits_BK: Tensor = self.out(self.dropout((weight_BT[:, None] @ states_BTD)[:, 0]))
            return logits_BK

    torch.manual_seed(settings.seed)
    made = Network()
    theirs = {n: v for n, v in load_file(pretrained).items() if n in made.bert.state_dict()}
    missing = made.bert.load_state_dict(theirs, strict=False).missing_keys
    assert not missing, missing
    made.bert.embeddings.word_embeddings.weight.requires_grad = False
    return made


def batches(rows: Sequence[Lesson], ids: Sequence[Sequence[int]], size: int, chance: random.Random) -> Iterator[Any]:
    """Rows of like length together, the batches in a random order."""
    import torch

    order = sorted(range(len(rows)), key=lambda i: len(ids[i]) + chance.uniform(-2, 2))
    groups = [order[i : i + size] for i in range(0, len(order), size)]
    chance.shuffle(groups)
    for group in groups:
        yield torch.from_numpy(padded([ids[i] for i in group])), torch.tensor([rows[i].kind for i in group])


def train(settings: Settings, pretrained: Path) -> Any:
    import torch
    import torch.nn.functional as F
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(shipped() / "perception" / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    net = network(settings, pretrained).train()
    own, talk = lessons()
    epochs = [epoch_of(own, talk, epoch, settings) for epoch in range(settings.epochs)]
    total = sum(-(-len(rows) // settings.batch) for rows in epochs)
    dangers = sum(lesson.kind > 0 for lesson in own)
    print(f"{dangers} dangers, {len(own) - dangers} near, {len(talk)} turns, {total} batches", flush=True)
    trained = {n: p for n, p in net.named_parameters() if p.requires_grad}
    groups = [
        {"params": [p for n, p in trained.items() if n.startswith("bert.")], "peak": settings.lr},
        {"params": [p for n, p in trained.items() if not n.startswith("bert.")], "peak": settings.head_lr},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=settings.decay, fused=True)
    recent: list[float] = []
    step, began = 0, time.process_time()
    for epoch, rows in enumerate(epochs):
        ids = [e.ids for e in tokenizer.encode_batch([written_out(row.text) for row in rows])]
        for ids_BT, kind_B in batches(rows, ids, settings.batch, random.Random(f"{settings.seed} {epoch}")):
            step += 1
            share = min(step / (settings.warmup * total), (total - step) / ((1 - settings.warmup) * total))
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * share
            with torch.no_grad():
                words_BTD = net.bert.embeddings.word_embeddings(ids_BT)
            loss = F.cross_entropy(net(words_BTD, (ids_BT > 0).float()), kind_B, label_smoothing=0.05)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            recent = [*recent[-49:], loss.item()]
            if step % 50 == 0:
                spent = time.process_time() - began
                print(f"step {step}/{total} loss {sum(recent) / len(recent):.3f} {spent:.0f} s", flush=True)
    return net.eval()


def graph(net: torch.nn.Module) -> bytes:
    """As ONNX, matrix products in int8. Weights keep seven bits: processors without VNNI would overflow with eight."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        whole, small = Path(scratch) / "whole.onnx", Path(scratch) / "small.onnx"
        axes = {0: "B", 1: "T"}
        torch.onnx.export(
            net,
            (torch.randn(2, 7, WIDTH), torch.ones(2, 7)),
            str(whole),
            input_names=["words", "there"],
            output_names=["logits"],
            dynamic_axes={"words": axes, "there": axes, "logits": {0: "B"}},
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(
            whole,
            small,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
        return small.read_bytes()


def finish(out: Path) -> None:
    """Set the thresholds of the graph in `out`, rules and all, and write its card."""
    limits = {"share": SHARE, "thresholds": {"first": 0.0, "alert": 0.0}}
    write_json(out / CARD, limits)
    reader = Reader(out, shipped() / "perception")
    heard, scores = 0, []
    for text in held_out():
        if rules().sign(text) is not None:
            heard += 1
            continue
        left = rules().unsettled(text)
        reading = reader(left)
        guessed = classifier().guess(left).score
        scores.append(reading.score + SHARE * guessed if reading else guessed - 9.0)
    first, alert = ((share * HELD_OUT - heard) / len(scores) for share in (ALARMS, ALERT_ALARMS))
    found = thresholds(scores, first, alert)
    limits["thresholds"] = {"first": found.first, "alert": found.alert}
    write_json(out / CARD, limits)
    with atomic(out / "card.md") as file:
        file.write(ABOUT.format(size=(out / GRAPH).stat().st_size / 1e6, turns=HELD_OUT, alarms=ALARMS))
    print(f"{out.name}: rules alarm at {heard} of {HELD_OUT} held-out turns; {found}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m empathia.guard.train_reader")
    parser.add_argument("--out", type=Path, default=shipped() / "guard", help="where the files go")
    parser.add_argument("--finish", action="store_true", help="only set the thresholds again and write the card")
    options = parser.parse_args(argv)
    if not options.finish:
        hint = "run once: python -c 'from empathia.text.sentence_encoder import load; load(print)'"
        net = train(Settings(), existing(cache() / "minilm" / "model.safetensors", hint))
        with atomic(options.out / GRAPH, "wb") as file:
            file.write(graph(net))
    finish(options.out)


if __name__ == "__main__":
    main()
