"""A responder at work: pieces of text, then the whole reply, choice after choice. Runs in a slot's thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from ..core.types import Context, Reply, Responder, Stop, Streamer, Turn, Wish


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of a choice's text, or the whole of it."""

    choice: int
    what: str | Reply


def write(responder: Responder, context: Context, wishes: Sequence[Wish], under: str, stop: Stop) -> Iterator[Said]:
    """One reply per wish; `under` is a line to stand below each."""
    for choice, wish in enumerate(wishes):
        for what in _pieces(responder, context, wish, stop):
            if isinstance(what, Reply) and under:
                yield Said(choice, f"\n\n{under}")
                what = replace(what, text=f"{what.text}\n\n{under}")
            yield Said(choice, what)
        if stop.is_set():
            return


def without(line: str, context: Context) -> Context:
    """The conversation without a line that stood under earlier replies: it is not the listener's own words."""
    if not line:
        return context
    ending = f"\n\n{line}"
    return Context(
        tuple(Turn(t.speaker, t.text.removesuffix(ending)) if t.speaker == "listener" else t for t in context.turns)
    )


def _pieces(responder: Responder, context: Context, wish: Wish, stop: Stop) -> Iterator[str | Reply]:
    """A streamer's pieces, a plain responder's reply in one; both end before the first stop sequence."""
    cut = Cut(wish.stop)
    if not hasattr(responder, "stream"):
        reply = responder.reply(context, wish)
        text = cut.whole(reply.text)
        yield text
        yield replace(reply, text=text)
        return
    for what in cast(Streamer, responder).stream(context, wish, stop):
        if isinstance(what, Reply):
            rest = cut.rest()
            if rest:
                yield rest
            yield replace(what, text=cut.whole(what.text))
        else:
            sure = cut.piece(what)
            if sure:
                yield sure


class Cut:
    """Ends a text before the first of `stops`, also when one is spread over several pieces."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._held, self._over = "", False

    def whole(self, text: str) -> str:
        return text[: min((at for at in map(text.find, self._stops) if at >= 0), default=len(text))]

    def piece(self, text: str) -> str:
        """What of the text so far can be shown; what may be a stop's beginning is held back."""
        if self._over:
            return ""
        text = self._held + text
        sure = self.whole(text)
        if len(sure) < len(text):
            self._over, self._held = True, ""
            return sure
        held = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        rest, self._held = self._held, ""
        return rest


def _overlap(text: str, stop: str) -> int:
    """How many of the last characters of `text` are the first of `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
