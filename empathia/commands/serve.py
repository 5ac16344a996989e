"""`empathia serve`: the page and the API."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ..core.types import Context, Evidence, Responder
    from ..serve import Access, Limits, Services, Source


#: trained runs in this order, before all others
PREFERRED = ("mime", "moel", "multi_trs", "transformer")


@dataclass(frozen=True)
class Plan:
    """Who is to answer, in words that can be sent to another process."""

    model: str | None = None
    backends: tuple[str, ...] = ()
    backend_key: str = ""
    country: str | None = None


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; beyond it a key is needed.")
@click.option("--port", type=click.IntRange(0, 65535), default=8600, show_default=True, help="0 takes a free one.")
@click.option("--model", help="Who answers when a request names nobody (default: the best at hand).")
@click.option("--key", "keys", multiple=True, envvar="EMPATHIA_KEY", help="Ask for this key; may be repeated.")
@click.option(
    "--origin", "origins", multiple=True, help="Also let this site's pages ask, e.g. https://chat.example.org."
)
@click.option("--backend", "backends", multiple=True, metavar="URL[,MODEL]", help="Let another server generate.")
@click.option("--backend-key", default="", envvar="EMPATHIA_BACKEND_KEY", help="Key of the backend.")
@click.option("--parallel", type=click.IntRange(1, 256), default=1, show_default=True, help="Replies written at once.")
@click.option("--queue", type=click.IntRange(0, 10_000), default=32, show_default=True, help="Requests that may wait.")
@click.option("--timeout", type=click.FloatRange(1, 3600), default=120, show_default=True, help="Seconds a request.")
@click.option("--rate", type=click.IntRange(0), default=0, show_default=True, help="Replies a minute and key; 0: any.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes at the address.")
@click.option("--keep", type=click.Path(path_type=Path), help="Append finished exchanges to this file.")
@click.option("--country", help="Whose help lines to show in a crisis, e.g. NZ (default: EMPATHIA_COUNTRY, locale).")
@click.option("--log-level", type=click.Choice(["warning", "info", "debug"]), default="warning", show_default=True)
def serve(
    host: str, port: int, model: str | None, keys: tuple[str, ...], origins: tuple[str, ...], backends: tuple[str, ...],
    backend_key: str, parallel: int, queue: int, timeout: float, rate: int, workers: int, keep: Path | None,
    country: str | None, log_level: str,
) -> None:  # fmt: skip
    """Serve the page and an OpenAI-compatible API until stopped. See docs/serve.md.

    \b
    Examples:
      empathia serve
      empathia serve --port 8700 --model mime
      empathia serve --backend http://127.0.0.1:8000/v1
      EMPATHIA_KEY=secret empathia serve --host 0.0.0.0 --rate 20
    """
    from functools import partial

    from ..guard import Guard
    from ..serve import Access, Limits
    from ..serve.keep import Keep
    from ..serve.run import listen, run

    access, limits = Access(host, keys, origins), Limits(parallel, queue, timeout, rate)
    plan = Plan(model, tuple(map(_named_backend(backend_key), backends)), backend_key, country)
    names = list(services_of(plan).responders)
    Guard(country)  # a country nobody knows is told now
    if keep is not None:
        Keep(keep)
    listening = listen(host, port)
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"empathia listens at http://{shown}:{port}")
    click.echo(f"  answers: {', '.join(names)}")
    click.echo(f"  API: http://{shown}:{port}/v1" + (" (with a key)" if keys else ""))
    if keep is not None:
        click.echo(f"  conversations are kept in {keep}")
    click.echo("It is a program, not a person. Ctrl-C stops it.")
    run(partial(build, plan, limits, access, keep), listening, workers, log_level)
    click.echo("stopped")


def build(plan: Plan, limits: Limits, access: Access, keep: Path | None) -> FastAPI:
    from ..serve import make_app

    return make_app(services_of(plan), limits, access, keep)


def services_of(plan: Plan) -> Services:
    """Everything at hand, the default first; nothing is loaded yet."""
    from ..core.errors import BadInput, nearest
    from ..serve import Services

    found = {**_remote(plan), **_local()}
    if plan.model is not None:
        if plan.model not in found:
            raise BadInput(f"no responder '{plan.model}'", nearest(plan.model, found))
        found = {plan.model: found[plan.model]} | found
    encoder = _late(_load_encoder)
    return Services(found, _perception(), lambda texts: encoder()(texts), "all-MiniLM-L6-v2", plan.country)


def _named_backend(key: str) -> Callable[[str], str]:
    """`URL` → `URL,MODEL`, asking the backend what it has."""
    from ..serve.remote import base_of, first_model

    def named(backend: str) -> str:
        url, _, model = backend.partition(",")
        return f"{base_of(url)},{model or first_model(url, key)}"

    return named


def _remote(plan: Plan) -> Mapping[str, Source]:
    from ..serve import Source
    from ..serve.remote import RemoteResponder

    def source(url: str, model: str) -> Source:
        return Source(lambda: RemoteResponder(url, model, plan.backend_key), "generated by another server", "backend")

    pairs = [backend.partition(",")[::2] for backend in plan.backends]
    return {model: source(url, model) for url, model in pairs}


def _local() -> Mapping[str, Source]:
    """The companion, the trained runs, retrieval. Runs are found by their weights: torch comes when one is asked."""
    from importlib.util import find_spec

    from ..core import places
    from ..serve import Source
    from .responders import COMPANION, RETRIEVAL, responder_of

    def source(name: str, description: str) -> Source:
        return Source(lambda: _ready(responder_of(name, announce=_announce)), description)

    weights = [path for place in (places.runs(), places.shipped()) for path in place.glob("*/model.safetensors")]
    runs = (
        {path.parent.name for path in weights if (path.parent / "config.toml").exists()} if find_spec("torch") else ()
    )
    ordered = sorted(runs, key=lambda name: (PREFERRED.index(name) if name in PREFERRED else len(PREFERRED), name))
    return {
        COMPANION: source(COMPANION, "perceives, recalls, plans, writes, chooses"),
        **{name: source(name, "a trained run") for name in ordered},
        RETRIEVAL: source(RETRIEVAL, "says what someone once said in a similar place"),
    }


def _ready(responder: Responder) -> Responder:
    """Loaded to the last part, so that `/health` does not promise too early and the first reply does not wait."""
    warm = getattr(responder, "warm", None)
    if warm is not None:
        warm()
    return responder


def _announce(line: str) -> None:
    click.echo(f"  {line}", err=True)


def _perception() -> Callable[[Context], Evidence] | None:
    from ..core.places import shipped

    if not (shipped() / "perception").exists():
        return None
    loaded = _late(_load_perception)
    return lambda context: loaded().contexts([context])[0]


def _load_perception() -> Any:
    from ..perception import load

    return load()


def _load_encoder() -> Any:
    from ..text.sentence_encoder import load

    return load(_announce)


def _late(load: Callable[[], Any]) -> Callable[[], Any]:
    """Loads when first called, once, however many call at a time."""
    one = threading.Lock()
    found: list[Any] = []

    def get() -> Any:
        with one:
            if not found:
                found.append(load())
        return found[0]

    return get
