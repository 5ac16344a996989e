"""`empathia train`: a recipe becomes a run."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path

import click

from ..core import config, places
from ..core.errors import BadInput

#: whose recipe it is, by the key that only its recipes have; every other recipe is a system's (models/)
_ROOMS = {
    "question": "perception.training",
    "adapter": "companion.training",
    "encoder": "exemplars",
    "comet": "knowledge.training",
    "t5": "training.t5",
}


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the run (default: the recipe's file name).")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one value of the recipe.")
@click.option("--fresh", is_flag=True, help="Start over, dropping an earlier checkpoint of this name.")
@click.option(
    "--stop-at", type=click.IntRange(min=1), metavar="UPDATE", help="Stop there; the same command goes on later."
)
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads (default: all cores).")
def train(
    recipe: Path, name: str | None, overrides: tuple[str, ...], fresh: bool, stop_at: int | None, threads: int | None
) -> None:
    """Train a system from a recipe. The same command again goes on where the last one stopped.

    \b
    Examples:
      empathia train recipes/mime.toml
      empathia train recipes/moel.toml --set train.lr=1e-4 --name moel-slow
      empathia train recipes/perception/feeling.toml --threads 1
      empathia train recipes/exemplars/encoder.toml
      empathia train recipes/knowledge/comet.toml --threads 1
      empathia train recipes/t5-pt.toml --set t5=path/to/t5-small
      torchrun --nproc-per-node 2 -m empathia train recipes/mime.toml
    """
    import torch

    values = config.load(recipe, overrides)
    other = next((room for key, room in _ROOMS.items() if key in values), None)
    if other:
        if stop_at:
            raise BadInput("--stop-at does not fit this recipe", "stop it at any time; the same command goes on")
        say = partial(click.echo, err=True)
        room = import_module(f"..{other}.recipe", __package__)
        if "comet" in values and "base" not in values:
            from ..companion.weights import base

            config.build(room.Recipe, {**values, "base": ""})  # a mistake is told before anything is fetched
            values["base"] = str(base(say))
        click.echo(room.follow(values, name, fresh, threads or torch.get_num_threads(), say))
        return

    from ..training.recipe import Recipe
    from ..training.session import train as run_training

    if threads:
        torch.set_num_threads(threads)
    built = Recipe.of(values)
    folder = run_training(built, places.runs() / (name or recipe.stem), fresh=fresh, stop_at=stop_at)
    click.echo(folder)
