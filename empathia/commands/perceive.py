"""`empathia perceive`: what a message feels like, why, and what a reply to it does."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import click

from ..core.errors import BadInput
from .conversations import given
from .perceived import perceived, show


@click.command()
@click.argument("messages", nargs=-1)
@click.option("-f", "--file", "files", multiple=True, type=click.Path(path_type=Path), help="Read from a file instead.")
@click.option("--jsonl", is_flag=True, help="Standard input is JSONL; files that end in .jsonl are taken so anyway.")
@click.option("--reply", help="Also say what this reply does.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs; of JSONL, one line each.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads (default: all cores).")
def perceive(
    messages: tuple[str, ...],
    files: tuple[Path, ...],
    jsonl: bool,
    reply: str | None,
    as_json: bool,
    threads: int | None,
) -> None:
    """Say what the speaker feels and why, and what a listener would likely do. Several messages are the turns of one
    conversation, the last one the speaker's; without any, one message is read from standard input.

    A text file is one message. A line of a JSONL file is a message as a string, or an object with "messages" (texts)
    or "turns" (as in dialogues.jsonl), and perhaps "id" and "reply".

    \b
    Examples:
      empathia perceive "I lost my job today."
      empathia perceive "I lost my job today." --reply "I am so sorry. What happened?"
      empathia perceive "My son graduated!" "How lovely." "He is the first of us." --json
      empathia perceive --file letter.txt --file talks.jsonl
      cat talks.jsonl | empathia perceive --jsonl --json
    """
    from ..perception import Perception
    from ..perception.enriched import is_blank

    if reply is not None and is_blank(reply):
        raise BadInput("the reply is empty", 'say something: --reply "I am sorry to hear that."')
    asked = given(messages, files, jsonl, reply)
    first = next(asked)  # a mistake shows before any weights are loaded
    indent = None if jsonl or any(path.suffix == ".jsonl" for path in files) else 2
    for number, found in enumerate(perceived(Perception(threads=threads), chain([first], asked))):
        if as_json:
            click.echo(json.dumps(found.as_dict(), ensure_ascii=False, indent=indent))
            continue
        if number:
            click.echo()
        show(found)
