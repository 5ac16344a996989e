"""The command line itself: help that stays light, mistakes that are told in a line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from empathia.cli import COMMANDS, cli, main


def every_command(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every command and subcommand."""
    if path:
        yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from every_command(found, (*path, name))


PATHS = list(every_command())


def test_there_are_subcommands_to_look_at():
    assert {path[0] for path in PATHS} == set(COMMANDS)
    assert {("plot", "emotions"), ("data", "stats"), ("study", "report")} <= set(PATHS)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_of_every_command_holds_an_example(path, capsys):
    main([*path, "--help"])
    usage, _, rest = capsys.readouterr().out.partition("\n")
    assert usage.startswith(f"Usage: empathia {' '.join(path)}")
    assert re.search(rf"^\s+(\S.*\| )?empathia {' '.join(path)}( |$)", rest, re.MULTILINE)
    main([*path, "-h"])
    assert capsys.readouterr().out.partition("\n")[2] == rest


def test_help_of_every_command_loads_no_torch():
    """One process asks for all of them."""
    asked = [[*path, "--help"] for path in PATHS]
    code = f"""
import sys
from empathia.cli import main
for arguments in {asked!r}:
    main(arguments)
    assert "torch" not in sys.modules, arguments
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: empathia ") == len(PATHS)


def test_the_overview_names_every_command_and_the_version_is_one_line(capsys):
    main(["--help"])
    overview = capsys.readouterr().out
    assert all(f"\n  {name} " in overview and line in overview for name, (_, line) in COMMANDS.items())
    main(["--version"])
    assert re.fullmatch(r"empathia, version \S+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tarin"], "no command 'tarin'; did you mean 'train'?"),
        (["reply", "--sed", "1"], "--seed"),
        (["train"], "Missing argument 'RECIPE'"),
        (["train", "x.toml", "--threads", "-1"], "--threads"),
        (["train", "x.toml", "--stop-at", "0"], "--stop-at"),
        (["generate", "mime", "--limit", "0"], "--limit"),
        (["evaluate", "mime", "--bootstrap", "-5"], "--bootstrap"),
    ],
)
def test_a_misused_command_says_how(arguments, told, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    said = capsys.readouterr()
    assert stopped.value.code == 2 and said.out == ""
    assert told in said.err and said.err.startswith("Usage: empathia")


def test_stopping_by_hand_is_no_failure_of_ours(monkeypatch, capsys):
    def stop(ctx: click.Context) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "invoke", stop)
    with pytest.raises(SystemExit) as stopped:
        main(["results"])
    assert stopped.value.code == 130 and capsys.readouterr().err.strip() == "stopped"
