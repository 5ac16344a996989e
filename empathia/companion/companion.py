"""The companion: perceive, recall, plan, generate, choose.

Each stage adds to one `Evidence`; the reply carries all of it, every candidate and the time of every stage. Parts that
are missing (no perception weights, an empty bank) are left out: the language model answers all the same.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..core import places
from ..core.errors import BadInput
from ..core.types import Candidate, Context, Evidence, Reply, Stop, Wish
from .choose import Judges, Meaning, Weights, ranked
from .common import Common
from .engines.contract import Engine, Generated, PromptTooLong, Sampling
from .knows import inferences, said
from .plan import Plan, plan, ways
from .prompt import END, Notes, messages, prompt

#: said where the model has nothing to say
SILENT = "I'm here, and I'm listening."
_WORD_LIMIT = 24


@dataclass(frozen=True)
class Settings:
    """The default's parts, each of which an ablation can leave out."""

    candidates: int = 4
    exemplars: int = 2
    feelings: int = 1  # emotions named to the model
    sure: float = 0.5  # and how likely one must be to be named: a wrong feeling is worse than none
    perceive: bool = True
    causes: bool = True
    recall: bool = True
    know: bool = False  # commonsense from the tuples on this machine; whether it helps is in docs/companion.md
    plan: bool = True
    choose: bool = True
    temperature: float = 0.4  # of the candidates that are not the likeliest words
    lively: float = 0.8  # where the caller wants variety, or a manner that likely words seldom show
    top_p: float = 0.92
    max_tokens: int = 60
    weights: Weights = field(default_factory=Weights)


class Companion:
    """A `Streamer`. Loads what it needs when it is first asked; `announce` hears of downloads."""

    name = "empathia"

    def __init__(
        self,
        model: str | None = None,
        settings: Settings | None = None,
        announce: Callable[[str], None] | None = None,
        unsafe: Callable[[str], bool] | None = None,
        bank: str | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self._model, self._announce, self._unsafe, self._bank = model, announce, unsafe, bank

    def reply(self, context: Context | str, wish: Wish | None = None) -> Reply:
        context = Context.of(context) if isinstance(context, str) else context
        for piece in self.stream(context, wish):
            if isinstance(piece, Reply):
                return piece
        return Reply(SILENT)

    def stream(self, context: Context, wish: Wish | None = None, stop: Stop | None = None) -> Iterator[str | Reply]:
        """With one candidate its pieces as they are written; with more, the chosen reply at once."""
        if not context.last.strip():
            raise BadInput("the message is empty", "say something")
        wish = wish or Wish()
        clock = _Clock()
        seed = seed_of(context, wish)
        evidence = self.perceive(context)
        clock.lap("perceive")
        evidence = self.recall(context, evidence)
        clock.lap("recall")
        if self._inferrer is not None:
            evidence = evidence.with_(inferences=inferences(self._inferrer, [context], [evidence])[0])
            clock.lap("know")
        chosen_plan = plan(evidence, wish, random.Random(seed)) if self.settings.plan or wish_is_set(wish) else Plan()
        n = wish.candidates or (self.settings.candidates if self.settings.choose else 1)
        if n == 1:
            notes = self.notes(context, evidence, chosen_plan)
            sampling = self._sampling(wish, seed, steady=True)
            yield from self._one(context, notes, sampling, evidence, chosen_plan, clock, stop)
            return
        found = self._fitting(context, lambda c: self._draw(c, evidence, chosen_plan, n, wish, seed, stop))
        clock.lap("generate")
        if stop is not None and stop.is_set():
            return
        candidates = self.choose(context, found, chosen_plan, evidence.polarity)
        clock.lap("choose")
        text = candidates[0].text if candidates else SILENT
        yield text
        yield Reply(text, _planned(evidence, chosen_plan), tuple(candidates), clock.laps)

    def altered(self, **changes: Any) -> Companion:
        """The same language model, with other settings."""
        other = Companion(self._model, replace(self.settings, **changes), self._announce, self._unsafe, self._bank)
        other.engine = self.engine
        return other

    def warm(self) -> None:
        """Load everything now, so that the first reply does not wait."""
        evidence = self.perceive(Context.of("Hello."))
        self.recall(Context.of("Hello."), evidence)
        self.engine.candidates(self._prompt(Context.of("Hello."), Notes()), 1, Sampling(max_tokens=1))
        self.choose(Context.of("Hello."), [Generated("Hello, how are you?", 5, -5.0)], Plan("questioning"))

    def close(self) -> None:
        if "engine" in self.__dict__:
            self.engine.close()

    # Stages --------------------------------------------------------------------------------------------------

    def perceive(self, context: Context) -> Evidence:
        if self._perception is None:
            return Evidence()
        found: Evidence = self._perception.contexts([context], causes=self.settings.causes)[0]
        return found

    def recall(self, context: Context, evidence: Evidence) -> Evidence:
        if self._recall is None:
            return evidence
        return evidence.with_(exemplars=self._recall.exemplars(context, evidence.emotion, self.settings.exemplars))

    def notes(self, context: Context, evidence: Evidence, plan: Plan) -> Notes:
        """What the language model is told of the evidence."""
        return Notes(
            feeling=feelings(evidence.emotion or {}, self.settings.feelings, self.settings.sure),
            cause=cause_text(context, evidence),
            knows=tuple(said(inference) for inference in evidence.inferences or ()),
            exemplars=tuple(exemplar.reply for exemplar in evidence.exemplars or ()),
            answer=plan.label or "",
            mechanisms=plan.mechanisms,
        )

    def choose(
        self, context: Context, found: Sequence[Generated], plan: Plan, good: float | None = None
    ) -> list[Candidate]:
        texts = [tidy(one.text) for one in found]
        fluency = [None if g.log_probability is None else g.log_probability / max(1, g.tokens) for g in found]
        return ranked(context, texts, fluency, plan, self._judges, self.settings.weights, good)

    # Parts ---------------------------------------------------------------------------------------------------

    @cached_property
    def engine(self) -> Engine:
        from .engines import open_engine

        return open_engine(self._model, self._announce)

    @cached_property
    def _perception(self) -> Any:
        from ..perception import Perception

        if not self.settings.perceive or not (places.shipped() / "perception" / "feeling.onnx").exists():
            return None
        return Perception()

    @cached_property
    def _recall(self) -> Any:
        from ..exemplars import recall

        return recall(self._bank, self._announce) if self.settings.recall else None

    @cached_property
    def _inferrer(self) -> Any:
        from ..knowledge import store

        return store(self._announce or (lambda line: None)) if self.settings.know else None

    @cached_property
    def _judges(self) -> Judges:
        from ..perception.sentiment import sentiment

        perception = self._perception
        return Judges(
            meaning=self._meaning if self._recall else None,
            labels=perception.utterances if perception else None,
            cheer=sentiment if perception else None,
            mechanisms=self._mechanisms_of if perception else None,
            generic=Common.load(places.shipped() / "companion"),
            unsafe=self._unsafe,
        )

    def _meaning(self, context: Context, replies: Sequence[str]) -> Meaning:
        encoder = self._recall.encoder
        last_and_replies = encoder.replies([context.last, *replies])
        return Meaning(encoder.contexts([context]).answer_ND[0], last_and_replies[0], last_and_replies[1:])

    def _mechanisms_of(self, context: Context, replies: Sequence[str]) -> list[Mapping[str, int]]:
        from ..perception.perception import levels

        return [levels(p) for p in self._perception.mechanisms([context] * len(replies), replies)]

    # The language model --------------------------------------------------------------------------------------

    def _prompt(self, context: Context, notes: Notes) -> Any:
        return prompt(context, notes) if self.engine.tuned else messages(context, notes)

    def _draw(
        self, context: Context, evidence: Evidence, plan: Plan, n: int, wish: Wish, seed: int, stop: Stop | None
    ) -> list[Generated]:
        """`n` candidates, along each way to answer: first the likeliest words, then drawn ones. Prompts differ in their
        last line only, so the engine reads the conversation once. A model that is not ours, and maybe far away, is
        asked once for all."""
        ways_to_answer = ways(plan, n) if self.engine.tuned else [(plan, n)]
        steady, varied = (self._sampling(wish, seed, steady=is_steady) for is_steady in (True, False))
        found: list[Generated] = []
        for way, count in ways_to_answer:
            asked = self._prompt(context, self.notes(context, evidence, way))
            both = [(steady, 1), (varied, count - 1)] if self.engine.tuned and steady != varied else [(varied, count)]
            for sampling, many in both:
                drawn = self.engine.candidates(asked, many, sampling, stop) if many else []
                if many and not drawn:
                    return []
                found += drawn
        return found

    def _sampling(self, wish: Wish, seed: int, steady: bool) -> Sampling:
        """`steady`: the likeliest words, unless the caller wants it otherwise."""
        own = self.settings
        likely = 0.0 if steady else own.temperature
        temperature = own.lively if wish.stochastic or (wish_is_set(wish) and not steady) else likely
        return Sampling(
            temperature=temperature if wish.temperature is None else wish.temperature,
            top_p=own.top_p if wish.top_p is None else max(wish.top_p, 1e-3),
            seed=seed,
            max_tokens=own.max_tokens if wish.length is None else max(1, wish.length),
            stop=(END, "\n", *wish.stop),
        )

    def _one(
        self,
        context: Context,
        notes: Notes,
        sampling: Sampling,
        evidence: Evidence,
        plan: Plan,
        clock: _Clock,
        stop: Stop | None,
    ) -> Iterator[str | Reply]:
        for piece in self._fitting(context, lambda c: self._begun(c, notes, sampling, stop)):
            if isinstance(piece, str):
                yield piece
            else:
                clock.lap("generate")
                text = tidy(piece.text) or SILENT
                yield Reply(text, _planned(evidence, plan), (Candidate(text),), clock.laps)

    def _begun(
        self, context: Context, notes: Notes, sampling: Sampling, stop: Stop | None
    ) -> Iterator[str | Generated]:
        """`generate`, but a prompt that does not fit is refused at once, not at the first piece."""
        pieces = self.engine.generate(self._prompt(context, notes), sampling, stop)
        first = next(pieces, None)

        def all_pieces() -> Iterator[str | Generated]:
            if first is not None:
                yield first
                yield from pieces

        return all_pieces()

    def _fitting(self, context: Context, ask: Callable[[Context], Any]) -> Any:
        """`ask` with the conversation, or with fewer and fewer of its last turns until the prompt fits."""
        while True:
            try:
                return ask(context)
            except PromptTooLong:
                if len(context.turns) <= 1:
                    raise
                context = Context(context.turns[2:] or context.turns[-1:])


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._at = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.laps[stage], self._at = now - self._at, now


def seed_of(context: Context, wish: Wish) -> int:
    """The caller's seed; else one that the conversation itself gives, so the same words get the same answer."""
    if wish.seed is not None:
        return wish.seed % 2**31
    said = "\n".join(turn.text for turn in context.turns)
    return int.from_bytes(hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=4).digest()) % 2**31


def wish_is_set(wish: Wish) -> bool:
    return bool(wish.emotion or wish.intent or wish.mechanisms)


def feelings(emotion: Mapping[str, float], most: int, sure: float) -> tuple[str, ...]:
    likeliest = sorted(emotion.items(), key=lambda pair: -pair[1])[:most]
    return tuple(name for name, p in likeliest if p >= sure)


def cause_text(context: Context, evidence: Evidence) -> str:
    """The words that say why, of the speaker's latest cause turn; all of a cause turn that has no such words."""
    spans = [s for s in evidence.cause_words or () if context.turns[s[0]].speaker == "speaker"]
    if spans:
        turn = spans[-1][0]
        mine = [s for s in spans if s[0] == turn]
        text = context.turns[turn].text[mine[0][1] : mine[-1][2]]
    else:
        turns = [i for i in evidence.causes or () if context.turns[i].speaker == "speaker"]
        text = context.turns[turns[-1]].text if turns else ""
    return " ".join(text.split()[:_WORD_LIMIT])


def tidy(text: str) -> str:
    """One line, no half-open quotes or marks at its ends."""
    return " ".join(text.replace(END, " ").split()).strip()


def _planned(evidence: Evidence, plan: Plan) -> Evidence:
    """The evidence with the plan that was followed: a chosen label is certain."""
    intent = {plan.label: 1.0} if plan.asked and plan.label else evidence.intent
    levels = {n: float(v) for n, v in plan.mechanisms.items()} if plan.mechanisms else evidence.mechanisms
    return replace(evidence, intent=intent, mechanisms=levels)
