"""Tuples that we wrote ourselves, and an encoder that needs no weights: texts that share words lie near each other."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

ATOMIC = """\
head	relation	tail	split
personx loses personx's job	xReact	sad	train
personx loses personx's job	xReact	Worried.	train
personx loses personx's job	xWant	to find a new job	train
personx loses personx's job	xWant	find new jobs	train
personx loses personx's job	xWant	to rest for a while	train
personx loses personx's job	xEffect	none	train
personx loses personx's keys	xReact	sad	train
personx loses personx's keys	xWant	to look under the bed	train
personx loses personx's wallet	xReact	annoyed	train
personx passes personx's exam	xReact	proud	train
personx passes personx's exam	xAttr	hard-working	train
personx does not pass personx's exam	xReact	downcast	train
personx can not pass personx's exam	xReact	stuck	heldout
personx bakes a cake	xNeed	buy flour	train
personx bakes a cake	oReact	hungry	train
personx loses personx's job	xReact	ashamed	heldout
personx quits personx's job	xReact	free	heldout
personx quits personx's job	xWant	to travel	heldout
"""

CONCEPTNET = {
    "train": "CapableOf\tdog\tbark\nCapableOf\tdog\tdig holes\nHasProperty\tguard dog\tloud\nCauses\tlose job\tstress\n"
    "MotivatedByGoal\tbake cake\tyou like sweets\nIsA\tdog\tanimal\nDesires\tdog\twalk\n",
    "valid": "CapableOf\tcat\tpurr\n",
    "test": "HasProperty\tdog\tloyal\n",
}


def put_atomic(data: Path) -> None:
    (data / "atomic").mkdir(parents=True)
    (data / "atomic" / "atomic.tsv").write_text(ATOMIC)


class WordEncoder:
    signature = "words"
    calls = 0

    def __call__(self, texts):
        WordEncoder.calls += 1
        rows = np.zeros((len(texts), 256), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.split():
                row[int(hashlib.md5(word.encode()).hexdigest(), 16) % 256] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
