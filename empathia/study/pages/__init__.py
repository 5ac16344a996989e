"""The pages annotators and admins see: plain HTML, CSS and JavaScript files beside this one."""

from __future__ import annotations

from importlib.resources import files


def page(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def page_names() -> set[str]:
    return {entry.name for entry in files(__package__).iterdir()}
