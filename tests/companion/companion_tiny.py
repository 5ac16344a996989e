"""A llama so small that it can be made, tuned and merged in a moment."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants
from safetensors.numpy import save_file

LAYERS, WIDTH, HEADS, PAIRS, HIDDEN, WORDS = 2, 64, 4, 2, 96, 61
SHAPES = {
    "self_attn.q": (WIDTH, WIDTH),
    "self_attn.k": (WIDTH // HEADS * PAIRS, WIDTH),
    "self_attn.v": (WIDTH // HEADS * PAIRS, WIDTH),
    "self_attn.o": (WIDTH, WIDTH),
    "mlp.gate": (HIDDEN, WIDTH),
    "mlp.up": (HIDDEN, WIDTH),
    "mlp.down": (WIDTH, HIDDEN),
}
IN_GGUF = {
    "self_attn.q": "attn_q", "self_attn.k": "attn_k", "self_attn.v": "attn_v", "self_attn.o": "attn_output",
    "mlp.gate": "ffn_gate", "mlp.up": "ffn_up", "mlp.down": "ffn_down",
}  # fmt: skip


def tiny_gguf(path: Path, architecture: str = "llama") -> Path:
    """Random weights, linear maps in Q4_1 as in the packaged base, everything else in float32."""
    draw = np.random.default_rng(7)
    writer = GGUFWriter(path, architecture)
    writer.add_name("Tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(PAIRS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(WORDS)
    writer.add_file_type(3)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"word{i}é" for i in range(WORDS)])
    writer.add_token_types([1] * WORDS)
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}\n{% endfor %}")
    writer.add_tensor("token_embd.weight", draw.normal(0, 1, (WORDS, WIDTH)).astype(np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        for name, shape in SHAPES.items():
            packed = quants.quantize(draw.normal(0, 0.2, shape).astype(np.float32), GGMLQuantizationType.Q4_1)
            writer.add_tensor(f"blk.{layer}.{IN_GGUF[name]}.weight", packed, raw_dtype=GGMLQuantizationType.Q4_1)
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def plain_adapter(folder: Path, seed: int = 0, layers: int = LAYERS, **config: object) -> Path:
    """A LoRA adapter in peft's layout, without peft."""
    draw = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for layer in range(layers):
        for name, (out, into) in SHAPES.items():
            key = f"base_model.model.model.layers.{layer}.{name}_proj.lora"
            tensors[f"{key}_A.weight"] = draw.normal(0, 0.1, (4, into)).astype(np.float32)
            tensors[f"{key}_B.weight"] = draw.normal(0, 0.1, (out, 4)).astype(np.float32)
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 4, "lora_alpha": 8, **config}))
    return folder
