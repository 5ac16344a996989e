"""A LoRA adapter merged into a GGUF model, once, without torch.

An adapter holds two thin matrices A and B for some linear maps of the model; the tuned map is W + s·B·A with
s = α/r, or α/√r for rank-stabilised adapters. Here each W that the adapter touches is read out of its quantised form,
added to in float32 and written anew, 8 bits a weight; everything else, tokenizer and chat template included, is copied
byte by byte. llama.cpp keeps the rows of queries and keys in another order than the adapter was trained with, so B's
rows are put into that order first.

The merged file stands in the cache under a name that holds a hash of base, adapter and this code's version. It is
renamed into place last; one process merges at a time, and what a killed one left behind is cleared by the next.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core import places
from ..core.errors import BadFile, BadInput, EmpathiaError
from ..core.files import existing, read_json
from ..core.locks import locked

if TYPE_CHECKING:
    from gguf import GGUFReader, ReaderTensor

Array = NDArray[np.float32]
Kind = Literal["q8_0", "f16"]

#: Counted up when the same base and adapter would give other bytes.
VERSION = 1
CONFIG, MATRICES = "adapter_config.json", "adapter_model.safetensors"

_SCRATCH = ".merging-"
_KEY = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.(?:self_attn|mlp)\.(\w+)_proj\.lora_(A|B)\.weight")
_NAMES = {
    "q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "gate": "ffn_gate", "up": "ffn_up",
    "down": "ffn_down",
}  # fmt: skip
#: Settings of an adapter that change more than W + s·B·A.
_REFUSED = ("use_dora", "modules_to_save", "fan_in_fan_out", "alpha_pattern", "rank_pattern", "trainable_token_indices")


@dataclass(frozen=True, slots=True)
class Change:
    """What is added to one linear map: `scale`·`b`·`a`, rows in the order of training."""

    a: Array  # (rank, in)
    b: Array  # (out, rank)
    scale: float


def merged(base: Path, adapter: Path, kind: Kind = "q8_0", announce: Callable[[str], None] | None = None) -> Path:
    """The GGUF of `base` with the peft folder `adapter` in it, from the cache; merged on first use.

    Older merges of an adapter folder of this name are removed.
    """
    if kind not in ("q8_0", "f16"):
        raise BadInput(f"cannot merge into '{kind}'", "choose q8_0 or f16")
    folder, name = places.cache() / "companion", adapter.resolve().name
    path = folder / f"{name}-{_fingerprint(base, adapter, kind)}.gguf"
    if path.exists():
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            if not path.exists():  # else another process has merged it meanwhile
                for left_behind in folder.glob(f"{_SCRATCH}*"):
                    shutil.rmtree(left_behind, ignore_errors=True)
                if announce is not None:
                    announce(f"merging the adapter '{name}' into {base.name} (once, some seconds)")
                _merge(base, read_adapter(adapter), kind, path)
            for old in folder.glob(f"{name}-*.gguf"):
                if old != path and re.fullmatch(r"[0-9a-f]{16}", old.stem.removeprefix(f"{name}-")):
                    old.unlink()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise EmpathiaError(
                f"no space left for the merged model in {folder}", "free 150 MB or choose another EMPATHIA_HOME"
            ) from error
        raise EmpathiaError(
            f"cannot write {folder}: {error.strerror or error}", "choose another EMPATHIA_HOME"
        ) from error
    return path


def read_adapter(folder: Path) -> dict[str, Change]:
    """Name of a tensor in GGUF → what the adapter adds to it."""
    config = read_json(existing(folder / CONFIG, "an adapter is a folder that peft saved"))
    if not isinstance(config, dict) or not isinstance(config.get("lora_alpha"), int | float):
        raise BadFile(folder / CONFIG, "this is not the configuration of a LoRA adapter")
    refused = [key for key in _REFUSED if config.get(key)] + (["bias"] if config.get("bias", "none") != "none" else [])
    if refused:
        raise BadFile(
            folder / CONFIG, f"cannot merge an adapter with '{refused[0]}'", hint="train a plain LoRA adapter"
        )
    thin: dict[str, dict[str, Array]] = {}
    for key, matrix in _matrices(folder / MATRICES):
        found = _KEY.fullmatch(key)
        if found is None or found[2] not in _NAMES:
            raise BadFile(folder / MATRICES, f"cannot merge '{key}'", hint="train a LoRA adapter of linear layers only")
        thin.setdefault(f"blk.{found[1]}.{_NAMES[found[2]]}.weight", {})[found[3]] = matrix
    changes = {}
    for name, pair in thin.items():
        if pair.keys() != {"A", "B"} or pair["A"].ndim != 2 or pair["A"].shape[:1] != pair["B"].shape[1:]:
            raise BadFile(folder / MATRICES, f"the two matrices of {name} do not fit")
        rank = len(pair["A"])
        divisor = math.sqrt(rank) if config.get("use_rslora") else rank
        changes[name] = Change(pair["A"], pair["B"], config["lora_alpha"] / divisor)
    if not changes:
        raise BadFile(folder / MATRICES, "the adapter is empty")
    return changes


def _matrices(path: Path) -> Iterator[tuple[str, Array]]:
    """The tensors of a safetensors file in float32; numpy itself knows no bfloat16."""
    from safetensors import SafetensorError, deserialize

    try:
        tensors = deserialize(existing(path).read_bytes())  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise BadFile(path, "not a whole safetensors file") from error
    for key, tensor in tensors:
        data, shape = tensor["data"], tensor["shape"]
        if tensor["dtype"] == "BF16":
            matrix = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
        elif tensor["dtype"] in ("F32", "F16"):
            matrix = np.frombuffer(data, "<f4" if tensor["dtype"] == "F32" else "<f2").astype("<f4")
        else:
            raise BadFile(path, f"'{key}' is of type {tensor['dtype']}", hint="save the adapter as float32 or bfloat16")
        yield key, matrix.reshape(shape)


def _fingerprint(base: Path, adapter: Path, kind: Kind) -> str:
    told = hashlib.sha256(f"{VERSION} {kind}".encode())
    for path in (base, adapter / CONFIG, adapter / MATRICES):
        with existing(path).open("rb") as file:
            told.update(hashlib.file_digest(file, "sha256").digest())
    return told.hexdigest()[:16]


def _merge(base: Path, changes: Mapping[str, Change], kind: Kind, path: Path) -> None:
    reader = read_gguf(base)
    _check_fit(base, reader, changes)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=_SCRATCH) as scratch:
        part = Path(scratch) / path.name
        _write(reader, changes, kind, part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)


def read_gguf(path: Path) -> GGUFReader:
    """A GGUF file, mapped rather than read."""
    from gguf import GGUFReader

    try:
        return GGUFReader(existing(path))
    except (ValueError, KeyError, IndexError) as error:
        raise BadFile(
            path, "not a whole GGUF file", hint="delete it if empathia fetched it; it is fetched again"
        ) from error


def _check_fit(base: Path, reader: GGUFReader, changes: Mapping[str, Change]) -> None:
    architecture = _value(reader, "general.architecture")
    if architecture != "llama":
        raise BadFile(
            base, f"cannot merge into architecture '{architecture}'", hint="the base must be of the llama kind"
        )
    shapes = {tensor.name: tuple(map(int, reversed(tensor.shape))) for tensor in reader.tensors}
    for name, change in changes.items():
        wanted = (len(change.b), change.a.shape[1])
        if shapes.get(name) != wanted:
            raise BadFile(
                base,
                f"the adapter was made for another base: {name} is {shapes.get(name, 'not there')}, not {wanted}",
                hint="use the base the adapter was trained on",
            )


def _write(reader: GGUFReader, changes: Mapping[str, Change], kind: Kind, path: Path) -> None:
    """Head, then tensor after tensor, so that only one of them is in memory."""
    from gguf import GGMLQuantizationType, GGUFValueType, GGUFWriter, LlamaFileType, quant_shape_to_byte_shape, quants

    target = GGMLQuantizationType.Q8_0 if kind == "q8_0" else GGMLQuantizationType.F16
    file_type = LlamaFileType.MOSTLY_Q8_0 if kind == "q8_0" else LlamaFileType.MOSTLY_F16
    writer = GGUFWriter(path, "llama")
    try:
        for field in reader.fields.values():
            if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
                continue
            sub_type = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=sub_type)
        writer.add_file_type(file_type)
        writer.add_string("empathia.adapter", path.stem)
        for tensor in reader.tensors:
            if tensor.name in changes:
                shape = tuple(map(int, reversed(tensor.shape)))
                stored = quant_shape_to_byte_shape(shape, target) if kind == "q8_0" else shape
                dtype = np.dtype(np.uint8 if kind == "q8_0" else np.float16)
                writer.add_tensor_info(tensor.name, stored, dtype, math.prod(stored) * dtype.itemsize, target)
            else:
                data = tensor.data
                writer.add_tensor_info(tensor.name, data.shape, data.dtype, data.nbytes, tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for tensor in reader.tensors:
            change = changes.get(tensor.name)
            new = tensor.data if change is None else quants.quantize(_tuned(reader, tensor, change), target)
            writer.write_tensor_data(new)
    finally:
        writer.close()


def _tuned(reader: GGUFReader, tensor: ReaderTensor, change: Change) -> Array:
    """W + s·B·A in float32, rows as llama.cpp keeps them."""
    from gguf import quants

    b = change.b
    if tensor.name.endswith("attn_q.weight"):
        b = _as_llama_keeps(b, _value(reader, "llama.attention.head_count"))
    elif tensor.name.endswith("attn_k.weight"):
        b = _as_llama_keeps(b, _value(reader, "llama.attention.head_count_kv"))
    whole: Array = quants.dequantize(tensor.data, tensor.tensor_type)
    whole += np.float32(change.scale) * (b @ change.a)
    return whole


def _as_llama_keeps(rows: Array, heads: int) -> Array:
    """Each head's rows, first half and second half (as rotary positions pair them in training), interleaved."""
    out, width = rows.shape
    return rows.reshape(heads, 2, out // heads // 2, width).swapaxes(1, 2).reshape(out, width)


def _value(reader: GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    return None if field is None else field.contents()
