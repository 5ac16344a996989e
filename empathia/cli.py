"""The `empathia` command. Thin: each command lives in `commands/` and is imported only when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from . import __version__
from .core.errors import EmpathiaError, nearest

#: command → (module below `commands/`, one line for `--help`)
COMMANDS: dict[str, tuple[str, str]] = {
    "chat": ("chat", "Talk to a responder in the terminal."),
    "reply": ("reply", "Answer one message."),
    "serve": ("serve", "Serve the page and an OpenAI-compatible API."),
    "train": ("train", "Train a system from a recipe."),
    "generate": ("generate", "Write a trained run's replies to a test split."),
    "evaluate": ("evaluate", "Measure a trained run: perplexity, accuracy, replies."),
    "score": ("score", "Score any system's replies.jsonl."),
    "export": ("export", "Write a small copy of a trained run."),
    "plot": ("plot", "Draw what a trained run has learned."),
    "perceive": ("perceive", "Say what a message feels like, why, and what a reply to it does."),
    "know": ("know", "Say what commonly goes with an event: feelings, reasons, wishes."),
    "enrich": ("enrich", "Add to a corpus of dialogues all that perception sees."),
    "evidence": ("evidence", "Find what systems read of a corpus besides its words."),
    "results": ("results", "Print the board: every recorded figure beside the published one."),
    "data": ("data", "List, fetch, count and show corpora."),
    "index": ("index", "Build a bank of exemplars from a corpus."),
    "study": ("study", "Run human evaluations: ratings, A/B tests, drag-and-drop bins."),
}


class LazyCommands(click.Group):
    """Knows every command's name and one-line help without importing any of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"empathia.commands.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            ctx.fail(f"no command '{args[0]}'; {nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="empathia")
def cli() -> None:
    """Software that listens and answers with empathy.

    \b
    Try:
      empathia data stats empathetic-dialogues
      empathia train recipes/mime.toml
      empathia chat --model mime
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line: a user's mistake is one line on standard error and an exit code, never a traceback."""
    try:
        cli.main(args=argv, prog_name="empathia", standalone_mode=False)
    except EmpathiaError as error:
        click.echo(f"empathia: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
