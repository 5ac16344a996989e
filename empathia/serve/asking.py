"""What the routes share: who asks, what a body means as a question, and the answer's beginning."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Depends, Request

from ..core.types import Reply, Wish
from .desk import Answer, Desk, Question
from .presence import while_here
from .schema import ErrorBody, Message, context_of
from .writing import Said

_MEANINGS = {
    400: "The request cannot be used.",
    401: "The key is missing or wrong.",
    403: "The request comes from a place that may not ask.",
    404: "There is no such model.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    429: "This key has asked too often; see Retry-After.",
    500: "A mistake of the server's.",
    501: "This server cannot do that.",
    502: "The server behind this one failed.",
    503: "Still loading, or the queue is full; see Retry-After.",
    504: "It took too long.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of the errors that a route can answer with."""
    return {status: {"model": ErrorBody, "description": _MEANINGS[status]} for status in (*statuses, 401, 403)}


ASKING = errors(400, 404, 408, 413, 429, 500, 502, 503, 504)
WORKING = errors(400, 408, 413, 429, 500, 501, 503, 504)
STREAM = {
    "text/event-stream": {
        "schema": {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}  # of each event
    }
}


async def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


AtDesk = Annotated[Desk, Depends(_desk)]


def caller(request: Request) -> str:
    """Whose rate a request counts on: its key's, else its address's. Keys are not held in the clear."""
    sent = request.headers.get("authorization")
    if request.app.state.access.keys and sent:
        return hashlib.sha256(sent.encode("latin-1", "replace")).hexdigest()
    return request.client.host if request.client else "local"


def question(request: Request, kind: str, messages: list[Message], model: str | None, *wishes: Wish) -> Question:
    return Question(f"{kind}-{uuid.uuid4().hex}", context_of(messages), model or None, wishes, caller(request))


async def whole(request: Request, answer: Answer) -> list[Reply]:
    """Every choice's reply, unless the client leaves before."""

    async def collect() -> list[Reply]:
        async with aclosing(answer.said) as said:
            return [piece.what async for piece in said if isinstance(piece.what, Reply)]

    return await while_here(request.receive, collect())


async def begun(request: Request, answer: Answer) -> AsyncGenerator[Said, None]:
    """The answer, once its first piece is there: what goes wrong before that is still an error of its own status."""

    async def begin() -> Said:
        return await anext(answer.said)

    first = await while_here(request.receive, begin())

    async def all_of_it() -> AsyncGenerator[Said, None]:
        async with aclosing(answer.said) as rest:
            yield first
            async for said in rest:
                yield said

    return all_of_it()
