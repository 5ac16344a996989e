"""EmpathyMentalHealth (Sharma et al., 2020), the public Reddit part: how a response shows empathy.

Three files of the same 3,084 post-response pairs, one per mechanism (emotional reactions, interpretations,
explorations), each with a level (0 none, 1 weak, 2 strong) and the rationales: parts of the response,
separated by `|`. A few rationales are not verbatim in the response, and some pairs occur twice; both stay as
published. There is no published split.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..core.errors import BadFile
from .base import Corpus, Files, Refuse, Source
from .counts import of_texts
from .rows import csv_table, decoded, quoted
from .types import MechanismPair

FILES = {
    "emotional_reaction": "emotional-reactions-reddit.csv",
    "interpretation": "interpretations-reddit.csv",
    "exploration": "explorations-reddit.csv",
}
COLUMNS = ("sp_id", "rp_id", "seeker_post", "response_post", "level", "rationales")
COMMIT = "741a8df4d3bc5301f0426e0c72e1d8e354c42fd3"
AUTHORS = f"https://raw.githubusercontent.com/behavioral-data/Empathy-Mental-Health/{COMMIT}/dataset"


def read(files: Files, split: str, refuse: Refuse) -> list[MechanismPair]:
    pairs = []
    for mechanism, name in FILES.items():
        path = files.need(name)
        for line, row in csv_table(decoded(path.read_bytes(), path, refuse), path, COLUMNS, refuse):
            post, answer, seeker, response, level, marked = row
            if level not in ("0", "1", "2"):
                refuse(BadFile(path, f"{quoted(level)} is not 0, 1 or 2", line=line, column="level"))
            elif not seeker.strip():
                refuse(BadFile(path, "is empty", line=line, column="seeker_post"))
            elif not response.strip():
                refuse(BadFile(path, "is empty", line=line, column="response_post"))
            else:
                rationales = tuple(part.strip() for part in marked.split("|") if part.strip())
                pairs.append(
                    MechanismPair(
                        f"{post}_{answer}", seeker.strip(), response.strip(), mechanism, int(level), rationales
                    )
                )
    return pairs


def measures(pairs: list[MechanismPair]) -> Mapping[str, float]:
    return {
        **of_texts("labelled responses", (p.response for p in pairs)),
        "distinct pairs": len({p.id for p in pairs}),
        "with rationales": sum(bool(p.rationales) for p in pairs),
    }


def labels(pair: MechanismPair) -> Iterable[str]:
    return (f"{pair.mechanism} {pair.level}",)


CORPUS = Corpus(
    name="empathy-mental-health",
    title="EmpathyMentalHealth (Reddit)",
    citation="Sharma et al. (2020), A Computational Approach to Understanding Empathy Expressed in Text, EMNLP",
    licence="research",
    folder="empathy_mental_health",
    splits=("all",),
    read=read,
    measures=measures,
    labels=labels,
    label_kind="mechanism and level",
    sources=tuple(Source(name, f"{AUTHORS}/{name}") for name in FILES.values()),
)
