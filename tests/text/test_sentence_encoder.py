from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

from empathia.core.errors import BadFile, DownloadFailed
from empathia.text import sentence_encoder
from empathia.text.sentence_encoder import SentenceEncoder, gelu, read_safetensors

TEXTS = [
    "My dog died this morning.",
    "I lost my puppy today and I am heartbroken.",
    "The express to the coast leaves at noon.",
    "I finally passed my driving test!",
    "Passed the driving exam at last!",
    "",
    "word " * 400,
]


@pytest.fixture(scope="session")
def encoder() -> SentenceEncoder:
    """The real encoder; without cached weights and without a registry these tests say so and are left out."""
    try:
        return sentence_encoder.load()
    except DownloadFailed as error:
        warnings.warn(f"MiniLM NOT TESTED: {error}", stacklevel=1)
        pytest.skip(f"no MiniLM weights: {error}")


def test_paraphrases_are_closer_than_strangers(encoder: SentenceEncoder) -> None:
    vectors = encoder(TEXTS)
    assert vectors.shape == (7, 384) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(7), abs=1e-5)
    cosine = vectors @ vectors.T
    assert cosine[0, 1] > 0.6 and cosine[3, 4] > 0.8
    assert cosine[0, 2] < 0.25 and cosine[1, 3] < 0.4


def test_neighbours_and_order_change_nothing(encoder: SentenceEncoder) -> None:
    together = encoder(TEXTS)
    for i, text in enumerate(TEXTS):
        assert encoder([text])[0] == pytest.approx(together[i], abs=2e-6)
    assert encoder(TEXTS[::-1])[::-1] == pytest.approx(together, abs=2e-6)
    assert encoder([]).shape == (0, 384)


def test_upper_and_lower_case_are_one(encoder: SentenceEncoder) -> None:
    loud, quiet = encoder(["I AM SO HAPPY", "i am so happy"])
    assert loud == pytest.approx(quiet, abs=1e-6)


def test_equal_to_an_independent_computation_in_torch(encoder: SentenceEncoder) -> None:
    torch = pytest.importorskip("torch")
    from torch.nn import functional as F

    folder = sentence_encoder.cache() / "minilm"
    weights = {k: torch.tensor(np.array(v)) for k, v in read_safetensors(folder / "model.safetensors").items()}
    ids = [e.ids for e in encoder._tokenizer.encode_batch(TEXTS)]
    longest = max(map(len, ids))
    padded = torch.tensor([i + [0] * (longest - len(i)) for i in ids])
    real = torch.tensor([[1.0] * len(i) + [0.0] * (longest - len(i)) for i in ids])

    def norm(x, name):
        return F.layer_norm(x, (384,), weights[name + ".weight"], weights[name + ".bias"], 1e-12)

    def linear(x, name):
        return F.linear(x, weights[name + ".weight"], weights[name + ".bias"])

    def heads(x):
        return x.view(len(ids), longest, 12, 32).transpose(1, 2)

    e = "embeddings."
    x = weights[e + "word_embeddings.weight"][padded] + weights[e + "position_embeddings.weight"][:longest]
    x = norm(x + weights[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
    for i in range(6):
        p = f"encoder.layer.{i}."
        query, key, value = (heads(linear(x, p + f"attention.self.{n}")) for n in ("query", "key", "value"))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=real[:, None, None, :].bool())
        mixed = linear(mixed.transpose(1, 2).reshape(len(ids), longest, 384), p + "attention.output.dense")
        x = norm(x + mixed, p + "attention.output.LayerNorm")
        hidden = linear(F.gelu(linear(x, p + "intermediate.dense")), p + "output.dense")
        x = norm(x + hidden, p + "output.LayerNorm")
    mean = (x * real[..., None]).sum(1) / real.sum(1, keepdim=True)
    assert encoder(TEXTS) == pytest.approx(F.normalize(mean).numpy(), abs=1e-4)


def test_gelu_is_the_error_function_form() -> None:
    from scipy.special import erf

    x = np.concatenate([np.linspace(-40, 40, 100_001), [0.0, -1e4, 1e4]]).astype(np.float32)
    exact = x.astype(float) * 0.5 * (1 + erf(x.astype(float) / 2**0.5))
    assert np.abs(gelu(x.reshape(1, -1).copy())[0] - exact).max() < 5e-6


def test_safetensors_as_the_format_says(tmp_path: Path) -> None:
    values = np.arange(6, dtype="<f4")
    header = {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    raw = json.dumps(header).encode()
    path = tmp_path / "toy.safetensors"
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + values.tobytes())
    assert read_safetensors(path)["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(BadFile, match="not a whole safetensors file"):
        read_safetensors(path)
    path.write_bytes(b"")
    with pytest.raises(BadFile, match="not a whole safetensors file"):
        read_safetensors(path)
