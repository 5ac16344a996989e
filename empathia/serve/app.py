"""The application: routes, page, access, errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from .. import __version__
from . import chat, listening, models
from .access import AccessControl
from .asking import AtDesk, errors
from .desk import Desk
from .errors import add_handlers, log_failure
from .keep import Keep
from .schema import ErrorBody, Health
from .services import Services
from .settings import Access, Limits
from .watch import Watch

STATIC = Path(__file__).parent / "static"


def make_app(
    services: Services, limits: Limits | None = None, access: Access | None = None, keep: Path | None = None
) -> FastAPI:
    """An ASGI application that answers at once and loads its default responder in the background."""
    desk = Desk(services, limits or Limits(), Keep(keep) if keep else None)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(_lost)
        desk.catalogue.begin()
        yield

    app = FastAPI(
        title="empathia",
        summary="Software that listens and answers with empathy. It is not a person.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.desk, app.state.access = desk, access or Access()
    add_handlers(app)
    for router in (chat.router, listening.router, models.router, operating, page):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False))
    app.add_middleware(
        AccessControl, access=app.state.access, refused=lambda why: desk.metrics.refusals.labels(why).inc()
    )
    app.add_middleware(Watch, metrics=desk.metrics)
    _describe(app)
    return app


def _lost(loop: asyncio.AbstractEventLoop, what: dict[str, Any]) -> None:
    """An error nobody waited for any more; asyncio's own handler would print its message."""
    if what.get("exception") is not None:
        log_failure(what["exception"])


operating = APIRouter(tags=["operating"])
page = APIRouter(include_in_schema=False)


@operating.get(
    "/health",
    response_model=Health,
    responses={503: {"model": ErrorBody, "description": "Still loading, or nothing to load."}, 403: errors()[403]},
    summary="Whether it can answer",
)
async def health(desk: AtDesk) -> Any:
    if desk.catalogue.state != "ready":
        return desk.catalogue.unready().response()
    return {"status": "ok", "model": desk.catalogue.default, "keeps_conversations": desk.keep is not None}


@operating.get(
    "/metrics",
    response_class=Response,
    responses={**errors(), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="Counts for Prometheus",
)
async def metrics(desk: AtDesk) -> Response:
    return Response(desk.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@page.get("/")
async def front() -> Response:
    index = STATIC / "index.html"
    if not index.exists():
        raise HTTPException(404)
    return FileResponse(index, headers={"Cache-Control": "no-cache"})


def _describe(app: FastAPI) -> None:
    """Our errors instead of FastAPI's 422, which no route answers with."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            document = made()
            for operations in document["paths"].values():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
            for unused in ("HTTPValidationError", "ValidationError"):
                document["components"]["schemas"].pop(unused, None)
            key = {"type": "http", "scheme": "bearer"}
            document["components"]["securitySchemes"] = {"key": key}
            document["security"] = [{"key": []}, {}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
