"""empathia's own routes: a reply with everything behind it, perception alone, and the names of feelings."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request

from ..core.taxonomy import EMOTIONS, INTENTS, LEVELS, MECHANISMS, NEUTRAL, POSITIVE
from ..core.types import Reply
from .asking import ASKING, STREAM, WORKING, AtDesk, begun, caller, errors, question, whole
from .desk import Answer
from .errors import Problem
from .plain import plain, why
from .presence import Events, while_here
from .schema import PerceiveRequest, PerceiveResponse, ReplyRequest, ReplyResponse, Taxonomy, WishBody, context_of
from .writing import Said

router = APIRouter(tags=["empathia"])


@router.post(
    "/v1/reply",
    response_model=ReplyResponse,
    response_model_exclude_unset=True,
    responses={**ASKING, 200: {"description": "The reply, or with `stream` its pieces.", "content": STREAM}},
    summary="A reply with its evidence, candidates and timings",
)
async def reply(request: Request, body: ReplyRequest, desk: AtDesk) -> Any:
    wish = (body.wish or WishBody()).wish()
    answer = await desk.take(question(request, "reply", body.messages, body.model, wish))
    if body.stream:
        return Events(_events(await begun(request, answer), answer))
    return _reply((await whole(request, answer))[0], answer)


@router.post(
    "/v1/perceive",
    response_model=PerceiveResponse,
    response_model_exclude_unset=True,
    responses=WORKING,
    summary="What the speaker feels, and why",
)
async def perceive(request: Request, body: PerceiveRequest, desk: AtDesk) -> dict[str, Any]:
    look = desk.services.perceive
    if look is None:
        raise Problem(501, "perception is not installed on this server")
    context = context_of(body.messages)
    found = await while_here(request.receive, desk.work(lambda: look(context), caller(request)))
    return {"evidence": plain(found.as_dict())}


@router.get("/v1/taxonomy", response_model=Taxonomy, responses=errors(), summary="The names used everywhere")
async def taxonomy() -> dict[str, Any]:
    return {
        "emotions": list(EMOTIONS),
        "positive": sorted(POSITIVE),
        "intents": list(INTENTS),
        "neutral": NEUTRAL,
        "mechanisms": list(MECHANISMS),
        "levels": list(LEVELS),
    }


def _reply(found: Reply, answer: Answer) -> dict[str, Any]:
    return {
        "id": answer.question.id,
        "model": answer.model,
        "text": found.text,
        **why(found, answer.verdict),
    }


async def _events(said: AsyncGenerator[Said, None], answer: Answer) -> AsyncGenerator[dict[str, Any], None]:
    async with aclosing(said) as pieces:
        async for piece in pieces:
            if isinstance(piece.what, Reply):
                yield {"reply": _reply(piece.what, answer)}
            else:
                yield {"delta": piece.what}
