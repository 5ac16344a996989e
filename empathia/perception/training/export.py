"""A trained encoder as it ships: six layers as an int8 ONNX graph, everything small beside it, one table of words.

Matrix products with constant weights become int8, one scale per output column. Weights keep seven bits
(`reduce_range`): processors without VNNI add pairs of products in 16 bits, and eight would overflow there.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import save as serialised
from torch import Tensor

from ...core.files import atomic
from ..words import WORDS, quantised_rows
from .fit import Network
from .network import WIDTH, Encoder


def export_encoder(network: Network, folder: Path, name: str) -> None:
    """`NAME.onnx` and `NAME.safetensors` (positions, speakers and heads, float16) in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / f"{name}.onnx", "wb") as file:
        file.write(quantised(graph(network.encoder)))
    small = {n: v for n, v in network.own().items() if not n.startswith("encoder.layers.")}
    with atomic(folder / f"{name}.safetensors", "wb") as file:
        file.write(serialised({n: v.numpy().astype(np.float16) for n, v in small.items()}))


def export_words(encoder: Encoder, folder: Path) -> None:
    """The pretrained word vectors, int8 with one scale per word, for all encoders together."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / WORDS, "wb") as file:
        file.write(serialised(quantised_rows(encoder.words.weight.detach().numpy())))


def graph(encoder: Encoder) -> bytes:
    """The layers in float32 as ONNX: embedded pieces and mask in, states out."""
    layers = encoder.layers.eval()
    example: tuple[Tensor, Tensor] = torch.randn(2, 7, WIDTH), torch.zeros(2, 1, 1, 7)
    with tempfile.NamedTemporaryFile(suffix=".onnx") as out, warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            layers,
            example,
            out.name,
            input_names=["embedded", "mask"],
            output_names=["states"],
            dynamic_axes={"embedded": {0: "B", 1: "T"}, "mask": {0: "B", 3: "T"}, "states": {0: "B", 1: "T"}},
            opset_version=17,
            dynamo=False,
        )
        return Path(out.name).read_bytes()


def quantised(model: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        whole, small = Path(scratch) / "whole.onnx", Path(scratch) / "small.onnx"
        whole.write_bytes(model)
        quantize_dynamic(
            whole,
            small,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
        return small.read_bytes()
