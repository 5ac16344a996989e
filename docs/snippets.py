"""The fenced blocks of a Markdown page, and how they are run.

A page's Python blocks run in order in one namespace, like the cells of a notebook. A `text` block right after
one is its output; `text always` marks an output that is the same for every trained run. `sh run` marks a block
of `empathia` commands that work on any corpus.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"^```(\w*)([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    marks: tuple[str, ...]  # the words after the language
    code: str
    line: int  # of the code's first line in the page
    start: int  # place of the code's first and past-last character in the page
    end: int


def blocks(page: str) -> list[Block]:
    return [
        Block(m[1], tuple(m[2].split()), m[3], page.count("\n", 0, m.start(3)) + 1, m.start(3), m.end(3))
        for m in _FENCE.finditer(page)
    ]


def with_outputs(page: str) -> Iterator[tuple[Block, Block | None]]:
    """Every block but outputs, in order; a Python block with its output."""
    found = blocks(page)
    for i, block in enumerate(found):
        if i and _is_output(page, found[i - 1], block):
            continue
        after = found[i + 1] if i + 1 < len(found) else None
        yield block, after if after and _is_output(page, block, after) else None


def _is_output(page: str, before: Block, block: Block) -> bool:
    between = page[before.end : block.start].removeprefix("```").partition("```")[0]
    return before.language == "python" and block.language == "text" and not between.strip()


def run(block: Block, namespace: dict[str, Any], path: Path) -> str:
    """Execute a Python block; returns what it printed. Its lines in a traceback are the page's."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec", dont_inherit=True), namespace)
    return printed.getvalue()


def refreshed(path: Path) -> str:
    """The page with every output replaced by what its block prints now."""
    page = path.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    parts, done = [], 0
    for block, output in with_outputs(page):
        if block.language != "python":
            continue
        printed = run(block, namespace, path)
        if output is not None:
            parts += [page[done : output.start], printed]
            done = output.end
    return "".join([*parts, page[done:]])
