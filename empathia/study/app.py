"""The study's web application: the annotators' pages and the small API beneath them."""

import logging
import sqlite3
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from ..core.errors import BadInput, EmpathiaError
from . import annotators, views
from .admin import admin_routes
from .assignment import Click, LeaseExpired, NotYours, save
from .designs import checked_answer, is_whole, practice_marks
from .guards import guard
from .links import annotator_of, checked_id, token
from .pages import page, page_names
from .store import Study
from .texts import texts_of

_TYPES = {"css": "text/css", "js": "text/javascript", "html": "text/html", "svg": "image/svg+xml"}
_STATUS = ((NotYours, 403), (LeaseExpired, 410), (BadInput, 422), (EmpathiaError, 400))


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CheckBody(_Body):
    answers: list[int] = Field(max_length=20)


class PracticeBody(_Body):
    item: int
    value: dict[str, Any]


class ClickBody(_Body):
    key: str = Field(min_length=8, max_length=64, pattern="^[0-9A-Za-z-]+$")
    item: int = Field(ge=0, le=2**53)
    value: dict[str, Any]
    done: bool = False
    seconds: float = Field(default=0, ge=0, le=86_400)


def make_app(study: Study) -> FastAPI:
    app = FastAPI(title="empathia study", docs_url=None, redoc_url=None, openapi_url=None)
    app.middleware("http")(guard)
    _errors(app)
    _pages(app, study)
    _annotator_routes(app, study)
    app.include_router(admin_routes(study))
    return app


def _errors(app: FastAPI) -> None:
    @app.exception_handler(EmpathiaError)
    def refused(request: Request, error: EmpathiaError) -> Response:
        status = next(code for kind, code in _STATUS if isinstance(error, kind))
        return JSONResponse({"error": str(error)}, status)

    @app.exception_handler(HTTPException)
    def not_found(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": error.detail}, error.status_code)

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> Response:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        return JSONResponse({"error": f"{where}: {error.errors()[0]['msg']}"}, 422)

    @app.exception_handler(sqlite3.OperationalError)
    def unsaved(request: Request, error: sqlite3.OperationalError) -> Response:
        logging.getLogger("uvicorn.error").error("the study's file could not be used: %s", error)
        return JSONResponse({"error": "not saved: the study's file cannot be written now"}, 503)


def _pages(app: FastAPI, study: Study) -> None:
    @app.get("/a/{link}", response_class=HTMLResponse)
    def annotate(link: str) -> Response:
        who = annotator_of(study.store.meta("secret"), link)
        return HTMLResponse(page("annotate.html") if who is not None else page("wrong.html"), 200 if who else 404)

    @app.get("/join")
    def join(request: Request) -> Response:
        settings = study.settings
        who = request.query_params.get(settings.id_parameter, "")
        if settings.entry != "address" or not who:
            return HTMLResponse(page("wrong.html"), 404)
        who = checked_id(who)
        address = {key: value[:200] for key, value in request.query_params.items()}
        with study.store.writing() as db:
            annotators.join(db, who, study.store.now(), address)
        return RedirectResponse(f"/a/{token(study.store.meta('secret'), who)}", 303)

    @app.get("/", response_class=HTMLResponse)
    def front() -> Response:
        return HTMLResponse(page("wrong.html"), 404)

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        kind = _TYPES.get(name.rpartition(".")[2])
        if kind is None or name not in page_names():
            raise HTTPException(404)
        return Response(page(name), media_type=kind)


def _annotator_routes(app: FastAPI, study: Study) -> None:
    store, settings = study.store, study.settings
    secret = store.meta("secret")

    def known(x_study_link: Annotated[str, Header(max_length=400)] = "") -> str:
        """The annotator whose signed link came with the request; a custom header, so no other site can send it."""
        who = annotator_of(secret, x_study_link)
        if who is None:
            raise HTTPException(401, "this link is not valid")
        with store.reading() as db:
            row = annotators.row_of(db, who)
        if row is None:
            with store.writing() as db:
                annotators.join(db, who, store.now())
        return who

    Who = Annotated[str, Depends(known)]

    def require(db: sqlite3.Connection, who: str, stage: str) -> None:
        if annotators.stage(annotators.row_of(db, who), settings) != stage:
            raise NotYours("this step is not open to you now", "open your link again")

    @app.get("/api/session")
    def session(who: Who) -> dict[str, Any]:
        with store.reading() as db:
            return views.session(db, who, settings)

    @app.post("/api/begin")
    def begin(who: Who) -> dict[str, Any]:
        with store.writing() as db:
            annotators.begin(db, who, store.now())
            return views.session(db, who, settings)

    @app.post("/api/check")
    def check(who: Who, body: CheckBody) -> dict[str, Any]:
        with store.writing() as db:
            result = annotators.take_check(db, who, body.answers, settings, store.now())
            return {"right": result.right, "session": views.session(db, who, settings)}

    @app.post("/api/practice")
    def practice(who: Who, body: PracticeBody) -> dict[str, Any]:
        items = texts_of(settings.design).practice
        if not 0 <= body.item < len(items):
            raise BadInput("there is no such practice item")
        item = items[body.item]
        value = checked_answer(settings.design, body.value, settings.attributes, len(item.replies))
        if not is_whole(settings.design, value, settings.attributes, len(item.replies)):
            raise BadInput("something is still unanswered")
        return {"marks": practice_marks(settings.design, item, value), "feedback": item.feedback}

    @app.post("/api/practised")
    def practised(who: Who) -> dict[str, Any]:
        with store.writing() as db:
            require(db, who, "practice")
            annotators.practised(db, who, store.now())
            return views.session(db, who, settings)

    @app.post("/api/next")
    def next_work(who: Who) -> dict[str, Any]:
        paused = store.meta("paused") == "yes"
        with store.writing() as db:
            require(db, who, "work")
            return views.next_work(db, who, settings, store.now(), paused)

    @app.get("/api/placed")
    def placed(who: Who, position: Annotated[int, Query(ge=0, le=10**9)]) -> dict[str, Any]:
        with store.reading() as db:
            item = views.placed_item(db, who, position)
        if item is None:
            raise HTTPException(404, "there is no such item")
        return item

    @app.post("/api/answers")
    def answer(who: Who, body: ClickBody) -> dict[str, Any]:
        click = Click(body.key, body.item, body.value, body.done, body.seconds)
        with store.writing() as db:
            require(db, who, "work")
            receipt = save(db, who, click, settings, store.now())
        return {"saved": receipt.saved, "again": receipt.again, "task_finished": receipt.task_finished}
