"""What several rooms' tests share: a real headless Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium through Playwright. Without it browser tests are skipped, loudly; on CI they fail."""
    problem = ""
    if shutil.which(CHROMIUM) is None:
        problem = f"no Chromium at {CHROMIUM}: install it, or set CHROMIUM to its path"
    else:
        try:
            from playwright.sync_api import sync_playwright
        except ImportError:
            problem = "playwright is not installed: pip install -e '.[dev]'"
    if problem:
        if os.environ.get("CI") == "true":
            pytest.fail(problem)
        pytest.skip(f"BROWSER TESTS SKIPPED: {problem}")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS), headless=True)
        yield chromium
        chromium.close()
