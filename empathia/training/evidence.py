"""What is known of a corpus' examples besides their words, from the files that a recipe names in `data.evidence`.

- `enriched`: what `empathia enrich` wrote of the corpus. Causes and the turns' labels; of the reply, for losses only,
  its label, mechanisms and sentiment.
- `ed-intents`: the authors' labels of EmpatheticDialogues' turns, and of the reply.
- any other name: `EMPATHIA_HOME/evidence/CORPUS-SPLIT.NAME.jsonl`, or a path in which `{split}` stands for the split.
  A line is about one example, and holds its `id` and any of `causes` ([0, 2]), `turn_labels` (["sad", …]),
  `inferences` ({"xReact": ["hurt", …], …}) and `exemplars` (["a reply", …] or objects with `reply`).

Later names add to earlier ones and win over them. An example that a file does not speak of keeps what it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core import places
from ..core.errors import BadFile
from ..core.files import existing, read_jsonl
from ..core.types import Example, Exemplar, Inference
from ..corpora import load

Known = Mapping[str, tuple[dict[str, Any], dict[str, Any]]]  # example → fields of Evidence, fields of Gold


def with_evidence(examples: Sequence[Example], names: Sequence[str], corpus: str, split: str) -> list[Example]:
    made = list(examples)
    for name in names:
        known = _enriched(corpus, split) if name == "enriched" else _intents(split) if name == "ed-intents" else None
        known = _file(file_of(name, corpus, split)) if known is None else known
        made = [_told(example, *known[example.id]) if example.id in known else example for example in made]
    return made


def file_of(name: str, corpus: str, split: str) -> Path:
    """Where the evidence of this name stands."""
    if "/" in name or name.endswith(".jsonl"):
        return Path(name.replace("{split}", split)).expanduser()
    return places.home() / "evidence" / f"{corpus}-{split}.{name}.jsonl"


def _told(example: Example, evidence: dict[str, Any], gold: dict[str, Any]) -> Example:
    return replace(example, evidence=example.evidence.with_(**evidence), gold=replace(example.gold, **gold))


def _file(path: Path) -> Known:
    hint = f"make it with: empathia evidence {path.name.removesuffix('.jsonl').rpartition('.')[2]}"
    known: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for line, row in read_jsonl(existing(path, hint)):
        if not isinstance(row.get("id"), str):
            raise BadFile(path, "field 'id' must be an example's id", line=line, column="id")
        try:
            found = {name: read(row[name]) for name, read in FIELDS.items() if name in row}
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise BadFile(path, f"cannot be understood: {error}", line=line) from error
        known[row["id"]] = (found, {})
    return known


def _exemplar(value: Any) -> Exemplar:
    return Exemplar(value) if isinstance(value, str) else Exemplar(**value)


#: a field of Evidence → how it is read from JSON
FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "causes": lambda turns: tuple(int(turn) for turn in turns),
    "turn_labels": lambda labels: tuple(str(label) for label in labels),
    "inferences": lambda groups: tuple(Inference(r, str(tail)) for r, tails in groups.items() for tail in tails),
    "exemplars": lambda replies: tuple(map(_exemplar, replies)),
}


def _enriched(corpus: str, split: str) -> Known:
    path = places.home() / "enriched" / f"{corpus}-{split}.jsonl"
    known = {}
    for line, row in read_jsonl(existing(path, f"make it with: empathia enrich {corpus} --split {split}")):
        try:
            turns = row["turns"]
            labels = tuple(turn["label"] for turn in turns)
            for i in range(1, len(turns)):
                if turns[i]["speaker"] == "listener":
                    seen = turns[i - 1].get("evidence", {})
                    evidence = {"causes": tuple(seen.get("causes", ())), "turn_labels": labels[:i]}
                    gold = {name: turns[i].get(name) for name in ("mechanisms", "sentiment")} | {"intent": labels[i]}
                    known[f"{row['id']}#{i}"] = (evidence, gold)
        except (TypeError, KeyError, AttributeError) as error:
            raise BadFile(path, f"not enriched: {error}", line=line, hint="make it again: empathia enrich") from error
    return known


def _intents(split: str) -> Known:
    """Ids are CONVERSATION#TURN, so an example's own id is that of its reply."""
    labels = {row.id: row.label for row in load("ed-intents", split)}
    known = {}
    for name, label in labels.items():
        dialogue, _, turn = name.rpartition("#")
        before = [labels.get(f"{dialogue}#{i}") for i in range(int(turn))]
        known[name] = ({"turn_labels": tuple(before)} if all(before) else {}, {"intent": label})
    return known
