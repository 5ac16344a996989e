from dataclasses import dataclass, field
from typing import Literal

import pytest

from empathia.core import config
from empathia.core.errors import BadConfig, BadFile, MissingFile


@dataclass(frozen=True)
class Inner:
    lr: float = 0.1
    kind: Literal["noam", "cosine"] = "noam"
    betas: tuple[float, ...] = (0.9, 0.98)


@dataclass(frozen=True)
class Outer:
    name: str
    steps: int = 3
    fast: bool = False
    limit: int | None = None
    inner: Inner = field(default_factory=Inner)


def test_a_recipe_extends_another_and_takes_dotted_overrides(tmp_path):
    (tmp_path / "base.toml").write_text('name = "base"\n[inner]\nlr = 0.5\nkind = "cosine"\n')
    (tmp_path / "child.toml").write_text('extends = "base.toml"\nname = "child"\n')
    values = config.load(tmp_path / "child.toml", ["inner.lr=1e-4", "steps=7", "inner.kind=noam"])
    assert config.build(Outer, values) == Outer("child", 7, inner=Inner(1e-4, "noam"))


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("inner.lrr=1", "did you mean 'lr'?"),
        ("stepps=1", "did you mean 'steps'?"),
        ("inner.kind=cosin", "did you mean 'cosine'?"),
        ("steps=many", "'steps' must be a whole number"),
        ("fast=1", "'fast' must be true or false"),
        ("inner=3", "'inner' must be a table"),
        ("inner.betas=2", "'inner.betas' must be a list"),
        ("steps", "write it as key.subkey=value"),
    ],
)
def test_a_wrong_key_or_value_is_named(override, told):
    values = {"name": "x"}
    with pytest.raises(BadConfig) as caught:
        config.override(values, override)
        config.build(Outer, values)
    assert told in str(caught.value)


def test_missing_key_and_missing_or_broken_file(tmp_path):
    with pytest.raises(BadConfig, match="missing key 'name'"):
        config.build(Outer, {})
    with pytest.raises(MissingFile):
        config.load(tmp_path / "none.toml")
    (tmp_path / "broken.toml").write_text("a = ")
    with pytest.raises(BadFile, match="not TOML"):
        config.load(tmp_path / "broken.toml")
    (tmp_path / "loop.toml").write_text('extends = "loop.toml"')
    with pytest.raises(BadFile, match="extends itself"):
        config.load(tmp_path / "loop.toml")


def test_dump_reads_back(tmp_path):
    made = Outer('quoted "name" \\ é', 5, True, None, Inner(0.25, "cosine", (0.5, 0.75)))
    (tmp_path / "made.toml").write_text(config.dump(made))
    assert config.build(Outer, config.load(tmp_path / "made.toml")) == made
