"""Help lines by country, from `helplines.toml`, and which country is meant."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..core.errors import BadFile, BadInput, nearest
from .types import CATEGORIES, Category

FILE = Path(__file__).parent / "helplines.toml"
ANYWHERE = "INT"
#: what people write for a country that the standard calls otherwise
_ALSO = {"UK": "GB", "USA": "US", "INTERNATIONAL": ANYWHERE, "EL": "GR"}
_KEYS = {"name", "call", "text", "web", "hours", "languages", "for", "source", "checked"}


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    source: str
    checked: str
    call: str = ""
    text: str = ""
    web: str = ""
    hours: str = ""
    languages: str = ""
    categories: tuple[Category, ...] = ()  # none: for every distress

    def __str__(self) -> str:
        ways = [f"call {self.call}"] if self.call else []
        ways += [f"text {self.text}"] if self.text else []
        ways += [self.web] if self.web else []
        return f"{self.name}: {', '.join(ways)}" + (f" ({self.hours})" if self.hours else "")

    @property
    def short(self) -> str:
        return f"{self.name} {self.call or self.text or self.web}"

    def serves(self, category: Category) -> bool:
        need = "suicide" if category == "self_harm" else category
        return not self.categories or need in self.categories


@dataclass(frozen=True, slots=True)
class Country:
    code: str
    name: str
    emergency: str
    lines: tuple[Line, ...]

    def for_(self, category: Category, most: int = 3) -> list[Line]:
        """The lines for a category, the most fitting first; the directory of all countries if there is none."""
        fitting = sorted((line for line in self.lines if line.serves(category)), key=lambda line: not line.categories)
        return fitting[:most] or list(countries()[ANYWHERE].lines[:1])


@cache
def countries() -> Mapping[str, Country]:
    """Code → country; the file is checked whole, so that a slip cannot reach anyone in need."""
    try:
        rows = tomllib.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadFile(FILE, f"cannot be read: {error}") from error
    found = {}
    for code, row in rows.items():
        if missing := {"name", "emergency", "lines"} - row.keys():
            raise BadFile(FILE, f"{code} lacks '{min(missing)}'")
        found[code] = Country(code, row["name"], row["emergency"], tuple(_line(code, each) for each in row["lines"]))
    return found


def _line(code: str, row: Mapping[str, object]) -> Line:
    for key in row.keys() - _KEYS:
        raise BadFile(FILE, f"{code}: unknown key '{key}'", hint=nearest(key, _KEYS))
    for key in {"name", "source", "checked"} - row.keys():
        raise BadFile(FILE, f"{code}: a line lacks '{key}'")
    if not {"call", "text", "web"} & row.keys():
        raise BadFile(FILE, f"{code}: '{row['name']}' cannot be reached: give call, text or web")
    values = {key: str(value) for key, value in row.items() if key != "for"}
    served = row.get("for", [])
    categories = tuple(category for category in CATEGORIES if isinstance(served, list) and category in served)
    return Line(**values, categories=categories)


def country_of(given: str | None = None) -> Country:
    """The country asked for, else `EMPATHIA_COUNTRY`, else that of the locale, else anywhere.

    A code that is asked for must be known or be two letters: a country without lines here gets the directory.
    """
    asked = given or os.environ.get("EMPATHIA_COUNTRY", "")
    if asked:
        code = _ALSO.get(asked.strip().upper(), asked.strip().upper())
        if code not in countries() and not re.fullmatch(r"[A-Z]{2}", code):
            raise BadInput(f"'{asked}' is no country code", "use two letters, e.g. NZ, or INT for anywhere")
        return countries().get(code, countries()[ANYWHERE])
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        match = re.match(r"[a-z]{2,3}_([A-Z]{2})\b", os.environ.get(variable, ""))
        if match and match.group(1) in countries():
            return countries()[match.group(1)]
    return countries()[ANYWHERE]
