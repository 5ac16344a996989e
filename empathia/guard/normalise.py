"""Text as the rules read it: small letters, whole words, sentences parted by ` . `, disguises undone.

`plain("I wanna k i l l myslef 2night!!")` is `"i want to kill myself tonight ."`. The rules and the classifier see
nothing else, so a new disguise is undone here once and not in every rule.
"""

from __future__ import annotations

import re
import unicodedata

#: read at most so much of one message, from both ends: nobody types more, and time stays bounded
LONGEST = 12_000

_SAME = str.maketrans(
    {
        **dict.fromkeys("’‘`´ʼ＇", "'"), **dict.fromkeys("“”«»„", '"'), "…": ".", "—": ",", "–": ",",
        "а": "a", "е": "e", "і": "i", "о": "o", "р": "p", "с": "c", "у": "y", "х": "x", "ѕ": "s", "ı": "i",
    }
)  # fmt: skip
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff\u0300-\u036f]")
_LEET = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i", "|": "l"}
)
#: a run of letters and their look-alikes; within it, a look-alike between two letters, or before three
_RUN = re.compile(r"[a-z0-9@$!|]+")
_INSIDE = re.compile(r"[a-z][0-9@$!|]+[a-z]")
_BEFORE = re.compile(r"[@$5][a-z]{3,}")
_NUMBER_WORD = re.compile(r"\d+(?:st|nd|rd|th|am|pm|kg|km|cm|mm|mg|ml|k|m|s|x|yo|hrs?|mins?|am|year|years|days?)")
_STARRED = re.compile(r"\b[a-z]+[*#]+[a-z]*")
_SPACED = re.compile(r"(?<![a-z'])(?:[a-z][ ._\-*]{1,3}){2,}[a-z](?![a-z'])")
_REPEATED = re.compile(r"([a-z])\1{2,}")
_SENTENCE_END = re.compile(r"[.!?;\n\r]+")
_COMMA = re.compile(r"[,:()\[\]/\"]+|\s-+\s|\.{2,}")
_JUNK = re.compile(r"[^a-z0-9', .]+")

#: words hidden behind stars: k*ll, su*cide, r*ped
_HIDDEN = (
    "kill", "killing", "killed", "die", "dead", "suicide", "suicidal", "rape", "raped", "raping", "rapes", "murder",
    "shoot",    "stab", "cut", "cutting", "hang", "abuse", "abused", "molested", "overdose", "self",
)  # fmt: skip

#: written one way (or several), read another: single words
_READ_AS = {
    "suicide": "sucide suicde suiside suicid suecide sewerslide suecide suicied",
    "suicidal": "sucidal suicidle suisidal suicdal suicidel",
    "kill myself": "kms kmyself killmyself killmyslef",
    "i want to die": "iwannadie iwanttodie wannadie wanttodie",
    "end my life": "endmylife",
    "kill yourself": "kys",
    "unalive": "unaliving unalived unlive",
    "catch the bus": "ctb",
    "self harm": "selfharm",
    "self harming": "selfharming",
    "myself": "myslef mysefl mysel myslf meself",
    "himself": "hisself",
    "themselves": "themself theirselves",
    "want to": "wanna wana wanan wnna wanto",
    "want": "wnat wan wnt waant",
    "going to": "gonna gunna gona ganna finna boutta bouta",
    "i am going to": "imma ima i'ma",
    "going": "goin goign gonig",
    "trying to": "tryna",
    "got to": "gotta",
    "have to": "hafta",
    "ought to": "oughta",
    "kill": "kil kll killl kiill",
    "killing": "kiling klling killin",
    "die": "diee dieee dy",
    "commit": "comit comitt committ",
    "committing": "comitting commiting",
    "overdose": "od overdoes",
    "overdosed": "od'd oded od'ed",
    "overdosing": "oding od'ing",
    "boyfriend": "bf boyfreind",
    "girlfriend": "gf girlfreind",
    "best friend": "bff bestie besty",
    "friend": "freind",
    "mother": "mum mom mam mommy mummy mama momma",
    "father": "dad daddy papa",
    "stepfather": "stepdad",
    "stepmother": "stepmom stepmum",
    "grandfather": "grandpa granddad grandad gramps",
    "grandmother": "grandma granny nan nana gran",
    "husband": "hubby",
    "wife": "wifey",
    "neighbour": "neighbor",
    "neighbours": "neighbors",
    "tonight": "2nite 2night tonite tn tonght",
    "right now": "rn atm",
    "you": "u ya yu",
    "your": "ur",
    "because": "bc cuz cos coz becuz cause",
    "anymore": "anymor",
    "nobody": "noone no-one",
    "everybody": "everyone everbody",
    "somebody": "someone",
    "anybody": "anyone",
    "really": "realy rly rlly",
    "can not": "cannot cant can't",
    "will not": "wont won't",
    "do not": "dont dnt don't",
    "am not": "aint ain't",
    "i am": "im i'm iam",
    "i have": "ive i've",
    "she is": "shes",
    "he is": "hes",
    "that is": "thats",
    "what is": "whats",
    "there is": "theres",
    "it is": "it's",
    "let us": "let's",
}
_WORDS = {written: read for read, forms in _READ_AS.items() for written in forms.split()}
_WORDS |= {
    f"{verb}n{mark}t": f"{verb} not"
    for verb in ("does", "did", "is", "was", "were", "are", "could", "would", "should", "have", "has", "had")
    for mark in ("'", "")
}
#: endings after an apostrophe; 's is read as «is» only after these words, else it marks a possession
_ENDINGS = {"ll": "will", "re": "are", "ve": "have", "d": "would", "m": "am"}
_IS = {
    "he", "she", "it", "that", "there", "what", "who", "how", "where", "here", "everything", "nothing", "life",
    "nobody",
    "everybody", "somebody", "father", "mother", "stepfather", "stepmother", "brother", "sister", "husband", "wife",
    "boyfriend", "girlfriend",
}  # fmt: skip
#: two words that are one, or that mean something else together
_PHRASES = (
    (re.compile(r"\b(my|him|her) self\b"), r"\1self"),
    (re.compile(r"\bsewer slide\b"), "suicide"),
    (re.compile(r"\bun alive\b"), "unalive"),
    (re.compile(r"\bstep (father|mother)\b"), r"step\1"),
    (re.compile(r"\bkill my self\b"), "kill myself"),
    (re.compile(r"\bslef harm"), "self harm"),
    (re.compile(r"\bover dos(e|ed|ing)\b"), r"overdos\1"),
    (re.compile(r"\bany more\b"), "anymore"),
    (re.compile(r"\bno one\b"), "nobody"),
    (re.compile(r"\b(every|some|any) one\b"), r"\1body"),
    (re.compile(r"\bi m\b"), "i am"),
    (re.compile(r"\bill (?=be|kill|just|never|do|take|end|jump|hang|shoot|go|die|make|hurt|cut)"), "i will "),
    (re.compile(r"\bid (?=be|rather|kill|like|die|just|never)"), "i would "),
)
_TO = re.compile(r"\b(want|going|need|ready|trying|like|about) 2\b")


def _close(word: str) -> set[str]:
    """All spellings one slip away from `word` that keep its first letter."""
    found = {word[:i] + word[i + 1 :] for i in range(1, len(word))}
    found |= {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1)}
    for letter in "abcdefghijklmnopqrstuvwxyz":
        found |= {word[:i] + letter + word[i:] for i in range(1, len(word) + 1)}
        found |= {word[:i] + letter + word[i + 1 :] for i in range(1, len(word))}
    return found - {word}


_SLIPS = {
    slip: word
    for word in ("suicide", "suicidal", "myself", "himself", "herself", "overdose", "killing", "anymore", "tonight")
    for slip in _close(word)
    if slip not in {"suicides", "overdosed", "overdoses", "kissing", "kicking", "keeling", "overdone", "hersel"}
}


def plain(text: str) -> str:
    """A message in the form that rules and classifier read."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} . {text[-LONGEST // 2 :]}"
    text = unicodedata.normalize("NFKD", text.translate(_SAME)).translate(_SAME)
    text = _INVISIBLE.sub("", text).lower()
    text = _TO.sub(r"\1 to", text)
    text = _RUN.sub(_undisguised, text)
    if "*" in text or "#" in text:
        text = _STARRED.sub(_unstar, text)
    text = _SPACED.sub(lambda m: re.sub(r"[^a-z]", "", m.group()), text)
    text = _REPEATED.sub(r"\1\1", text)
    text = _COMMA.sub(" , ", text)
    text = _SENTENCE_END.sub(" . ", text)
    text = _JUNK.sub(" ", text.replace("-", " "))
    text = " ".join(_read(word) for word in text.split())
    for pattern, value in _PHRASES:
        text = pattern.sub(value, text)
    return text


def _read(word: str) -> str:
    """One word as it is meant: spelled out, put right, its short endings made whole."""
    known = _WORDS.get(word) or _SLIPS.get(word)
    if known is not None:
        return known
    if "'" not in word:
        return word
    stem, _, ending = word.rpartition("'")
    stem = _WORDS.get(stem, stem)
    if ending == "s":
        return f"{stem} is" if stem in _IS else f"{stem} s"
    return f"{stem} {_ENDINGS[ending]}" if stem and ending in _ENDINGS else word.replace("'", "")


def sentences(plain_text: str) -> list[str]:
    """The sentences of a plain text, without the empty ones."""
    return [part for part in (piece.strip(" ,") for piece in plain_text.split(" . ")) if part not in ("", ".")]


def _undisguised(match: re.Match[str]) -> str:
    run = match.group()
    if run.isalpha():
        return run
    return _unleet(run) if _INSIDE.search(run) else _BEFORE.sub(lambda part: _unleet(part.group()), run)


def _unleet(word: str) -> str:
    if _NUMBER_WORD.fullmatch(word):
        return word
    ending = len(word) - len(word.rstrip("!"))  # a shout is no letter
    body = word[: len(word) - ending] if ending else word
    return body.translate(_LEET) + word[len(body) :]


def _unstar(match: re.Match[str]) -> str:
    hidden = re.compile(re.sub(r"[*#]+", lambda stars: rf"[a-z]{{1,{len(stars.group()) + 1}}}", match.group()))
    return next((word for word in _HIDDEN if hidden.fullmatch(word)), match.group())
