"""The examples of README and docs/serve.md, run as they stand against `empathia serve` and the real companion."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from serve_start import started

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/serve.md")


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The shipped companion behind a real server in a process of its own."""
    with started(tmp_path_factory.mktemp("serve"), "--port", "0") as server:
        yield server.url


def blocks(mark: str, needle: str) -> list[str]:
    texts = [(ROOT / page).read_text("utf-8") for page in PAGES]
    found = [block for text in texts for block in re.findall(rf"```{mark}\n(.*?)```", text, re.S) if needle in block]
    assert found, f"no example with {needle}"
    return found


@pytest.mark.parametrize("example", blocks("sh", "curl "))
def test_curl(example, url):
    script = example.replace("http://127.0.0.1:8600", url)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert '"choices"' in done.stdout and '"error"' not in done.stdout


@pytest.mark.parametrize("example", blocks("(?:py|text)", "OpenAI("))
def test_the_official_client(example, url):
    script = example.replace("http://127.0.0.1:8600", url)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) >= 2
