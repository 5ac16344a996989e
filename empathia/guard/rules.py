"""The rules: regular expressions over plain text, kept in `rules/*.toml` where anyone can read and mend them.

A rule holds if its `say` is found, unless the sentence also holds its `unless`, or the words directly before deny it,
or the sentence tells of a film, a lesson or the news, or the message tells of something long over.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..core.errors import BadFile, nearest
from .normalise import sentences
from .types import CATEGORIES, About, Category, Sign

FOLDER = Path(__file__).parent / "rules"
_KEYS = {"name", "has", "say", "unless", "about", "category", "laughs"}
_SENTENCE = re.compile(r"(?:^|\. )([^.]*)")
_SUBJECT = re.compile(
    r"\b(i|me|my|he|she|they|somebody|friend|brother|sister|son|daughter|husband|wife|mother|father)\b"
)
_OTHERS = {"he", "she", "they", "somebody", "friend", "brother", "sister", "son", "daughter", "husband", "wife"}
_OTHERS |= {"mother", "father"}


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    category: Category
    explicit: bool
    about: About | None
    has: tuple[str, ...]
    say: re.Pattern[str]
    unless: re.Pattern[str] | None
    laughs: bool

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        if any(word in text for word in self.has):
            yield from self.say.finditer(text)


@dataclass(frozen=True, slots=True)
class Rules:
    rules: tuple[Rule, ...]
    words: Mapping[str, re.Pattern[str]]

    def sign(self, text: str) -> Sign | None:
        """The gravest thing that a plain text says: what is explicit before what is not, in the order of the rules."""
        found: Sign | None = None
        for rule in self.rules:
            if found is not None and found.explicit and not rule.explicit:
                break
            for match in rule.matches(text):
                if self._meant(rule, match, text):
                    about = rule.about or _about(text, match)
                    sign = Sign(rule.category, rule.explicit, about, self.imminent(text), rule.name)
                    if found is None or (found.about == "other" and about == "self" and rule.explicit):
                        found = sign
                    break
            if found is not None and found.about == "self":
                break
        return found

    def unsettled(self, text: str) -> str:
        """What is left for the classifier: not what a rule found harmless, what is told from afar, idioms."""
        return " . ".join(sentence for sentence in sentences(text) if not self._settled(sentence))

    def _settled(self, sentence: str) -> bool:
        heard = any(next(rule.matches(sentence), None) for rule in self.rules if rule.explicit)
        return heard or self.over(sentence) or self.topical(sentence) or bool(self.words["idiom"].search(sentence))

    def imminent(self, text: str) -> bool:
        return self.words["imminent"].search(text) is not None

    def over(self, text: str) -> bool:
        """Told as something long past, with a good end and nothing of it coming back."""
        return all(self.words[w].search(text) for w in ("long_ago", "over_now")) and not self.words["not_over"].search(
            text
        )

    def topical(self, sentence: str) -> bool:
        return bool(self.words["topic"].search(sentence)) and not self.words["first_hand"].search(sentence)

    def _meant(self, rule: Rule, match: re.Match[str], text: str) -> bool:
        start = text.rfind(" . ", 0, match.start() + 1)
        end = text.find(" . ", match.end() - 1)
        sentence = text[start + 3 if start >= 0 else 0 : end if end >= 0 else len(text)]
        if rule.unless is not None and rule.unless.search(sentence):
            return False
        before = text[start + 3 if start >= 0 else 0 : match.start()]
        if self._denied(before):
            return False
        if rule.laughs and self.words["laughter"].search(text) and not self.words["weapon"].search(text):
            return False
        told_of_others = re.search(r"\b(?:myself|my|me|i)\b", match.group()) is None
        return not (told_of_others and self.topical(sentence)) and not self.over(sentence)

    def _denied(self, before: str) -> bool:
        """Whether the words just before take back what follows, and nothing doubts that."""
        return self.words["denied"].search(before[-60:]) is not None and self.words["undenied"].search(before) is None


def _about(text: str, match: re.Match[str]) -> About:
    """Whose danger: of the last person named before the match, or at its beginning."""
    said = text[: match.end()]
    if " myself" in match.group() or re.match(r"i\b", match.group()):
        return "self"
    named = _SUBJECT.findall(said)
    return "other" if named and named[-1] in _OTHERS and "i" not in named[-2:] else "self"


@cache
def rules() -> Rules:
    """All rules of the package, explicit ones first."""
    raw = _toml(FOLDER / "words.toml")
    words: dict[str, str] = {}
    for name, expression in raw.items():
        words[name] = _filled(expression, words, FOLDER / "words.toml")
    compiled = {
        name: re.compile(rf"\b(?:{words[name]})\b")
        for name in (
            "topic",
            "first_hand",
            "idiom",
            "long_ago",
            "over_now",
            "not_over",
            "laughter",
            "imminent",
            "weapon",
        )
    }
    compiled["undenied"] = re.compile(rf"\b{words['undenied']}\b")
    compiled["denied"] = re.compile(rf"\b{words['denied']} ?$")
    found = [rule for path in sorted(FOLDER.glob("*.toml")) for rule in _rules_of(path, words)]
    order = {category: place for place, category in enumerate(CATEGORIES)}
    return Rules(tuple(sorted(found, key=lambda rule: (not rule.explicit, order[rule.category]))), compiled)


def _rules_of(path: Path, words: Mapping[str, str]) -> Iterator[Rule]:
    for row in _toml(path).get("rule", []):
        for key in row.keys() - _KEYS:
            raise BadFile(path, f"unknown key '{key}' in rule '{row.get('name')}'", hint=nearest(key, _KEYS))
        category = row.get("category", path.stem)
        if category not in CATEGORIES:
            raise BadFile(path, f"no category '{category}'", hint=nearest(category, CATEGORIES))
        unless = row.get("unless")
        yield Rule(
            row["name"],
            category,
            not path.stem.startswith("oblique"),
            row.get("about"),
            tuple(row["has"]),
            _compiled(row["say"], words, path),
            _compiled(unless, words, path) if unless else None,
            row.get("laughs", False),
        )


def _compiled(expression: str, words: Mapping[str, str], path: Path) -> re.Pattern[str]:
    try:
        return re.compile(rf"(?:^|\b)(?:{_filled(expression, words, path)})")
    except re.error as error:
        raise BadFile(path, f"not a regular expression: {error}: {expression[:60]}") from error


def _filled(expression: str, words: Mapping[str, str], path: Path) -> str:
    """The expression with every `<name>` put in."""

    def fill(match: re.Match[str]) -> str:
        if match.group(1) not in words:
            raise BadFile(path, f"no word list '{match.group(1)}'", hint=nearest(match.group(1), words))
        return f"(?:{words[match.group(1)]})" if match.group(1) != "gap" else words["gap"]

    return re.sub(r"(?<!\(\?)<([a-z_]+)>", fill, expression)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadFile(path, f"not TOML: {error}") from error
