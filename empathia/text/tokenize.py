"""The field's tokenisation: lower case, contractions written out, words and punctuation apart.

MoEL, MIME, CEM and KEMP replace 23 contractions by plain substring, which also fires inside words
("doggie's" …), then call NLTK. Ours replaces the same ones at word boundaries, and splits with one
regular expression that keeps the Treebank habits that matter here: n't, 's, 'll … are tokens.
"""

from __future__ import annotations

import re
import unicodedata

CONTRACTIONS: dict[str, str] = {
    "it's": "it is", "don't": "do not", "doesn't": "does not", "didn't": "did not", "you'd": "you would",
    "you're": "you are", "you'll": "you will", "i'm": "i am", "they're": "they are", "that's": "that is",
    "what's": "what is", "couldn't": "could not", "i've": "i have", "we've": "we have", "can't": "cannot",
    "i'd": "i would", "aren't": "are not", "isn't": "is not", "wasn't": "was not", "weren't": "were not",
    "won't": "will not", "there's": "there is", "there're": "there are",
}  # fmt: skip

_CONTRACTION = re.compile(r"(?<![\w'])(?:" + "|".join(map(re.escape, CONTRACTIONS)) + r")(?!\w)")
_CLITIC = r"'(?:s|re|ve|ll|d|m|t)(?!\w)"
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)+"  # 200,000  3.5  10:30
    rf"|[^\W_]+(?=n't(?!\w))|n't(?!\w)|{_CLITIC}"  # would n't, she 's
    rf"|[^\W_]+(?:-[^\W_]+|(?!{_CLITIC})'[^\W_]+)*"  # well-being, o'clock, ps4
    r"|\.{2,}|[^\w\s]|_"
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "`": "'", "…": "..."})


def tokenize(text: str) -> list[str]:
    """Words and punctuation of `text`, lower-cased, contractions written out."""
    text = text.translate(_QUOTES).lower()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if "'" in text:
        text = _CONTRACTION.sub(lambda m: CONTRACTIONS[m.group()], text)
    return _TOKEN.findall(text)


_NO_SPACE_BEFORE = re.compile(r" (?=[.,!?;:%)\]}]|n't(?!\w)|" + _CLITIC + ")")
_NO_SPACE_AFTER = re.compile(r"(?<=[(\[{$#]) ")
_SENTENCE = re.compile(r"(^|[.!?] )([a-z])")
_I = re.compile(r"\bi\b")


def detokenize(tokens: list[str]) -> str:
    """Tokens as a person would write them: closed-up punctuation, capitals at sentence starts and for «I»."""
    text = _NO_SPACE_AFTER.sub("", _NO_SPACE_BEFORE.sub("", " ".join(tokens)))
    text = _I.sub("I", text)
    return _SENTENCE.sub(lambda m: m.group(1) + m.group(2).upper(), text)
