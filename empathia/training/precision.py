"""Whether this machine multiplies in bfloat16 itself."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import torch

_TRIAL = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); torch.nn.functional.linear(a, a); a @ a"


@cache
def bf16_problem() -> str | None:
    """Why `bf16` would not help here, or None. It is tried, in another process: a virtual machine may announce
    instructions (AMX) and hide the tables that go with them, and then a product fails or kills its process."""
    if not torch.cpu._is_avx512_bf16_supported():
        return "this processor lacks AVX-512 BF16"
    tried = subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, text=True)
    if tried.returncode:
        said = tried.stderr.strip().splitlines()[-1:] or [f"exit code {tried.returncode}"]
        return f"PyTorch cannot use it on this machine ({said[0]}); ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 may help"
    return None
