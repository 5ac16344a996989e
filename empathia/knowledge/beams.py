"""COMETs through transformers and torch (extra `train`): beam search, for measuring and for the published weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import BadFile, EmpathiaError
from ..core.files import existing, read_json
from .comet import LONGEST, Comet, Draw, Drawn, ask_ours, ask_published

#: Prompts that are searched together.
_BATCH = 16


def published(folder: Path) -> Comet:
    """COMET-BART, or another encoder–decoder trained as it was, from a folder of transformers."""
    _need()
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    config = read_json(existing(folder / "config.json", "name the folder that holds COMET's config.json"))
    if not config.get("is_encoder_decoder"):
        raise BadFile(folder, "this is no COMET-BART: not an encoder–decoder", hint="name COMET-BART's own folder")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        raise BadFile(folder, f"transformers cannot load it: {str(error).splitlines()[0]}") from error
    return Comet("comet-published", f"comet-published|{folder.name}|beams", ask_published, beams(model, tokenizer))


def own(adapter: Path, base: Path) -> Comet:
    """Our own COMET: the peft folder `adapter` on the GGUF file or folder `base`."""
    _need()
    from peft import PeftModel

    from ..training.lora import load_base

    existing(adapter / "adapter_config.json", "train it: empathia train recipes/knowledge/comet.toml")
    tokenizer, model = load_base(base)
    tuned = PeftModel.from_pretrained(model, str(adapter))
    return Comet("comet", f"comet|{adapter.name}|beams", ask_ours, beams(tuned, tokenizer, stop="\n"))


def beams(model: Any, tokenizer: Any, stop: str | None = None) -> Draw:
    """Beam search; a continuation ends at `stop` (one token), else where the model ends it."""
    model.eval()
    both = bool(model.config.is_encoder_decoder)
    tokenizer.padding_side = "right" if both else "left"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    end = tokenizer.encode(stop, add_special_tokens=False)[-1] if stop else model.config.eos_token_id

    def draw(prompts: Sequence[str], most: int) -> list[list[Drawn]]:
        found: list[list[Drawn]] = []
        for start in range(0, len(prompts), _BATCH):
            found += _search(list(prompts[start : start + _BATCH]), most)
        return found

    def _search(prompts: list[str], most: int) -> list[list[Drawn]]:
        import torch

        given = tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=both)
        with torch.inference_mode():
            made = model.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                num_beams=most,
                num_return_sequences=most,
                max_new_tokens=LONGEST,
                do_sample=False,
                eos_token_id=end,
                pad_token_id=tokenizer.pad_token_id,
                return_dict_in_generate=True,
                output_scores=True,
            )
        skipped = 0 if both else given["input_ids"].shape[1]
        texts = tokenizer.batch_decode(made.sequences[:, skipped:], skip_special_tokens=True)
        drawn = [Drawn(t, math.exp(min(0.0, float(s)))) for t, s in zip(texts, made.sequences_scores, strict=True)]
        return [drawn[i : i + most] for i in range(0, len(drawn), most)]

    return draw


def _need() -> None:
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise EmpathiaError("this COMET needs torch and transformers", "pip install 'empathia[train]'") from error
