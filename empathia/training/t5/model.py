"""A T5 of `transformers` behind the contract of all systems, so that one loop, one set of searches and one set of
measures serve it too. Its shape and weights are those of the folder it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DynamicCache, EncoderDecoderCache

from ...core.errors import BadFile
from ...core.files import existing, read_json
from ...models.base import System, shifted
from ...nn.cache import Memory
from ...nn.losses import Loss
from ...text.batches import Inputs, Targets
from .pieces import PAD, Pieces

_MISSING = "'t5' names a folder that transformers saved; give yours with: --set t5=path/to/t5-small"
_WHOLE = "a T5's folder holds config.json, its tokenizer and model.safetensors, as transformers saves them"


def load(folder: Path) -> tuple[Pieces, T5]:
    """The tokenizer and the model of a folder; anything but a whole T5 is refused."""
    config = read_json(existing(folder / "config.json", _MISSING))
    if not isinstance(config, dict) or not config.get("is_encoder_decoder"):
        raise BadFile(folder, "this is no T5: not an encoder–decoder", hint=_WHOLE)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model, told = AutoModelForSeq2SeqLM.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
        )
    except Exception as error:  # transformers, tokenizers and safetensors share no narrower one
        said = str(error).strip().partition("\n")[0]
        raise BadFile(folder, f"transformers cannot load it: {said}", hint=_WHOLE) from error
    if tokenizer.pad_token_id != PAD:
        raise BadFile(folder, f"this is no T5: its padding is not piece {PAD}", hint=_WHOLE)
    pieces = Pieces(tokenizer)
    if pieces.unk in pieces.encode("a"):  # without its file transformers makes an empty one
        raise BadFile(folder, "its tokenizer knows no letters", hint=_WHOLE)
    if told["missing_keys"]:
        raise BadFile(folder, f"its weights lack '{min(told['missing_keys'])}'", hint=_WHOLE)
    return pieces, T5(model)


class Past:
    """The cache of `transformers`, as the searches ask for it."""

    def __init__(self) -> None:
        self.kept: Any = EncoderDecoderCache(DynamicCache(), DynamicCache())

    @property
    def length(self) -> int:
        return self.kept.get_seq_length()

    def select(self, rows: Tensor) -> None:
        self.kept.reorder_cache(rows)


class T5(System):
    def __init__(self, t5: Any) -> None:
        super().__init__()
        self.t5, self.config = t5, t5.config

    @property
    def width(self) -> int:
        return int(self.config.hidden_size)

    def encode(self, inputs: Inputs) -> Memory:
        mask_BS = inputs.mask_BS
        return Memory(self.t5.get_encoder()(inputs.words_BS, mask_BS).last_hidden_state, mask_BS)

    def step(self, memory: Memory, prefix_BT: Tensor, cache: Past | None = None) -> Tensor:
        return self.t5(
            encoder_outputs=(memory.states_BSD,),
            attention_mask=memory.mask_BS,
            decoder_input_ids=prefix_BT,
            past_key_values=cache.kept if cache is not None else None,
            use_cache=cache is not None,
        ).logits

    def forced(self, memory: Memory, gold: Targets) -> Iterator[Tensor]:
        yield self.step(memory, shifted(gold.reply_BT, PAD))[gold.reply_BT != PAD]

    def start_cache(self) -> Past:
        return Past()

    def losses(self, inputs: Inputs, gold: Targets, step: int = 0) -> dict[str, Loss]:
        (logits_NV,) = self.forced(self.encode(inputs), gold)
        gold_N = gold.reply_BT[gold.reply_BT != PAD]
        return {"reply": Loss(F.cross_entropy(logits_NV, gold_N, reduction="sum"), "token")}

    def state_dict(self, *args: Any, **given: Any) -> dict[str, Any]:  # type: ignore[override]
        """Under the names of `transformers`, so that a run's weights are a file that it reads."""
        return self.t5.state_dict(*args, **given)

    def load_state_dict(self, tensors: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        return self.t5.load_state_dict(tensors, strict, assign)
