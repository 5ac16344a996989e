"""How fast the default engine reads and writes, idle and with one core busy, beside llama.cpp as it comes.

    python benchmarks/engines.py [--record] [--rounds 3] [--tokens 40]

Every setting runs in a process of its own, because OpenMP reads its settings once. `plain` is the same library and
model with llama.cpp's own defaults (flash attention, one cache for all, OpenMP's long spin). `idle` means that nothing
else was started here: the page that quotes these figures must say what else ran. Figures are medians; the prompt is
read anew in each round, and the candidates that follow share it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from empathia.companion import weights
from empathia.companion.engines.contract import Sampling
from empathia.companion.engines.llama import Llama
from empathia.core.machine import cores
from empathia.evaluation import board
from empathia.evaluation.board import Figure

CANDIDATES = (1, 4, 8)
STORY = (
    "I moved to a new town for work last month and I still eat lunch alone. Yesterday somebody from the next office "
    "asked where I come from, and I talked for so long that I was late for my meeting. I did not know how much I had "
    "missed that. Now I wonder whether I should ask them to come along on Friday, or whether that is too soon. "
)


def prompt_of(round_: int) -> str:
    """About 300 tokens; another beginning each time, so that nothing of it is in a cache."""
    return f"<|im_start|>user\nStory {round_}. {STORY * 4}<|im_end|>\n<|im_start|>assistant\n"


def ours() -> Callable[[str, int, Sampling], int]:
    engine = Llama(weights.default().path)
    return lambda prompt, n, sampling: sum(one.tokens for one in engine.candidates(prompt, n, sampling))


def plain() -> Callable[[str, int, Sampling], int]:
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path, given.n_ctx, given.n_parallel, given.kv_unified = str(weights.default().path), 8192, 8, True
    given.verbosity, given.fit_params = -1, False
    server = xllamacpp.Server(given)

    def draw(prompt: str, n: int, sampling: Sampling) -> int:
        keep = {"temperature": sampling.temperature, "top_k": 0, "top_p": sampling.top_p, "min_p": 0, "stream": True}
        body = {"prompt": prompt, "n": n, "max_tokens": sampling.max_tokens, "seed": sampling.seed, **keep}
        pieces = []
        server.handle_completions(body, lambda event: pieces.append(event) or False)
        return sum(event["choices"][0]["finish_reason"] is None for event in pieces)

    return draw


def measure(draw: Callable[[str, int, Sampling], int], rounds: int, tokens: int) -> dict[str, float]:
    """Seconds to read the prompt and draw one token; tokens a second of N candidates on a prompt already read."""
    draw("Hello", 1, Sampling(max_tokens=1))
    found: dict[str, list[float]] = {}
    for round_ in range(rounds):
        started = time.perf_counter()
        draw(prompt_of(round_), 1, Sampling(max_tokens=1))
        found.setdefault("prompt", []).append(time.perf_counter() - started)
        for n in CANDIDATES:
            started = time.perf_counter()
            made = draw(prompt_of(round_), n, Sampling(max_tokens=tokens, seed=round_))
            spent = time.perf_counter() - started
            found.setdefault(f"write_{n}", []).append(made / spent)
            found.setdefault(f"seconds_{n}", []).append(spent)
    return {name: statistics.median(values) for name, values in found.items()}


@contextmanager
def one_core_busy() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--record", action="store_true", help="put the figures on the board")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=40, help="the longest a candidate may get")
    parser.add_argument("--only", choices=["ours", "plain"], help="measure one setting in this process, print JSON")
    options = parser.parse_args(argv)
    if options.only:
        print(json.dumps(measure({"ours": ours, "plain": plain}[options.only](), options.rounds, options.tokens)))
        return
    model = weights.default().path
    figures: list[tuple[str, float, str, str]] = []
    for busy, condition in ((False, "idle"), (True, "busy")):
        found = {}
        for setting in ("ours", "plain"):
            command = [sys.executable, __file__, "--only", setting, "--rounds", str(options.rounds)]
            with one_core_busy() if busy else nullcontext():
                done = subprocess.run(
                    [*command, "--tokens", str(options.tokens)], check=True, capture_output=True, text=True
                )
            found[setting] = json.loads(done.stdout)
        told = f"model:{model.stem}|cores:{cores()}|tokens:{options.tokens}|rounds:{options.rounds}|{condition}"
        for setting, values in found.items():
            figures.append((f"engine-{setting}/prompt_{condition}", values["prompt"], "s", told))
            for n in CANDIDATES:
                figures.append((f"engine-{setting}/write_{n}_{condition}", values[f"write_{n}"], "tokens/s", told))
        for n in CANDIDATES:
            ratio = (found["ours"]["prompt"] + found["ours"][f"seconds_{n}"]) / (
                found["plain"]["prompt"] + found["plain"][f"seconds_{n}"]
            )
            figures.append((f"engine-ours/reply_{n}_{condition}", ratio, "× plain llama.cpp", told))
    for name, value, unit, signature in figures:
        print(f"{name:32} {value:8.2f} {unit:18} {signature}")
    if options.record:
        command_line, commit = board.running_command(), board.commit_of()
        rows = [Figure(name, value, unit, told, command_line, commit) for name, value, unit, told in figures]
        print(f"recorded in {board.record_all('engines', rows)}")


if __name__ == "__main__":
    main()
