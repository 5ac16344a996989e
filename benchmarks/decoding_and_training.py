"""How fast training and decoding are, as ratios to fifty 1000x1000 float32 matmuls timed in between.

    python benchmarks/decoding_and_training.py [--record] [--run mime]

Every system at the size of its recipe with random weights, on texts of random words: lengths and word frequencies are
drawn like EmpatheticDialogues', so no corpus is needed; evidence, for the systems that read it, likewise. Each
repetition times the matmuls, then the same work; the ratio is that of the two medians. Decoded replies are forced to
their full length, as the released code's always are; `--run` also times a trained run as it really answers, on 256
contexts of its corpus' test split.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import median

import torch
from rich.console import Console
from rich.table import Table
from rich.text import Text

from empathia import models
from empathia.core.machine import cores
from empathia.core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, MECHANISMS, RELATION_GROUPS
from empathia.core.types import Context, Evidence, Example, Exemplar, Gold, Inference, Turn
from empathia.decoding.contract import Decoding, Specials
from empathia.decoding.search import decode
from empathia.evaluation import board
from empathia.models.base import EmpatheticModel
from empathia.nn.blocks import Blocks
from empathia.text.batches import Encoded, Encoder, See, bucketed, collate
from empathia.text.vocabulary import Vocabulary
from empathia.training.loop import Trainer
from empathia.training.measure import generate
from empathia.training.prepare import read_examples
from empathia.training.recipe import Recipe, Train
from empathia.training.run import Run, open_run

ROOT = Path(__file__).parents[1]
UNIT = "× 50 matmuls"
SEARCHES = {"greedy": Decoding(), "beam5": Decoding(method="beam", beam=5)}
#: metric → the most it may be, for every system of one layer
TARGETS = {
    "training_step": 0.19,
    "greedy_50_steps": 0.02,
    "beam5_50_steps": 0.1,
    "greedy_answers": 0.02,
    "beam5_answers": 0.1,
}


@dataclass(frozen=True)
class Sizes:
    vocabulary: int = 23_295
    blocks: Blocks | None = None  # None: each system's own
    training_batch: int = 16
    training_batches: int = 8  # of a repetition
    decoding_batch: int = 64
    decoding_steps: int = 50
    answers: int = 256
    matmul: int = 1000


QUICK = Sizes(200, Blocks(width=32, depth=16, hidden=32), 4, 2, 4, 5, 2, 16)


@dataclass(frozen=True)
class Figure:
    """What one training step or one decoded sample costs."""

    name: str
    ratio: float
    milliseconds: float
    signature: str
    layers: int = 1

    @property
    def target(self) -> float | None:
        return TARGETS.get(self.name.rpartition("/")[2]) if self.layers == 1 else None


class Numbers(Vocabulary):
    """A vocabulary whose words are their own ids."""

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]


def examples(count: int, vocabulary: int, seed: int, see: See | None = None) -> list[Encoded]:
    """Log-normal lengths and a Zipf-Mandelbrot law of words, fitted to EmpatheticDialogues' test split: contexts of
    41 tokens on average, the context token among them, and replies of 15; 8 % of the words past the 1024 commonest.
    The first turn, two thirds of the words, is the cause; five inferences of each relation have three words or, as
    feelings, one; ten exemplars are as long as replies."""
    draw, more = random.Random(seed), random.Random(-seed - 1)  # of texts; of evidence
    encoder = Encoder(Numbers(()), see=see)
    first = Vocabulary.context + 1
    frequencies = list(accumulate((rank + 10) ** -1.5 for rank in range(vocabulary - first)))

    def said(draw: random.Random, length: int) -> list[str]:
        return [str(word) for word in draw.choices(range(first, vocabulary), cum_weights=frequencies, k=length)]

    def words(mean_log: float, deviation: float, least: int, most: int, draw: random.Random = draw) -> list[str]:
        return said(draw, min(max(round(draw.lognormvariate(mean_log, deviation)), least), most))

    def known() -> Evidence:
        tails = [
            Inference(relation, " ".join(said(more, 1 if group == "affect" else 3)))
            for group, relations in RELATION_GROUPS.items()
            for relation in relations
            for _ in range(5)
        ]
        exemplars = tuple(Exemplar(" ".join(words(2.55, 0.52, 2, 99, more))) for _ in range(10))
        labels = tuple(more.choices(EMOTIONS_AND_INTENTS, k=2))
        return Evidence(causes=(0,), inferences=tuple(tails), exemplars=exemplars, turn_labels=labels)

    made = []
    for _ in range(count):
        context, reply = words(3.47, 0.68, 3, 149), words(2.55, 0.52, 2, 99)
        turn = len(context) * 2 // 3
        turns = Turn("speaker", " ".join(context[:turn])), Turn("listener", " ".join(context[turn:]))
        emotion, shown = draw.choice(EMOTIONS), {name: more.randrange(3) for name in MECHANISMS}
        gold = Gold(" ".join(reply), emotion, more.choice(EMOTIONS_AND_INTENTS), shown, more.uniform(-1, 1))
        made.append(encoder.example(Example("", Context(turns), gold, known() if see else Evidence())))
    return made


class Clock:
    """Times pieces of work, each time after fifty matmuls of the same minute."""

    def __init__(self, size: int, repeats: int, conditions: str) -> None:
        self.left, self.right = torch.rand(2, size, size)
        self.repeats, self.conditions = repeats, conditions

    def figure(self, name: str, work: Callable[[], object], count: int, conditions: str, layers: int = 1) -> Figure:
        """`work` does `count` steps or samples; its first round is not counted."""
        self._matmuls()
        work()
        pairs = [(_seconds(self._matmuls), _seconds(work) / count) for _ in range(self.repeats)]
        unit, own = (median(times) for times in zip(*pairs, strict=True))
        return Figure(name, own / unit, 1000 * own, f"{conditions}|{self.conditions}", layers)

    def _matmuls(self) -> None:
        for _ in range(50):
            torch.mm(self.left, self.right)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def built(name: str, sizes: Sizes, **reply: int) -> EmpatheticModel:
    """`reply`: other options of the reply's loss."""
    torch.manual_seed(0)
    config = Recipe.load(ROOT / "recipes" / f"{name}.toml").config
    config = replace(config, blocks=sizes.blocks or config.blocks, reply=replace(config.reply, **reply))
    return models.find(name)(config, sizes.vocabulary)


def read_by(model: EmpatheticModel, count: int, sizes: Sizes, seed: int) -> list[Encoded]:
    """Synthetic examples as this system reads them."""
    return examples(count, sizes.vocabulary, seed, partial(model.see, model.config))


def _size(model: EmpatheticModel, sizes: Sizes) -> str:
    return f"vocabulary:{sizes.vocabulary}|width:{model.width}|layers:{model.config.blocks.layers}"


def training_figures(name: str, sizes: Sizes, clock: Clock) -> Iterator[Figure]:
    """A step of the real loop, batches of similar length as it makes them: collating, losses, gradients, clipping,
    AdamW."""
    sampled, full = built(name, sizes), built(name, sizes, head=0)
    rows = read_by(sampled, sizes.training_batch * sizes.training_batches, sizes, seed=1)
    batches = list(bucketed([len(e.words) + len(e.reply) for e in rows], sizes.training_batch))
    how, layers = f"batch:{sizes.training_batch}|{_size(sampled, sizes)}", sampled.config.blocks.layers
    reply = sampled.config.reply
    for metric, model, told in (
        ("training_step", sampled, f"sampled-{reply.head}+{reply.sample}"),
        ("training_step_full_softmax", full, "full-softmax"),
    ):
        trainer = Trainer(model, Train(batch=sizes.training_batch), rows, rows[:1], Path("not written"))

        def work(trainer: Trainer = trainer) -> None:
            for batch in batches:
                trainer._update(batch)

        yield clock.figure(f"{name}/{metric}", work, len(batches), f"{how}|loss:{told}|data:synthetic", layers)


def decoding_figures(name: str, sizes: Sizes, clock: Clock) -> Iterator[Figure]:
    """Encoding and decoding of one batch of contexts in the order they were drawn, no reply ending early."""
    model = built(name, sizes).eval()
    inputs, _ = collate(read_by(model, sizes.decoding_batch, sizes, seed=2))
    specials, steps = Specials.of(Vocabulary), sizes.decoding_steps
    how, layers = f"batch:{sizes.decoding_batch}|{_size(model, sizes)}|steps:{steps}", model.config.blocks.layers
    for search, plain in SEARCHES.items():
        forced = replace(plain, max_length=steps, min_length=steps)

        def work(forced: Decoding = forced) -> None:
            with torch.inference_mode():
                memory = model.encode(inputs)
            decode(model, memory, specials, forced)

        yield clock.figure(
            f"{name}/{search}_{steps}_steps", work, len(inputs), f"{how}|decoder:{forced}|data:synthetic", layers
        )


def answering_figures(run: Run, sizes: Sizes, clock: Clock) -> Iterator[Figure]:
    """A trained run's replies from text to text, as `empathia generate` makes them."""
    everything = read_examples(run.recipe.data, "test")
    chosen = everything[:: max(1, len(everything) // sizes.answers)][: sizes.answers]
    blocks = run.model.config.blocks
    how = f"batch:{sizes.decoding_batch}|width:{blocks.width}|layers:{blocks.layers}|{run.conditions}|split:test"
    for search, decoding in SEARCHES.items():

        def work(decoding: Decoding = decoding) -> None:
            for _ in generate(run, chosen, decoding, batch=sizes.decoding_batch):
                pass

        conditions = f"{how}|contexts:{len(chosen)}|decoder:{decoding}"
        yield clock.figure(f"{run.name}/{search}_answers", work, len(chosen), conditions, blocks.layers)


def table(figures: Sequence[Figure]) -> Table:
    published = board.read_published(ROOT)
    made = Table("figure", caption=f"{UNIT}, per training step or decoded sample", caption_justify="left")
    for column in ("ratio", "target", "released", "ms"):
        made.add_column(column, justify="right", no_wrap=True)
    made.add_column("conditions", overflow="fold", style="dim")
    for figure in figures:
        released = board.published_for(figure.name, published)
        style = "" if figure.target is None else "green" if figure.ratio <= figure.target else "red"
        made.add_row(
            Text(figure.name),
            Text(f"{figure.ratio:.4f}", style=style),
            "" if figure.target is None else f"≤ {figure.target:g}",
            ", ".join(f"{p.value:g}" for p in released),
            f"{figure.milliseconds:.1f}",
            Text(figure.signature),
        )
    return made


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=9, help="pairs of matmuls and work behind each median")
    parser.add_argument("--model", action="append", choices=models.names(), help="only this system (may be repeated)")
    parser.add_argument("--run", action="append", default=[], metavar="NAME", help="a trained run, as it answers")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that this script works")
    parser.add_argument("--record", action="store_true", help="put the ratios on the board, topic speed")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    given = parser.parse_args(argv)
    if given.quick and given.record:
        parser.error("--quick measures nothing worth recording")
    if given.threads < 1 or given.repeats < 1:
        parser.error("--threads and --repeats must be at least 1")
    console = Console(stderr=True)
    if os.getloadavg()[0] > 0.5:
        console.print(f"load average {os.getloadavg()[0]:.1f}: other programs are running, the figures will suffer")
    torch.set_num_threads(given.threads)
    sizes = QUICK if given.quick else Sizes()
    machine = f"cores:{cores()}|python:{platform.python_version()}|torch:{torch.__version__}"
    clock = Clock(sizes.matmul, given.repeats, f"threads:{given.threads}|{machine}")
    figures = []
    with console.status("") as status:
        for figure in _measured(given.model or models.names(), [open_run(name) for name in given.run], sizes, clock):
            figures.append(figure)
            status.update(f"{figure.name} {figure.ratio:.4f}")
    if given.record:
        for figure in figures:
            board.record("speed", figure.name, figure.ratio, UNIT, figure.signature, folder=ROOT)
    if given.json:
        print(json.dumps([asdict(figure) | {"target": figure.target} for figure in figures], indent=2))
    else:
        out = Console()
        (out if out.is_terminal else Console(width=160)).print(table(figures))


def _measured(names: Sequence[str], runs: Sequence[Run], sizes: Sizes, clock: Clock) -> Iterator[Figure]:
    for name in names:
        yield from training_figures(name, sizes, clock)
        yield from decoding_figures(name, sizes, clock)
    for run in runs:
        yield from answering_figures(run, sizes, clock)


if __name__ == "__main__":
    main()
