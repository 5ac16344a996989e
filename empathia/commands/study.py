"""`empathia study`: make, serve, watch, export and report a human evaluation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from ..study.store import Study

_FOLDER = click.argument("name", type=click.Path(path_type=Path))


class _SeveralValues(click.Command):
    """Lets `--systems a.jsonl b.jsonl` take everything up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        inside = False
        for arg in args:
            if arg.startswith("-"):
                inside = arg == "--systems"
                spread += [] if inside else [arg]
            else:
                spread += ["--systems", arg] if inside else [arg]
        return super().parse_args(ctx, spread)


@click.group()
def study() -> None:
    """Run human evaluations: ratings, A/B tests, drag-and-drop bins.

    \b
    empathia study new pilot --design ab --systems mime.jsonl moel.jsonl --per-emotion 4
    empathia study links pilot --count 3
    empathia study serve pilot
    empathia study report pilot
    """


@study.command(cls=_SeveralValues)
@_FOLDER
@click.option("--design", required=True, type=click.Choice(["ratings", "ab", "bins"]), help="What annotators do.")
@click.option(
    "--systems", required=True, multiple=True, type=click.Path(path_type=Path), help="Two or more replies.jsonl files."
)
@click.option("--per-emotion", type=click.IntRange(1), help="Contexts of each of the 32 emotions (MIME: 4).")
@click.option("--random", "at_random", type=click.IntRange(1), help="Contexts drawn at random.")
@click.option("--annotators", type=click.IntRange(1), help="People per item (3; bins 4).")
@click.option("--all-pairs", is_flag=True, help="A/B: every pair, not only the first system against the others.")
@click.option("--attributes", help="Ratings: scales, comma-separated (all six).")
@click.option("--task-size", type=click.IntRange(1), default=10, show_default=True, help="Bins: dialogues in a task.")
@click.option(
    "--checkpoints", type=click.IntRange(0), default=3, show_default=True, help="Bins: dialogues of a task with gold."
)
@click.option("--title", default="", help="Heading of the pages.")
@click.option("--seed", type=int, default=0, show_default=True)
def new(
    name: Path, design: str, systems: tuple[Path, ...], per_emotion: int | None, at_random: int | None,
    annotators: int | None, all_pairs: bool, attributes: str | None, task_size: int, checkpoints: int, title: str,
    seed: int,
) -> None:  # fmt: skip
    """Make a study from systems' replies: a folder with study.toml and study.sqlite.

    \b
    Example:
      empathia study new pilot --design ab --systems mime.jsonl moel.jsonl --per-emotion 4
    """
    from ..study import sampling
    from ..study.designs import ANNOTATORS, ATTRIBUTES
    from ..study.settings import Settings
    from ..study.store import create_study
    from ..study.texts import texts_of

    questions = sampling.sample(sampling.matched_questions(systems), seed, per_emotion, at_random)
    bins = design == "bins"
    if bins:
        tasks = sampling.bin_tasks(questions, task_size, checkpoints, seed)
    elif design == "ab":
        tasks = [[item] for item in sampling.ab_items(questions, all_pairs)]
    else:
        tasks = [[item] for item in sampling.rating_items(questions)]
    drawn = f"{per_emotion} per emotion" if per_emotion else f"{at_random} at random" if at_random else "all contexts"
    names = dict(zip(questions[0].replies, map(str, systems), strict=True))
    settings = Settings(
        title or texts_of(design).title, design, ANNOTATORS[design] if annotators is None else annotators, seed,
        _names(attributes, ATTRIBUTES), task_size if bins else 1, checkpoints if bins else 0,
        per_annotator=task_size if bins else 0, sampling=drawn, systems=names,
    )  # fmt: skip
    create_study(name, settings, tasks)
    items = sum(map(len, tasks))
    click.echo(
        f"{name}: {items} items in {len(tasks)} tasks, {settings.annotators} annotators each; {drawn}, seed {seed}"
    )
    click.echo(f"next: empathia study links {name} --count {settings.annotators}; empathia study serve {name}")


def _names(given: str | None, known: Sequence[str]) -> tuple[str, ...]:
    from ..core.taxonomy import checked

    return tuple(known) if given is None else tuple(checked(part, tuple(known), "scale") for part in given.split(","))


@study.command()
@_FOLDER
@click.argument("people", nargs=-1)
@click.option("--count", type=click.IntRange(1), help="Make so many unnamed links.")
@click.option("--address", default="http://127.0.0.1:8710", show_default=True, help="Where the study is served.")
def links(name: Path, people: tuple[str, ...], count: int | None, address: str) -> None:
    """Print a signed personal link for each of PEOPLE, and the admin page's address and key.

    \b
    Example:
      empathia study links pilot --count 3
    """
    from ..study.links import checked_id, token

    study = _open(name)
    secret = study.store.meta("secret")
    width = len(str(count or 0))
    for person in (*people, *(f"annotator-{i:0{width}d}" for i in range(1, (count or 0) + 1))):
        click.echo(f"{address}/a/{token(secret, checked_id(person))}")
    click.echo(f"admin: {address}/admin  key: {study.store.meta('admin_key')}", err=True)
    if study.settings.entry == "address":
        click.echo(f"open to all: {address}/join?{study.settings.id_parameter}=...", err=True)


@study.command()
@_FOLDER
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=8710, show_default=True)
def serve(name: Path, host: str, port: int) -> None:
    """Serve the study's pages until stopped.

    \b
    Example:
      empathia study serve pilot
    """
    import uvicorn

    from ..study.app import make_app

    study = _open(name)
    _free(host, port)
    click.echo(f"{study.settings.title}: http://{host}:{port}/admin  key: {study.store.meta('admin_key')}", err=True)
    uvicorn.run(make_app(study), host=host, port=port, log_level="warning", access_log=False)


def _free(host: str, port: int) -> None:
    """An error that helps, before the server tries."""
    import socket

    from ..core.errors import BadInput

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise BadInput(
            f"cannot listen on {host}:{port}: {error.strerror}", "choose another --host or --port"
        ) from error


@study.command()
@_FOLDER
@click.option("--watch", is_flag=True, help="Keep showing, until stopped.")
def status(name: Path, watch: bool) -> None:
    """Show how far the study has come.

    \b
    Example:
      empathia study status pilot --watch
    """
    from rich.console import Console
    from rich.live import Live

    study = _open(name)
    if not watch:
        Console().print(_progress_table(study))
        return
    with Live(_progress_table(study), refresh_per_second=2) as live:
        while True:
            time.sleep(1)
            live.update(_progress_table(study))


def _progress_table(study: Study) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    from ..study.progress import progress

    with study.store.reading() as db:
        now = progress(db, study.settings, study.store.now())
    paused = " (paused)" if study.store.meta("paused") == "yes" else ""
    table = Table(title=f"{study.settings.title}{paused}", show_header=False, box=None)
    table.add_row("answered", f"{now['finished']} of {now['wanted']} places")
    table.add_row("", ProgressBar(max(1, now["wanted"]), now["finished"], width=40))
    table.add_row("tasks complete", f"{now['complete_tasks']} of {now['tasks']}")
    table.add_row("under way", f"{now['under_way']}, {now['expired']} abandoned")
    if study.settings.design == "ab":
        table.add_row("fourth annotators", str(now["extra"]))
    people = now["people"]
    table.add_row(
        "annotators", f"{people['joined']} came, {people['began']} began, {people['screened']} failed the check"
    )
    table.add_row("clicks saved", str(now["clicks"]))
    return table


@study.command()
@_FOLDER
@click.option("--format", "formats", multiple=True, type=click.Choice(["csv", "jsonl", "parquet"]), default=["csv"])
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write to (NAME/export).")
def export(name: Path, formats: tuple[str, ...], out: Path | None) -> None:
    """Write answers, annotators and every click as tables.

    \b
    Example:
      empathia study export pilot --format csv --format jsonl
    """
    from ..study.export import export_study

    for path in export_study(_open(name), out or name / "export", formats):
        click.echo(path)


@study.command()
@_FOLDER
@click.option("--drop-flagged/--keep-flagged", default=None, help="Leave flagged answers out (bins: yes, else no).")
@click.option("--resamples", type=click.IntRange(10, 100_000), default=1000, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write to (NAME/report).")
def report(name: Path, drop_flagged: bool | None, resamples: int, out: Path | None) -> None:
    """Analyse the answers: an HTML report, tables in Markdown and LaTeX, plots.

    \b
    Example:
      empathia study report pilot
    """
    from ..study.analysis import analyse
    from ..study.records import load_records
    from ..study.report import summary, write_report

    study = _open(name)
    with study.store.reading() as db:
        records = load_records(db)
    found = analyse(records, study.settings, drop_flagged, resamples)
    for line in summary(found):
        click.echo(line)
    click.echo(write_report(found, out or name / "report"))


@study.command()
@_FOLDER
@click.argument("file", type=click.Path(path_type=Path))
def votes(name: Path, file: Path) -> None:
    """Import votes of the side-by-side chat as A/B answers.

    \b
    Example:
      empathia study votes pilot votes.jsonl
    """
    from ..study.votes import import_votes, read_votes

    found = read_votes(file)
    added = import_votes(name, found)
    click.echo(f"{name}: {added} votes added, {len(found) - added} were already there")


def _open(name: Path) -> Study:
    from ..study.store import Study

    return Study(name)
