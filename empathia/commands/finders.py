"""Where a trained run's evidence comes from when it answers: perception, knowledge and exemplars behind one call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..core.errors import BadFile, BadInput, MissingFile, nearest
from ..core.types import Context, Evidence

if TYPE_CHECKING:
    from ..exemplars import Recall
    from ..knowledge import Inferrer
    from ..perception import Perception

#: fields of Evidence that can be found, in the order in which one rests on another
FINDABLE = ("emotion", "causes", "turn_labels", "inferences", "exemplars")
#: inferences of each relation, and exemplars, that are looked for
TAILS, EXEMPLARS = 5, 10
#: where exemplars are looked for, as in training; else in the project's own bank
BANK = "empathetic-dialogues"


class Finder:
    """Finds what `needs` names and is not known yet. Each source is opened when it is first asked; one that is not on
    this machine is said once, and the model answers without it."""

    def __init__(
        self, needs: Collection[str], announce: Callable[[str], None] | None = None, strict: bool = False
    ) -> None:
        for name in needs:
            if name not in FINDABLE:
                raise BadInput(f"'{name}' cannot be found", nearest(name, FINDABLE))
        rests_on = {"inferences": "causes", "exemplars": "emotion"}
        self.needs = {*needs, *(rests_on[name] for name in needs if name in rests_on)}
        self._say, self._strict = announce or (lambda line: None), strict
        self._missing: set[str] = set()

    def __call__(self, contexts: Sequence[Context], known: Sequence[Evidence] | None = None) -> list[Evidence]:
        found = list(known) if known is not None else [Evidence()] * len(contexts)
        for name in FINDABLE:
            rows = [i for i, one in enumerate(found) if getattr(one, name) is None]
            if name not in self.needs or name in self._missing or not rows:
                continue
            try:
                values = getattr(self, f"_{name}")([contexts[i] for i in rows], [found[i] for i in rows])
            except MissingFile as problem:
                if self._strict:
                    raise
                self._missing.add(name)
                self._say(f"answering without {name.replace('_', ' ')}: {problem}")
                continue
            for i, value in zip(rows, values, strict=True):
                found[i] = found[i].with_(**{name: value})
        return found

    def _emotion(self, contexts: Sequence[Context], known: Sequence[Evidence]) -> Iterable[Any]:
        return [seen.emotion for seen in self._perception.contexts(contexts, causes=False)]

    def _causes(self, contexts: Sequence[Context], known: Sequence[Evidence]) -> Iterable[Any]:
        return [seen["causes"] for seen in self._perception.causes(contexts)]

    def _turn_labels(self, contexts: Sequence[Context], known: Sequence[Evidence]) -> Iterable[Any]:
        texts = list(dict.fromkeys(turn.text for context in contexts for turn in context.turns))
        chances = self._perception.utterances(texts)
        label = {text: max(one, key=one.__getitem__) for text, one in zip(texts, chances, strict=True)}
        return [tuple(label[turn.text] for turn in context.turns) for context in contexts]

    def _inferences(self, contexts: Sequence[Context], known: Sequence[Evidence]) -> Iterable[Any]:
        from ..knowledge import RELATIONS, infer_all

        texts = [cause_text(context, seen.causes) for context, seen in zip(contexts, known, strict=True)]
        return infer_all(self._inferrer, texts, RELATIONS, TAILS)

    def _exemplars(self, contexts: Sequence[Context], known: Sequence[Evidence]) -> Iterable[Any]:
        return self._recall.exemplars_of(contexts, [seen.emotion for seen in known], EXEMPLARS)

    @cached_property
    def _perception(self) -> Perception:
        from ..perception import load

        return load()

    @cached_property
    def _inferrer(self) -> Inferrer:
        from ..knowledge import store

        return store(self._say)

    @cached_property
    def _recall(self) -> Recall:
        from ..exemplars import recall

        try:
            return recall(BANK, self._say)
        except (BadFile, MissingFile):  # never indexed here, or with another encoder
            return recall(announce=self._say)


def cause_text(context: Context, causes: Sequence[int] | None) -> str:
    """What the speaker said in the cause turns, or in all turns where no cause is known: knowledge is about events of
    the speaker's."""
    own = [i for i, turn in enumerate(context.turns) if turn.speaker == "speaker"]
    return "\n".join(context.turns[i].text for i in [i for i in own if i in (causes or ())] or own)
