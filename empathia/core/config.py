"""TOML recipes into dataclasses: only the differences are written, every key is checked.

A recipe may name another with `extends = "other.toml"`. Overrides are dotted: `train.lr=1e-4`.
"""

from __future__ import annotations

import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import BadConfig, BadFile, nearest
from .files import existing

T = TypeVar("T")


def load(path: Path | str, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """A recipe file with its `extends` chain merged in and the dotted overrides applied on top."""
    values = _read(existing(path, "recipes stand in recipes/; name one with: empathia train recipes/mime.toml"), ())
    for text in overrides:
        override(values, text)
    return values


def _read(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    if path.resolve() in seen:
        raise BadFile(path, "extends itself")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadFile(path, f"not TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise BadFile(path, f"not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror or error}") from error
    parent = values.pop("extends", None)
    if parent is None:
        return values
    if not isinstance(parent, str):
        raise BadFile(path, "'extends' must be a string")
    base = existing(path.parent / parent, f"'extends' in {path} names it")
    return merge(_read(base, (*seen, path.resolve())), values)


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` over it, tables merged key by key."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def override(values: dict[str, Any], text: str) -> None:
    """Apply one `dotted.key=value`; the value is read as TOML, a bare word as a string."""
    key, equals, raw = text.partition("=")
    if not equals or not key.strip():
        raise BadConfig(f"'{text}' is not an override", "write it as key.subkey=value")
    try:
        value = tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        value = raw.strip()
    *path, last = key.strip().split(".")
    table = values
    for part in path:
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            raise BadConfig(f"'{key}': '{part}' is a value, not a table")
        table = inner
    table[last] = value


def build(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """`cls` filled from `values`; an unknown key fails and suggests the nearest, a wrong type says which."""
    hints = get_type_hints(cls)
    known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    filled: dict[str, Any] = {}
    for key, value in values.items():
        dotted = f"{where}.{key}" if where else key
        if key not in known:
            raise BadConfig(f"unknown key '{dotted}'", nearest(key, known))
        filled[key] = _convert(hints[key], value, dotted)
    for f in fields(cls):  # type: ignore[arg-type]
        if f.name not in filled and f.default is MISSING and f.default_factory is MISSING:
            raise BadConfig(f"missing key '{where}.{f.name}'" if where else f"missing key '{f.name}'")
    return cls(**filled)


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        for option in get_args(hint):
            if option is type(None):
                continue
            return _convert(option, value, where)
    if is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise BadConfig(f"'{where}' must be a table")
        return build(hint, value, where)
    if origin is typing.Literal:
        options = get_args(hint)
        if value not in options:
            raise BadConfig(f"'{where}' cannot be {value!r}", nearest(str(value), map(str, options)))
        return value
    if origin is tuple:
        item = get_args(hint)[0]
        if not isinstance(value, list | tuple):
            raise BadConfig(f"'{where}' must be a list")
        return tuple(_convert(item, v, f"{where}[{i}]") for i, v in enumerate(value))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint in (int, float, str, bool) and type(value) is not hint:
        raise BadConfig(f"'{where}' must be {_NAMES[hint]}, not {value!r}")
    return value


_NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def dump(value: Any) -> str:
    """A dataclass or mapping as TOML text that `load` reads back; None is left out."""
    lines: list[str] = []
    _dump_table(_plain(value), "", lines)
    return "\n".join(lines).strip() + "\n"


def _plain(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return dict(value)


def _dump_table(table: dict[str, Any], prefix: str, lines: list[str]) -> None:
    inner = {k: v for k, v in table.items() if is_dataclass(v) or isinstance(v, Mapping)}
    for key, value in table.items():
        if key not in inner and value is not None:
            lines.append(f"{key} = {_scalar(value)}")
    for key, value in inner.items():
        lines += ["", f"[{prefix}{key}]"]
        _dump_table(_plain(value), f"{prefix}{key}.", lines)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in value)
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_scalar(v) for v in value) + "]"
    return repr(value)
