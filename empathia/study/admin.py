"""The admin page: progress, agreement so far, flagged annotators, pause, export. Behind the study's key."""

from statistics import median
from typing import Annotated, Any

from fastapi import APIRouter, Cookie, Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from .analysis import Agreement, agreements, analyse
from .assignment import exclude
from .export import table_bytes
from .links import admin_cookie, same
from .pages import page
from .progress import progress
from .quality import Quality, annotator_quality
from .records import judgements, load_records
from .report import html_report
from .store import Study

_COOKIE = "study_admin"
_MEDIA = {"csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}


class KeyBody(BaseModel):
    key: str = Field(max_length=200)


class PauseBody(BaseModel):
    paused: bool


class ExcludeBody(BaseModel):
    annotator: str = Field(max_length=200)
    excluded: bool


def admin_routes(study: Study) -> APIRouter:
    store, settings = study.store, study.settings
    key = store.meta("admin_key")
    cookie = admin_cookie(store.meta("secret"), key)
    router = APIRouter()

    def admin(study_admin: Annotated[str, Cookie()] = "") -> None:
        if not same(study_admin, cookie):
            raise HTTPException(401, "give the study's admin key first")

    @router.get("/admin", response_class=HTMLResponse)
    def admin_page() -> str:
        return page("admin.html")

    @router.post("/api/admin/enter")
    def enter(body: KeyBody, request: Request, response: Response) -> dict[str, bool]:
        if not same(body.key, key):
            raise HTTPException(401, "that is not this study's admin key")
        secure = request.url.scheme == "https"
        response.set_cookie(_COOKIE, cookie, httponly=True, samesite="strict", secure=secure)
        return {"entered": True}

    @router.get("/api/admin/status", dependencies=[Depends(admin)])
    def status() -> dict[str, Any]:
        with store.reading() as db:
            now = progress(db, settings, store.now())
            excluded = {r["id"] for r in db.execute("SELECT id FROM annotators WHERE excluded IS NOT NULL")}
            records = load_records(db)
        agree = agreements(judgements([r for r in records if r.counted], settings), settings, resamples=100)
        quality = annotator_quality(records, settings)
        return {"title": settings.title, "design": settings.design, "progress": now,
                "paused": store.meta("paused") == "yes", "agreements": [_agreement(a) for a in agree],
                "annotators": [_annotator(q, q.annotator in excluded) for q in quality],
                "median_seconds": round(median([r.seconds for r in records] or [0]), 1)}  # fmt: skip

    @router.post("/api/admin/pause", dependencies=[Depends(admin)])
    def pause(body: PauseBody) -> dict[str, bool]:
        store.set_meta("paused", "yes" if body.paused else "")
        return {"paused": body.paused}

    @router.post("/api/admin/exclude", dependencies=[Depends(admin)])
    def leave_out(body: ExcludeBody) -> dict[str, bool]:
        with store.writing() as db:
            if not db.execute("SELECT 1 FROM annotators WHERE id = ?", (body.annotator,)).fetchone():
                raise HTTPException(404, "there is no such annotator")
            exclude(db, body.annotator, settings, store.now(), body.excluded)
        return {"excluded": body.excluded}

    @router.get("/api/admin/export/{table}.{fmt}", dependencies=[Depends(admin)])
    def export(table: str, fmt: str) -> Response:
        content = table_bytes(study, table, fmt)
        headers = {"Content-Disposition": f'attachment; filename="{table}.{fmt}"'}
        return Response(content, media_type=_MEDIA[fmt], headers=headers)

    @router.get("/admin/report", dependencies=[Depends(admin)], response_class=HTMLResponse)
    def report() -> Response:
        # The report is one file with its styles inside, so this page alone may use them.
        with store.reading() as db:
            records = load_records(db)
        policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        return HTMLResponse(html_report(analyse(records, settings)), headers={"Content-Security-Policy": policy})

    return router


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 2)


def _agreement(a: Agreement) -> dict[str, Any]:
    return {
        "question": a.question, "level": a.level, "alpha": _number(a.alpha), "low": _number(a.low),
        "high": _number(a.high), "kappa": _number(a.kappa), "items": a.items,
    }  # fmt: skip


def _annotator(q: Quality, excluded: bool) -> dict[str, Any]:
    return {
        "annotator": q.annotator, "answers": q.answers, "seconds": round(q.median_seconds, 1),
        "same_answer": _number(q.same_answer), "agreement": _number(q.agreement), "bonus": q.bonus,
        "bonus_possible": q.bonus_possible, "flags": q.flags, "excluded": excluded,
    }  # fmt: skip
