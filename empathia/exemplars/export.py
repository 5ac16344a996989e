"""The trained tower as a folder that runs without torch.

`exemplars.onnx` (the layers in int8), `exemplars.safetensors` (positions, who speaks, the map to answers) and
`card.json` are what ships. Beside them, so that the folder runs by itself, the word vectors and the tokenizer that all
encoders share; in `weights/` those stand with perception's.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as serialised

from ..core.files import atomic, read_json, write_json
from ..perception.training.export import export_words, graph, quantised
from .encoder import CARD, NAME, TOKENIZER, Weights
from .tower import Tower

LICENCE = "CC BY-NC 4.0, as the corpus the weights were trained on"


def export(tower: Tower, tokenizer: Path, folder: Path, facts: dict[str, Any]) -> None:
    """Write the folder. The card goes first and comes last: it is there only when everything is."""
    (folder / CARD).unlink(missing_ok=True)
    layers = quantised(graph(tower.eval().encoder))
    small = {n: v.numpy().astype(np.float16) for n, v in tower.own().items() if not n.startswith("encoder.layers.")}
    beside = serialised(small)
    for name, content in ((f"{NAME}.onnx", layers), (f"{NAME}.safetensors", beside)):
        with atomic(folder / name, "wb") as out:
            out.write(content)
    export_words(tower.encoder, folder)
    shutil.copyfile(tokenizer, folder / TOKENIZER)
    signature = f"{NAME}-{hashlib.sha256(layers + beside).hexdigest()[:12]}"
    write_json(folder / CARD, {"signature": signature, "licence": LICENCE, "weights": asdict(Weights()), **facts})


def set_weights(folder: Path, weights: Weights) -> None:
    """Put tuned weights on the card; vectors and signature stay."""
    write_json(folder / CARD, read_json(folder / CARD) | {"weights": asdict(weights)})
