"""`POST /v1/chat/completions`: OpenAI's conversation, in one body or streamed."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request

from .. import __version__
from ..core.types import Reply
from .asking import ASKING, STREAM, AtDesk, begun, question, whole
from .desk import Answer, choices
from .plain import tokens, why
from .presence import Events
from .schema import ChatCompletion, ChatRequest
from .writing import Said

router = APIRouter(tags=["OpenAI"])
FINGERPRINT = f"empathia-{__version__}"


@router.post(
    "/v1/chat/completions",
    response_model=ChatCompletion,
    response_model_exclude_unset=True,
    responses={**ASKING, 200: {"description": "The reply, or with `stream` its pieces.", "content": STREAM}},
    summary="Answer a conversation",
)
async def chat(request: Request, body: ChatRequest, desk: AtDesk) -> Any:
    asked = question(request, "chatcmpl", body.messages, body.model, *choices(body.wish(), body.n or 1))
    answer = await desk.take(asked)
    if body.stream:
        return Events(_chunks(await begun(request, answer), answer, body))
    return _completion(await whole(request, answer), answer, body)


def _completion(replies: list[Reply], answer: Answer, body: ChatRequest) -> dict[str, Any]:
    spoken = [
        {
            "index": index,
            "message": {"role": "assistant", "content": reply.text, "refusal": None},
            "logprobs": None,
            "finish_reason": _finish(reply.text, answer, body),
        }
        for index, reply in enumerate(replies)
    ]
    return {
        **_head(answer, "chat.completion", int(time.time())),
        "choices": spoken,
        "usage": _usage(body, [reply.text for reply in replies]),
        "empathia": why(replies[0], answer.verdict),
    }


async def _chunks(
    said: AsyncGenerator[Said, None], answer: Answer, body: ChatRequest
) -> AsyncGenerator[dict[str, Any], None]:
    counted = bool(body.stream_options and body.stream_options.include_usage)
    head = _head(answer, "chat.completion.chunk", int(time.time())) | ({"usage": None} if counted else {})
    replies: list[Reply] = []
    begun_choice = -1

    def chunk(index: int, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return head | {"choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}]}

    async with aclosing(said) as pieces:
        async for piece in pieces:
            if piece.choice > begun_choice:
                begun_choice = piece.choice
                yield chunk(piece.choice, {"role": "assistant", "content": "", "refusal": None})
            if isinstance(piece.what, str):
                yield chunk(piece.choice, {"content": piece.what})
                continue
            replies.append(piece.what)
            last = len(replies) == len(answer.question.wishes)
            ending = chunk(piece.choice, {}, _finish(piece.what.text, answer, body))
            yield ending | ({"empathia": why(replies[0], answer.verdict)} if last else {})
    if counted:
        yield head | {"choices": [], "usage": _usage(body, [reply.text for reply in replies])}


def _head(answer: Answer, kind: str, created: int) -> dict[str, Any]:
    return {
        "id": answer.question.id,
        "object": kind,
        "created": created,
        "model": answer.model,
        "system_fingerprint": FINGERPRINT,
    }


def _finish(text: str, answer: Answer, body: ChatRequest) -> str:
    """`length` if the reply is as long as it was allowed to be; the guard's texts are always whole."""
    cut = body.longest is not None and not answer.verdict.text and tokens(text) >= body.longest
    return "length" if cut else "stop"


def _usage(body: ChatRequest, texts: list[str]) -> dict[str, int]:
    asked, said = sum(tokens(m.text) for m in body.messages), sum(map(tokens, texts))
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
