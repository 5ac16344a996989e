"""Cut at any moment, training goes on as if nothing had happened."""

import json
import signal
import time

import pytest

pytest.importorskip("torch")

from conftest import run, start
from safetensors.torch import load_file


def history(folder):
    """Every logged loss, the last one standing for an update."""
    rows = {}
    for line in (folder / "log.jsonl").read_text().splitlines():
        row = json.loads(line)
        if "validation" in row:
            rows[row["update"]] = row["validation"]["nll"]
    return rows


def test_killed_training_reaches_the_same_loss_as_one_left_alone(home, recipe):
    """Three times `kill -9`, at different moments; dropout and MIME's draws must come out alike."""
    path = recipe("mime", epochs=12, blocks="dropout = 0.2")
    assert run("train", path, "--name", "alone")[0] == 0
    cut = home / "runs" / "cut"
    kills = 0
    for _ in range(12):
        process = start("train", path, "--name", "cut")
        deadline = time.monotonic() + 60
        known = (cut / "checkpoint.safetensors").stat().st_mtime_ns if (cut / "checkpoint.safetensors").exists() else 0
        while process.poll() is None and time.monotonic() < deadline:
            checkpoint = cut / "checkpoint.safetensors"
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns > known:
                time.sleep(0.02 * kills)
                break
            time.sleep(0.005)
        if kills < 3 and process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            continue
        process.communicate(timeout=120)
        if process.returncode == 0:
            break
    assert kills > 0, "training was over before it could be killed"
    alone = home / "runs" / "alone"
    assert history(cut)[max(history(cut))] == history(alone)[max(history(alone))]
    left, right = load_file(alone / "model.safetensors"), load_file(cut / "model.safetensors")
    assert all(left[name].equal(right[name]) for name in left)


def test_two_processes_reach_the_loss_of_one(home, recipe):
    """torchrun with two processes on this machine: the same batches, the same gradients, the same weights."""
    import os
    import subprocess
    import sys

    path = recipe("multi_trs", epochs=3, blocks="dropout = 0.0\nembedding_dropout = 0.0")
    assert run("train", path, "--name", "one")[0] == 0
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29517",
               "-m", "empathia", "train", str(path), "--name", "two"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ}, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    one, two = history(home / "runs" / "one"), history(home / "runs" / "two")
    assert one.keys() == two.keys()
    for update, nll in one.items():
        assert two[update] == pytest.approx(nll, rel=1e-4)
