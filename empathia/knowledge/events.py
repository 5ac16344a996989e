"""An utterance as events in ATOMIC's manner: «I lost my job and Anna left me» → «personx loses personx's job»,
«persony leaves personx».

Light-handed on purpose: clauses by punctuation and conjunctions, pronouns and names by a table, the first verb after
the speaker into the present by a table and two rules. What it gets wrong is a little farther from the heads of the
store, and no more: heads are found by meaning, not by form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .wordlists import listed, paired

#: A text this long is read no further: an event is short, and a chat message holds a few.
_LONGEST, _MOST = 4000, 6
_FEWEST_WORDS, _MOST_WORDS = 2, 16

_SENTENCE = re.compile(r"[^.!?;\n…]+[.!?;\n…]*")
_PAUSE = re.compile(r"\s*(?:,|:|\(|\)|—|–| - )\s*")
#: A new clause begins before one of these, if a subject follows.
_JOINT = re.compile(
    r"\s+(?:and|but|because|so|when|while|after|before|since|although|though|until|then|as|if|that)\s+"
    r"(?=(?:then |now |today |yesterday )?(?:(?i:i|we|i'm|i've|we're|we've|he|she|they|my|our|his|her|their|the|it|you|"
    r"this|someone|everyone|nobody)\b|[A-Z][a-z]+\b))"
)
#: The same subject does one more thing.
_ALSO = re.compile(r"\s+(?:and|but)\s+(?:then\s+|\w+ly\s+)?(?=([a-z]+)\b)")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|\d+")
_QUESTION = re.compile(
    r"^(?:how|what|why|where|who|which|do|did|are|is|can|could|would|will|have|has)\s+(?:you|your)\b"
)

_OPENERS, _FILLERS, _NO_NAMES = listed("openers"), listed("fillers"), listed("no_names")
_BEFORE_PLACES, _POINTING, _MODAL = listed("before_places"), listed("pointing"), listed("modal")
_SHORT, _PAST = paired("short"), paired("past")
_PERSONS = {word: person for person, words in paired("persons").items() for word in words.split()}
_AUXILIARY = frozenset(("have", "has", "had"))
#: A stem that had an e before -ed: mov(e), decid(e), ignor(e), graduat(e), invit(e).
_LOST_E = re.compile(r"([cvu]|[^n]g|[^s]s|z|[^aeiou][aeiou][dkpm]|[^aeiou][aiou]r|[^eo]at|nvit|xcit)$")


def events(text: str) -> list[str]:
    """The events of an utterance, in their order and at most six; [] where nothing happens in it."""
    found: list[str] = []
    for clause in clauses(text[:_LONGEST]):
        made = event(clause)
        if made and made not in found:
            found.append(made)
        if len(found) == _MOST:
            break
    return found


def clauses(text: str) -> Iterator[str]:
    """Pieces of an utterance that may each tell of one event."""
    text = text.replace("’", "'")
    for sentence in _SENTENCE.findall(text):
        if not _QUESTION.match(sentence.strip().lower()):
            for part in _PAUSE.split(_lowered_start(sentence, text)):
                for clause in _JOINT.split(part):
                    yield from _one_verb_each(clause)


def _one_verb_each(clause: str) -> Iterator[str]:
    """«I studied and passed» as «I studied», «I passed»; only where a past verb follows the conjunction."""
    subject, start = clause.split(" ", 1)[0], 0
    subject = "i" if subject.lower().startswith("i'") else subject
    for joint in _ALSO.finditer(clause):
        if _is_past(joint[1]) and subject.lower() in _PERSONS:
            yield f"{subject} {clause[start : joint.start()]}" if start else clause[: joint.start()]
            start = joint.end()
    yield f"{subject} {clause[start:]}" if start else clause


def event(clause: str) -> str:
    """One clause as an event of PersonX and others; "" if nothing is told in it."""
    words = [word for raw in _WORD.findall(clause) for word in _opened(raw).split()]
    words = _without_openers(words)
    if "personx" in (word.lower() for word in words):
        return " ".join(clause.lower().split()).rstrip(".!?")
    names: dict[str, str] = {}
    made = [_person(word, before, names) for before, word in pairwise(["", *words]) if word.lower() not in _FILLERS]
    if made and made[0] in _PAST:
        made = ["personx", *made]  # «Got fired today.»
    if len(made) < _FEWEST_WORDS or not _has_subject(made):
        return ""
    return " ".join(_present(made)[:_MOST_WORDS])


def spoken(head: str) -> str:
    """A head or event in words that a sentence encoder knows: PersonX speaks of herself."""
    said = re.sub(r"\bpersonx ?'s\b", "my", head.lower())
    said = re.sub(r"^personx\b", "i", said)
    said = re.sub(r"\bpersonx\b", "me", said)
    said = re.sub(r"\bpersony ?'s\b", "someone's", said).replace("persony", "someone")
    return " ".join(said.replace("personz", "someone else").replace("___", "something").split())


def _lowered_start(sentence: str, text: str) -> str:
    """The first word in lower case, so that it is not taken for a name; unless it has its capital elsewhere, too."""
    stripped = sentence.strip().rstrip(".!?;…")
    first = re.match(r"\w*", stripped)[0]  # type: ignore[index]
    named = re.search(rf"[a-z,] {re.escape(first)}\b", text) is not None
    return stripped if named else first.lower() + stripped[len(first) :]


def _opened(word: str) -> str:
    """A contraction in full, its capital kept."""
    low = word.lower()
    if low in _SHORT:
        return _SHORT[low]
    if low.endswith("n't"):
        return f"{word[:-3]} not"
    return word


def _without_openers(words: list[str]) -> list[str]:
    start = 0
    while start < len(words) and words[start].lower() in _OPENERS:
        start += 1
    return words[start:]


def _person(word: str, before: str, names: dict[str, str]) -> str:
    """A word with people told apart: the speaker is PersonX, the first name PersonY, other names PersonZ."""
    low = word.lower()
    if low in _PERSONS:
        return _PERSONS[low]
    plain, owner = (word[:-2], "'s") if low.endswith("'s") else (word, "")
    name = plain[:1].isupper() and plain[1:].islower() and plain.lower() not in _NO_NAMES
    if name and before.lower() not in _BEFORE_PLACES:
        return names.setdefault(plain, "personz" if names else "persony") + owner
    return low


def _has_subject(words: list[str]) -> bool:
    """Whether somebody or something does or is something: a person first, or what belongs to one, and then more."""
    first = words[0]
    if first in ("personx", "persony", "personz") or "personx" in words or "personx's" in words:
        return True
    if len(words) < 3 or first in _POINTING:
        return False
    return first.endswith("'s") or any(word in _PAST or word.endswith("ed") for word in words[1:4])


def _present(words: list[str]) -> list[str]:
    """The verb after its subject in the third person of the present, as in ATOMIC."""
    place = 1 if words[0] in ("personx", "persony", "personz") else 2 if words[0].endswith("'s") else -1
    if not 0 < place < len(words):
        return words
    while place + 1 < len(words) and words[place] in _AUXILIARY and _is_past(words[place + 1]):
        words = [*words[:place], *words[place + 1 :]]
    return [*words[:place], _third_person(words[place]), *words[place + 1 :]]


def _is_past(word: str) -> bool:
    return word in _PAST or word.endswith("ed")


def _third_person(verb: str) -> str:
    if verb in _PAST:
        return _PAST[verb]
    if verb in _MODAL or verb.endswith(("s", "ing", "ly")):
        return verb
    stem = verb
    if verb.endswith("ied") and len(verb) > 4:
        stem = verb[:-3] + "y"
    elif verb.endswith("ed") and len(verb) > 4:
        stem = verb[:-2]
        if len(stem) > 3 and stem[-1] == stem[-2] and (stem[-1] not in "lsfz" or len(stem) > 6):
            stem = stem[:-1]
        elif _LOST_E.search(stem):
            stem += "e"
    if re.search(r"[^aeiou]y$", stem):
        return stem[:-1] + "ies"
    return stem + ("es" if stem.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
