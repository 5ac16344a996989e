"""The way every question takes: the guard, the rate, the queue, a responder. Shared by all routes."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from ..core.types import Context, Reply, Stop, Wish
from ..guard import Guard, Verdict
from .errors import Problem
from .keep import Keep
from .metrics import Metrics
from .rate import Rate
from .services import Catalogue, Services
from .settings import Limits
from .slots import Crew, Slots
from .writing import Said, without, write

T = TypeVar("T")
log = logging.getLogger("empathia.serve")


@dataclass(frozen=True)
class Question:
    id: str
    context: Context
    model: str | None
    wishes: tuple[Wish, ...]  # one for each choice
    caller: str  # whose rate it counts on


@dataclass(frozen=True)
class Answer:
    """What the guard said, who answers, and the answer as it comes: close `said` to give it up."""

    question: Question
    verdict: Verdict
    model: str
    said: AsyncGenerator[Said, None]


class Desk:
    def __init__(self, services: Services, limits: Limits, keep: Keep | None = None) -> None:
        self.services, self.limits, self.keep = services, limits, keep
        self.metrics = Metrics()
        self.catalogue = Catalogue(services.responders)
        self.slots = Slots(limits.parallel, limits.waiting, self.metrics.load)
        self.started = int(time.time())
        self._guard, self._readers = Guard(services.country), Crew(1, "guard")
        self._readers.do(self._guard.warm)
        self._rate = Rate(limits.rate)

    async def take(self, question: Question) -> Answer:
        """The guard comes first: what it answers needs no model, no free slot and no rate."""
        verdict = await self.check(question.context)
        if verdict.answer:
            self.metrics.guard_answers.inc()
            return Answer(question, verdict, question.model or self.catalogue.default, _fixed(question, verdict.answer))
        self._rate.take(question.caller, len(question.wishes))
        name = self.catalogue.resolve(question.model)
        return Answer(question, verdict, name, self._write(question, verdict, name))

    async def check(self, context: Context) -> Verdict:
        """The guard's verdict, in a thread: a long conversation takes it a while."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Verdict] = loop.create_future()

        def settle(verdict: Verdict | None, error: Exception | None) -> None:
            if found.cancelled():
                return
            if error is not None:
                found.set_exception(error)
            elif verdict is not None:
                found.set_result(verdict)

        def read() -> None:
            try:
                verdict, error = self._guard.check(context), None
            except Exception as problem:
                verdict, error = None, problem
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(settle, verdict, error)

        self._readers.do(read)
        return await found

    async def work(self, work: Callable[[], T], caller: str) -> T:
        """Anything else that costs: one call, through the same queue."""
        self._rate.take(caller)

        def once(stop: Stop) -> Generator[T, None, None]:
            yield work()

        async with aclosing(self.slots.run(once, self.limits.seconds)) as results:
            async for result in results:
                return result
        raise RuntimeError("the work gave no result")

    async def _write(self, question: Question, verdict: Verdict, name: str) -> AsyncGenerator[Said, None]:
        context = without(verdict.reminder, question.context)

        def work(stop: Stop) -> Generator[Said, None, None]:
            yield from write(self.catalogue.load(name), context, question.wishes, verdict.reminder, stop)

        finished: list[Reply] = []
        async with aclosing(self.slots.run(work, self.limits.seconds)) as results:
            async for said in results:
                if isinstance(said.what, Reply):
                    finished.append(said.what)
                    self.metrics.replies.labels(name).inc()
                    if self.keep is not None and verdict.level == "none":
                        await self._keep(self.keep, question, name, said.what)
                yield said
        if len(finished) < len(question.wishes):
            raise Problem(500, "the model ended without a reply", "try again")

    async def _keep(self, keep: Keep, question: Question, name: str, reply: Reply) -> None:
        row = {
            "id": question.id,
            "time": int(time.time()),
            "model": name,
            "turns": [{"speaker": t.speaker, "text": t.text} for t in question.context.turns],
            "reply": reply.text,
        }
        try:
            await asyncio.to_thread(keep.append, row)
        except OSError as error:
            log.error("an exchange could not be kept in %s: %s", keep.path, error.strerror or error)


async def _fixed(question: Question, text: str) -> AsyncGenerator[Said, None]:
    for choice in range(len(question.wishes)):
        yield Said(choice, text)
        yield Said(choice, Reply(text))


def choices(wish: Wish, count: int) -> tuple[Wish, ...]:
    """A wish for each of `count` choices: the first as asked, the others drawn with seeds of their own."""
    seed = secrets.randbelow(2**31) if wish.seed is None else wish.seed
    others = (replace(wish, seed=(seed + i) % 2**63, stochastic=wish.stochastic is not False) for i in range(1, count))
    return (wish, *others)
