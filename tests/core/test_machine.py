"""What this process may use of the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

_BLOCKS = """
import resource, sys
from empathia.core.machine import keep_memory
import numpy
if sys.argv[1] == "kept":
    assert keep_memory()
numpy.ones(7_000_000, numpy.float32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    numpy.ones(7_000_000, numpy.float32)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked to keep memory")
def test_freed_blocks_are_used_again():
    """28 MB twenty times over: their pages are asked for anew each time, unless they are kept."""

    def faults(how: str) -> int:
        done = subprocess.run([sys.executable, "-c", _BLOCKS, how], capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert 5 * faults("kept") < faults("handed back")
