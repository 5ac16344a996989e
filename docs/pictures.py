"""Photograph the page for docs/page/, with the real server and the real companion: `python docs/pictures.py`.

Needs Chromium (its path in CHROMIUM, or /usr/bin/chromium) and Playwright. What the companion answers is what is shown.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "page"
TALK = (
    "My sister moved to Canada last week. The flat is so quiet now.",
    "Mostly her laugh, I think. But today we cooked together over video, and for an hour it was as if she was here.",
)
DESK = {"viewport": {"width": 1240, "height": 820}}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "device_scale_factor": 1.5}


@contextmanager
def server() -> Iterator[str]:
    command = [sys.executable, "-m", "empathia", "serve", "--port", "0", "--country", "US"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = next(m[0] for line in process.stdout if (m := re.search(r"http://[\w.:]+", line)))
        while httpx.get(f"{address}/health").status_code != 200:
            time.sleep(0.5)
        yield address
    finally:
        process.terminate()
        process.wait()


def tell(page: Any, text: str) -> None:
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Stop").wait_for()
    page.get_by_role("button", name="Send").wait_for()


def photograph(page: Any, name: str) -> None:
    page.mouse.move(1, 1)
    page.wait_for_timeout(500)
    page.screenshot(path=str(FOLDER / f"{name}.png"))


def main() -> None:
    with server() as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"))

        def visit(**options: Any) -> Any:
            page = chromium.new_context(**options).new_page()
            page.set_default_timeout(120_000)
            page.goto(address)
            return page

        for name, options in (
            ("why-light", DESK),
            ("why-dark", {**DESK, "color_scheme": "dark"}),
            ("phone-why", PHONE),
        ):
            page = visit(**options)
            for text in TALK:
                tell(page, text)
            if name == "phone-why":
                photograph(page, "phone")
            page.get_by_role("button", name="Why this reply").last.click()
            photograph(page, name)
        page = visit(**DESK)
        page.get_by_text("How to answer").click()
        page.get_by_label("Compare with").select_option("mime")
        page.get_by_text("How to answer").click()
        tell(page, TALK[0])
        page.get_by_text("Which reply is better?").wait_for()
        photograph(page, "compare")
        page = visit(**DESK)
        tell(page, "I want to kill myself")
        photograph(page, "guard")
        chromium.close()


if __name__ == "__main__":
    main()
