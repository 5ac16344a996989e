"""What is known of a corpus' examples besides their words, from the files that a recipe names in `data.evidence`.

- `enriched`: what `empathia enrich` wrote of the corpus. Causes, the emotion and the turns' labels; of the reply, for
  losses only, its label, mechanisms and sentiment.
- `ed-intents`: the authors' labels of EmpatheticDialogues' turns, and of the reply.
- any other name: `EMPATHIA_HOME/evidence/CORPUS-SPLIT.NAME.jsonl`, or a path in which `{split}` stands for the split.
  A line is about one example, and holds its `id` and any of `causes` ([0, 2]), `turn_labels` (["sad", …]),
  `inferences` ({"xReact": ["hurt", …], …}) and `exemplars` (["a reply", …] or objects with `reply`).

Later names add to earlier ones and win over them. An example that a file does not speak of keeps what it has.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..core import places
from ..core.errors import BadFile
from ..core.files import existing, read_jsonl
from ..core.locks import locked
from ..core.types import Context, Evidence, Example, Exemplar, Inference
from ..corpora import load

#: examples whose evidence is found together; what a kill can lose
CHUNK = 128

#: contexts and what is known of them → the same with more known
Finding = Callable[[Sequence[Context], Sequence[Evidence]], Sequence[Evidence]]
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
    hint = f"make it with: empathia evidence {path.name.removesuffix('.jsonl').rpartition('.')[2]} --split …"
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


def _plain(name: str, evidence: Evidence) -> Any:
    """A field of Evidence as `FIELDS` reads it."""
    value = getattr(evidence, name) or ()
    if name == "inferences":
        relations = dict.fromkeys(inference.relation for inference in value)
        return {r: [inference.text for inference in value if inference.relation == r] for r in relations}
    return [asdict(one) for one in value] if name == "exemplars" else list(value)


def write_evidence(
    examples: Sequence[Example],
    name: str,
    path: Path,
    find: Finding,
    advance: Callable[[int], None] = lambda n: None,
) -> int:
    """One field of Evidence for every example into `path`, going on where an earlier call stopped; how many lines were
    already there. Lines stand in `….part` until the last is done."""
    if path.exists():
        done = _finished(path, examples, name)
        if done < len(examples):
            raise BadFile(path, f"is there already, with {done:,} of {len(examples):,} examples", hint=_AGAIN)
        advance(done)
        return done
    part = path.with_name(path.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    part.touch()
    with locked(part):
        whole = part.read_bytes().rfind(b"\n") + 1
        os.truncate(part, whole)  # a kill may have cut the last line
        done = _finished(part, examples, name)
        advance(done)
        with part.open("a", encoding="utf-8") as lines:
            for start in range(done, len(examples), CHUNK):
                some = examples[start : start + CHUNK]
                found = find([e.context for e in some], [e.evidence for e in some])
                for example, evidence in zip(some, found, strict=True):
                    row = {"id": example.id, name: _plain(name, evidence)}
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
                lines.flush()
                os.fsync(lines.fileno())
                advance(len(some))
        part.replace(path)
    return done


_AGAIN = "remove it, or name another file with --out"


def _finished(path: Path, examples: Sequence[Example], name: str) -> int:
    """How many lines there are, which must be about the first examples, in their order."""
    count = 0
    for line, row in read_jsonl(path):
        if line > len(examples) or row.get("id") != examples[line - 1].id or name not in row:
            raise BadFile(path, "is there already, made from other examples", line=line, hint=_AGAIN)
        count += 1
    return count


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
                    evidence |= {"emotion": seen["emotion"]} if "emotion" in seen else {}
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
