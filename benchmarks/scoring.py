"""How fast scoring is: 5,255 replies without an encoder, and 10,000 short sentences through MiniLM.

    python benchmarks/scoring.py [--record]

Texts are made of random words, 15 tokens on average as in EmpatheticDialogues, so no corpus is needed.
Processor seconds say what the work costs; wall seconds also depend on what else the machine is doing.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable

from empathia.core.machine import cores
from empathia.core.replies import SystemReply
from empathia.core.types import Context
from empathia.evaluation import board
from empathia.evaluation.scorer import score_replies
from empathia.text.sentence_encoder import load

WORDS = """
i you we they it that this my your am is was are so very really sorry happy glad sad proud hope hear sounds great
feel think know what how why when did do have had been job dog exam friend family work school car trip mother day
night week new old good bad to for with about of on in at and but because
"""


def sentences(count: int, seed: int = 0) -> list[str]:
    draw, words = random.Random(seed), WORDS.split()
    return [" ".join(draw.choices(words, k=draw.randint(5, 23))) + draw.choice(".!?") for _ in range(count)]


def timed(work: Callable[[], object]) -> dict[str, float]:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="put the figures on the board, topic speed")
    record = parser.parse_args().record
    replies, gold = sentences(5255), sentences(5255, seed=1)
    rows = [SystemReply(str(i), "toy", Context.of("hello"), reply, gold[i]) for i, reply in enumerate(replies)]
    encoder, texts = load(print), sentences(10_000, seed=2)
    figures = {
        "scoring/replies": (timed(lambda: score_replies(rows)), "n:5255|bootstrap:1000|embeddings:no"),
        "scoring/sentence_encoder": (timed(lambda: encoder(texts)), f"n:10000|encoder:{encoder.signature}"),
    }
    for name, (seconds, conditions) in figures.items():
        for clock, value in seconds.items():
            load_average = f"{os.getloadavg()[0]:.1f}"
            print(f"{name:26} {clock:10} {value:7.2f} s   (load {load_average})")
            if record:
                board.record("speed", f"{name}_{clock}", value, "s", f"{conditions}|cores:{cores()}")


if __name__ == "__main__":
    main()
