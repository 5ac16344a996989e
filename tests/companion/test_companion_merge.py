from __future__ import annotations

import errno
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from companion_tiny import LAYERS, plain_adapter, tiny_gguf
from gguf import GGUFReader, quants
from safetensors.numpy import load_file, save_file

from empathia.companion.merge import merged, read_adapter
from empathia.core.errors import BadFile, BadInput, EmpathiaError, MissingFile


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny_gguf(tmp_path / "tiny.gguf")


def logits(path: Path, adapter: Path | None = None):
    """By transformers, which undoes llama.cpp's order of rows itself, and by peft."""
    torch = pytest.importorskip("torch")
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    if adapter is not None:
        model = PeftModel.from_pretrained(model, adapter)
    with torch.no_grad():
        return model.eval()(torch.arange(2, 12)[None]).logits[0].numpy()


def saved_by_peft(base: Path, folder: Path, **settings: object) -> Path:
    """A random rank-4 adapter of all seven linear maps, as peft itself saves it."""
    torch = pytest.importorskip("torch")
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base.parent, gguf_file=base.name, dtype=torch.float32)
    targets = [f"{name}_proj" for name in ("q", "k", "v", "o", "gate", "up", "down")]
    tuned = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=targets, **settings))
    torch.manual_seed(1)
    for name, weight in tuned.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weight, std=0.15 if base.name == "tiny.gguf" else 0.02)
    tuned.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    "settings", [{}, {"use_rslora": True, "layers_to_transform": [1]}], ids=["plain", "rs, one layer"]
)
def test_merged_gives_what_base_and_adapter_give(settings, base: Path, tmp_path: Path):
    adapter = saved_by_peft(base, tmp_path / "adapter", **settings)
    wanted = logits(base, adapter)
    change = np.abs(logits(base) - wanted).max()
    exact, small = (np.abs(logits(merged(base, adapter, kind)) - wanted).max() for kind in ("f16", "q8_0"))
    assert change > 1 and exact < 0.01 * change and small < 0.1 * change


@pytest.mark.slow
def test_the_real_base_merged_speaks_in_llama_cpp_as_torch_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    torch = pytest.importorskip("torch")
    from transformers import AutoModelForCausalLM

    from empathia.companion.engines.contract import Sampling
    from empathia.companion.engines.llama import Llama
    from empathia.companion.weights import base as packaged

    monkeypatch.delenv("EMPATHIA_HOME")
    base = packaged()
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    adapter = saved_by_peft(base, tmp_path / "adapter")
    path = merged(base, adapter)
    assert np.abs(logits(path) - logits(base, adapter)).max() < 1
    engine = Llama(path)
    said = engine.candidates("The train was late, and", 1, Sampling(temperature=0, max_tokens=1))[0]
    engine.close()
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    from transformers import AutoTokenizer

    ids = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)("The train was late, and")["input_ids"]
    with torch.no_grad():
        likely = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1).max().item()
    assert said.log_probability == pytest.approx(likely, abs=0.05)


def test_everything_else_is_carried_over(base: Path, tmp_path: Path):
    before, after = GGUFReader(base), GGUFReader(merged(base, plain_adapter(tmp_path / "one", layers=1)))
    changed = {"general.file_type", "GGUF.kv_count"}
    for key, field in before.fields.items():
        assert key in changed or after.fields[key].contents() == field.contents(), key
    tensors = {tensor.name: tensor for tensor in after.tensors}
    assert [tensor.name for tensor in before.tensors] == list(tensors)
    for tensor in before.tensors:
        touched = tensor.name.startswith("blk.0.") and "norm" not in tensor.name
        same = np.array_equal(tensors[tensor.name].data, tensor.data)
        assert same != touched, tensor.name


def test_bfloat16_is_read(base: Path, tmp_path: Path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    adapter = plain_adapter(tmp_path / "adapter")
    file = adapter / "adapter_model.safetensors"
    exact = read_adapter(adapter)
    save_torch({key: torch.tensor(value).bfloat16() for key, value in load_file(file).items()}, file)
    for name, change in read_adapter(adapter).items():
        np.testing.assert_allclose(change.a, exact[name].a, rtol=1 / 128)


def test_merged_once_and_again_when_the_adapter_changes(base: Path, tmp_path: Path, home: Path):
    heard: list[str] = []
    other = merged(base, plain_adapter(tmp_path / "companion-two"))
    first = merged(base, plain_adapter(tmp_path / "companion"), announce=heard.append)
    assert merged(base, tmp_path / "companion", announce=heard.append) == first and len(heard) == 1
    second = merged(base, plain_adapter(tmp_path / "companion", seed=1))
    assert second != first and second.exists() and not first.exists()  # the old one is cleared away
    assert other.exists()
    assert {path.name for path in (home / "cache" / "companion").iterdir()} == {second.name, other.name}


def test_two_at_once_merge_once(base: Path, tmp_path: Path):
    adapter, heard = plain_adapter(tmp_path / "companion"), []
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: merged(base, adapter, announce=heard.append), range(3)))
    assert len(set(found)) == 1 and len(heard) == 1


def test_killed_while_merging_the_next_start_recovers(base: Path, tmp_path: Path, home: Path):
    adapter = plain_adapter(tmp_path / "companion")
    script = f"""
import os, signal
from pathlib import Path
from gguf import GGUFWriter
from empathia.companion.merge import merged
write, done = GGUFWriter.write_tensor_data, []
def killed(self, *arguments, **named):
    if len(done) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(write(self, *arguments, **named))
GGUFWriter.write_tensor_data = killed
merged(Path({str(base)!r}), Path({str(adapter)!r}))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    folder = home / "cache" / "companion"
    assert [path.name.startswith(".merging-") for path in folder.iterdir()] == [True]
    path = merged(base, adapter)
    assert [found.name for found in folder.iterdir()] == [path.name]
    assert len(GGUFReader(path).tensors) == len(GGUFReader(base).tensors)


def test_a_full_disk_is_one_clear_line_and_leaves_nothing(base: Path, tmp_path: Path, home: Path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gguf.GGUFWriter.write_tensor_data", full)
    with pytest.raises(EmpathiaError, match=r"no space left for the merged model.*EMPATHIA_HOME"):
        merged(base, plain_adapter(tmp_path / "companion"))
    assert list((home / "cache" / "companion").iterdir()) == []


def test_what_does_not_fit_is_named(base: Path, tmp_path: Path):
    with pytest.raises(MissingFile, match=r"adapter_config\.json"):
        merged(base, tmp_path / "nowhere")
    with pytest.raises(BadInput, match="q8_0 or f16"):
        merged(base, plain_adapter(tmp_path / "a"), kind="q2")  # type: ignore[arg-type]
    with pytest.raises(BadFile, match=rf"another base: blk\.{LAYERS}\.\w+\.weight is not there"):
        merged(base, plain_adapter(tmp_path / "b", layers=LAYERS + 1))
    with pytest.raises(BadFile, match="'use_dora'"):
        merged(base, plain_adapter(tmp_path / "c", use_dora=True))
    with pytest.raises(BadFile, match="architecture 'qwen2'"):
        merged(tiny_gguf(tmp_path / "q.gguf", "qwen2"), plain_adapter(tmp_path / "d"))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(base.read_bytes()[:300])
    with pytest.raises(BadFile, match="not a whole GGUF file"):
        merged(broken, plain_adapter(tmp_path / "e"))
    adapter = plain_adapter(tmp_path / "f")
    save_file(
        {"base_model.model.lm_head.lora_A.weight": np.ones((4, 4), np.float32)}, adapter / "adapter_model.safetensors"
    )
    with pytest.raises(BadFile, match="cannot merge 'base_model"):
        merged(base, adapter)
    (adapter / "adapter_model.safetensors").write_bytes(b"no")
    with pytest.raises(BadFile, match="safetensors"):
        merged(base, adapter)


def test_merging_needs_no_torch(base: Path, tmp_path: Path):
    adapter = plain_adapter(tmp_path / "companion")
    script = f"""
import sys
from pathlib import Path
from empathia.companion.merge import merged
merged(Path({str(base)!r}), Path({str(adapter)!r}))
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_eight_bits_are_close(base: Path, tmp_path: Path):
    """A merged weight is off by no more than half a step of its block of 32."""
    adapter = plain_adapter(tmp_path / "companion")
    exact, small = (GGUFReader(merged(base, adapter, kind)) for kind in ("f16", "q8_0"))
    for left, right in zip(exact.tensors, small.tensors, strict=True):
        wanted = quants.dequantize(left.data, left.tensor_type).reshape(-1)
        got = quants.dequantize(right.data, right.tensor_type).reshape(-1)
        steps = np.abs(wanted[: len(wanted) // 32 * 32].reshape(-1, 32)).max(1, keepdims=True) / 127
        off = np.abs(got - wanted)[: len(wanted) // 32 * 32].reshape(-1, 32)
        assert (off <= 0.52 * steps + 1e-3).all(), left.name
