"""The model card that ships beside the weights, from the files themselves: nothing in it is typed twice.

`classes.json`, where it is there, holds the test figures of every class; benchmarks/perception.py writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...core.files import atomic, read_json
from ...corpora import corpus

CLASSES = "classes.json"

#: encoder → what it answers, and the corpora it learned from
ENCODERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "feeling": (
        "the speaker's emotion (32) and polarity, and what a listener will do next",
        ("empathetic-dialogues", "ed-intents", "empathy-mental-health"),
    ),
    "utterance": ("which of 41 emotions and intents one utterance carries", ("empathetic-intents", "ed-intents")),
    "mechanisms": ("which communication mechanisms a reply shows, at three levels", ("empathy-mental-health",)),
    "cause": ("which turns and words cause the last turn's emotion", ("reccon",)),
}

HEAD = """\
# perception

Four encoders that read conversations, for `empathia perceive`, `empathia enrich` and everything that leans on them.
Each is a fine-tuned copy of the six layers of all-MiniLM-L6-v2 (Apache 2.0), int8 for onnxruntime; the word vectors
stay the pretrained ones and are shared (`words.safetensors`, int8). Made by `empathia train recipes/perception/…` and
`python -m empathia.perception.training.finish`; measured by `benchmarks/perception.py`.
"""

LIMITS = """\
## Limits

- English only. Other scripts give an answer, not a meaningful one.
- The 32 emotions overlap (afraid and terrified, angry and furious), and each conversation carries one label, given by
  the person who told it: a miss among neighbours is often no mistake. Read the probabilities, not the first name only.
- Emotions come from short, crowd-sourced everyday conversations; mechanisms from responses to posts on Reddit; causes
  from textbook-like daily dialogues. Away from these, expect less.
- A turn is read up to 48 word pieces (mechanisms: 96, causes: 64); a long conversation keeps its first and last turns.
- The labels of replies to come were another classifier's, not a person's. What is foreseen is what crowd workers
  usually did, which is not what is best.
- Not a diagnosis and not a safety device: the crisis guard (docs/guard.md) is a separate thing, and stands first.

## Licence

The weights may be used as their corpora allow: for research, not commercially.
"""


def write_card(folder: Path) -> None:
    parts = [HEAD, _encoders(folder)]
    if (folder / "calibration.json").exists():
        values = read_json(folder / "calibration.json")
        parts.append(
            "## Calibration\n\nFitted on validation data: temperatures that divide a head's logits, and thresholds.\n\n"
            + table(("", "value"), ((f"`{name}`", f"{value:.3f}") for name, value in values.items()))
        )
    if (folder / CLASSES).exists():
        parts += [_classes(name, rows) for name, rows in read_json(folder / CLASSES).items()]
    with atomic(folder / "card.md") as out:
        out.write("\n".join([*parts, LIMITS]))


def _encoders(folder: Path) -> str:
    rows = []
    for name, (what, corpora) in ENCODERS.items():
        path = folder / f"{name}.onnx"
        size = f"{path.stat().st_size / 1e6:.1f} MB" if path.exists() else "not here"
        cards = [corpus(c) for c in corpora]
        rows.append((f"`{name}`", what, "; ".join(f"{c.title} ({c.licence})" for c in cards), size))
    return "## Encoders\n\n" + table(("encoder", "says", "learned from (licence)", "size"), rows)


def _classes(name: str, classes: Mapping[str, Mapping[str, Any]]) -> str:
    rows = (
        (label, *(f"{100 * row[key]:.1f}" for key in ("precision", "recall", "f1")), f"{row['n']:,}")
        for label, row in classes.items()
    )
    return f"## Test: {name}\n\n" + table(("class", "precision %", "recall %", "F1 %", "gold"), rows)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
