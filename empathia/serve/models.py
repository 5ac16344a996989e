"""`/v1/models` and `/v1/embeddings`."""

from __future__ import annotations

import base64
from typing import Any

from fastapi import APIRouter, Request

from .asking import WORKING, AtDesk, caller, errors
from .desk import Desk
from .errors import Problem
from .plain import tokens
from .presence import while_here
from .schema import EmbeddingList, EmbeddingsRequest, Model, ModelList
from .services import Source

router = APIRouter(tags=["OpenAI"])


@router.get(
    "/v1/models", response_model=ModelList, response_model_exclude_none=True, responses=errors(), summary="Responders"
)
async def every_model(desk: AtDesk) -> dict[str, Any]:
    """Every responder; the first is the default."""
    return {"object": "list", "data": [_model(desk, name) for name in desk.catalogue.names()]}


@router.get(
    "/v1/models/{model:path}",
    response_model=Model,
    response_model_exclude_none=True,
    responses=errors(400, 404),
    summary="One responder",
)
async def one_model(model: str, desk: AtDesk) -> dict[str, Any]:
    if model not in desk.catalogue.sources:
        raise Problem(404, "there is no such model", code="model_not_found", param="model")
    return _model(desk, model)


def _model(desk: Desk, name: str) -> dict[str, Any]:
    source = desk.services.responders[name]
    known = {"owned_by": source.owner, "description": source.description or None} if isinstance(source, Source) else {}
    return {"id": name, "object": "model", "created": desk.started, "owned_by": "empathia"} | known


@router.post("/v1/embeddings", response_model=EmbeddingList, responses=WORKING, summary="Texts as vectors")
async def embeddings(request: Request, body: EmbeddingsRequest, desk: AtDesk) -> dict[str, Any]:
    """There is one encoder, whatever `model` is asked for; the answer says which."""
    embed = desk.services.embed
    if embed is None:
        raise Problem(501, "embeddings are not installed on this server")
    texts = [body.input] if isinstance(body.input, str) else body.input
    rows = await while_here(request.receive, desk.work(lambda: embed(texts), caller(request)))
    width = len(rows[0])
    if body.dimensions not in (None, width):
        raise Problem(400, f"vectors have {width} dimensions here", "leave dimensions out", param="dimensions")
    coded = [_coded(row, body.encoding_format) for row in rows]
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(coded)]
    count = sum(map(tokens, texts))
    usage = {"prompt_tokens": count, "total_tokens": count}
    return {"object": "list", "data": data, "model": desk.services.embeds_with, "usage": usage}


def _coded(row: Any, encoding: str | None) -> Any:
    """A row of numbers as a list, or as the base64 of little-endian 32-bit floats."""
    import numpy as np

    numbers = np.asarray(row, dtype="<f4")
    return base64.b64encode(numbers.tobytes()).decode("ascii") if encoding == "base64" else numbers.tolist()
