"""All of perception for a corpus: batched, and resumable.

Finished lines stand in a file beside the result, `….part`; it becomes the result when the last is done. A killed run
goes on after its last whole line.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from ..core.errors import BadFile
from ..core.files import read_jsonl
from ..core.locks import locked
from ..core.types import Context, Dialogue
from .enriched import EnrichedDialogue
from .perception import Perception, levels
from .sentiment import sentiment

#: dialogues that are perceived together; what a kill can lose
CHUNK = 32


def enrich(
    dialogues: Sequence[Dialogue], perception: Perception, version: str = "", labels_only: bool = False
) -> list[EnrichedDialogue]:
    """All of perception for some dialogues, batched over all of their turns; or only what each turn says by itself."""
    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    labels = iter([max(one, key=one.__getitem__) for one in perception.utterances([turn.text for turn in turns])])
    related = [] if labels_only else dialogues
    answers = [Context(d.turns[:i]) for d in related for i in range(len(d.turns)) if _answers(d, i)]
    replies = [d.turns[i].text for d in related for i in range(len(d.turns)) if _answers(d, i)]
    shown = iter(perception.mechanisms(answers, replies) if answers else [])
    waiting = [Context(d.turns[: i + 1]) for d in related for i in range(len(d.turns)) if _waits(d, i)]
    seen = iter(perception.contexts(waiting) if waiting else [])
    return [
        EnrichedDialogue(
            d,
            tuple(next(labels) for _ in d.turns),
            tuple(sentiment(turn.text) for turn in d.turns),
            tuple(levels(next(shown)) if answers and _answers(d, i) else None for i in range(len(d.turns))),
            tuple(next(seen) if waiting and _waits(d, i) else None for i in range(len(d.turns))),
            version,
        )
        for d in dialogues
    ]


def _answers(dialogue: Dialogue, i: int) -> bool:
    return i > 0 and dialogue.turns[i].speaker == "listener"


def _waits(dialogue: Dialogue, i: int) -> bool:
    """Whether a listener answers turn `i`, or still has to."""
    return _answers(dialogue, i + 1) if i + 1 < len(dialogue.turns) else dialogue.turns[i].speaker == "speaker"


def write_enriched(
    dialogues: Sequence[Dialogue],
    out: Path,
    perception: Perception,
    advance: Callable[[int], None] = lambda n: None,
    labels_only: bool = False,
) -> int:
    """Enrich into `out`, going on where an earlier call stopped; how many lines were already there."""
    version = version_of(perception.folder) + ("-labels" if labels_only else "")
    part = out.with_name(out.name + ".part")
    if not out.exists():
        part.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
        with locked(part):
            if not out.exists():  # else another process has finished it meanwhile
                return _go_on(dialogues, part, out, perception, version, advance, labels_only)
    hint = "remove it, or name another file with --out"
    done = _finished(out, dialogues, version, hint)
    if done < len(dialogues):
        raise BadFile(out, f"is already there, with {done:,} of {len(dialogues):,} dialogues", hint=hint)
    advance(done)
    return done


def _go_on(
    dialogues: Sequence[Dialogue],
    part: Path,
    out: Path,
    perception: Perception,
    version: str,
    advance: Callable[[int], None],
    labels_only: bool,
) -> int:
    _mend(part)
    done = _finished(part, dialogues, version, "remove it to start over")
    advance(done)
    rest = iter(dialogues[done:])
    with part.open("a", encoding="utf-8") as lines:
        while chunk := list(islice(rest, CHUNK)):
            for one in enrich(chunk, perception, version, labels_only):
                lines.write(json.dumps(one.as_dict(), ensure_ascii=False) + "\n")
            lines.flush()
            os.fsync(lines.fileno())
            advance(len(chunk))
    part.replace(out)
    return done


def _mend(part: Path) -> None:
    """Take away a last line that a kill has cut off."""
    raw = part.read_bytes()
    if not raw.endswith(b"\n"):
        os.truncate(part, raw.rfind(b"\n") + 1)


def _finished(path: Path, dialogues: Sequence[Dialogue], version: str, hint: str) -> int:
    """How many of the dialogues stand in `path`, which must hold the first of them and nothing else."""
    count = 0
    for line, row in read_jsonl(path):
        wanted = dialogues[line - 1] if line <= len(dialogues) else None
        texts = [turn.get("text") for turn in row.get("turns", [])]
        if wanted is None or row.get("id") != wanted.id or texts != [turn.text for turn in wanted.turns]:
            raise BadFile(path, "is there already, made from other dialogues", line=line, hint=hint)
        if row.get("perception") != version:
            raise BadFile(path, "is there already, made with other weights or other options", line=line, hint=hint)
        count += 1
    return count


def version_of(folder: Path) -> str:
    """Names the weights: the beginning of a hash over their files."""
    total = hashlib.sha256()
    for path in sorted([*folder.glob("*.onnx"), *folder.glob("*.safetensors"), folder / "calibration.json"]):
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:12]
