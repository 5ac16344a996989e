"""NRC EmoLex (Mohammad and Turney, 2013) in the form EmpDG and CEM use: a word list and a value per word.

The file is `[[word, …], {word: 0 | 1 | 2, …}]`; what the values say is not documented by those who made it.
A spreadsheet has turned the word «true» into 1 in both; it is read as the word it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..core.errors import BadFile
from ..core.files import read_json
from .base import Corpus, Files, Refuse, Source
from .rows import quoted
from .types import EmotionWord

FILE = "NRCDict.json"
AUTHORS = "https://raw.githubusercontent.com/Sahandfer/CEM/5f15d124e6afa9f296d227c1225956ad83999967/data"


def read(files: Files, split: str, refuse: Refuse) -> list[EmotionWord]:
    path = files.need(FILE)
    whole = read_json(path)
    if (
        not isinstance(whole, list)
        or len(whole) != 2
        or not isinstance(whole[0], list)
        or not isinstance(whole[1], dict)
    ):
        raise BadFile(path, "must be a list of a word list and an object with a value per word")
    values = {"true" if word == "1" else word: value for word, value in whole[1].items()}
    words = []
    for i, word in enumerate(whole[0], 1):
        word = "true" if word == 1 else word
        value = values.get(word) if isinstance(word, str) else None
        if not isinstance(word, str) or not word.strip():
            refuse(BadFile(path, f"entry {i} of the word list is not a word", column=i))
        elif value not in (None, 0, 1, 2) or isinstance(value, float):
            refuse(BadFile(path, f"the value of {quoted(word)} is not 0, 1 or 2", column=word))
        else:
            words.append(EmotionWord(word, value))
    return words


def measures(words: list[EmotionWord]) -> Mapping[str, float]:
    return {"words": len(words), "words with a value above 0": sum(bool(w.value) for w in words)}


def labels(word: EmotionWord) -> Iterable[str]:
    return ("none" if word.value is None else str(word.value),)


CORPUS = Corpus(
    name="nrc",
    title="NRC EmoLex word list",
    citation="Mohammad and Turney (2013), Crowdsourcing a Word-Emotion Association Lexicon, Computational Intelligence",
    licence="research only",
    folder="nrc",
    splits=("all",),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="value",
    sources=(Source(FILE, f"{AUTHORS}/{FILE}"),),
    by_hand="the lexicon itself, with its terms: https://saifmohammad.com/WebPages/NRC-Emotion-Lexicon.htm",
)
