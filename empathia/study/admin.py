"""The admin page: progress, agreement so far, flagged annotators, pause, export. Behind the study's key."""

from typing import Annotated, Any

from fastapi import APIRouter, Cookie, Depends, HTTPException, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from .analysis import Findings, analyse
from .assignment import exclude
from .export import table_bytes
from .links import admin_cookie, same
from .pages import page
from .progress import progress
from .records import load_records
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

    def findings() -> Findings:
        with store.reading() as db:
            records = load_records(db)
        return analyse(records, settings, resamples=200)

    @router.get("/admin", response_class=HTMLResponse)
    def admin_page() -> str:
        return page("admin.html")

    @router.post("/api/admin/enter")
    def enter(body: KeyBody, response: Response) -> dict[str, bool]:
        if not same(body.key, key):
            raise HTTPException(401, "that is not this study's admin key")
        response.set_cookie(_COOKIE, cookie, httponly=True, samesite="strict", path="/")
        return {"entered": True}

    @router.get("/api/admin/status", dependencies=[Depends(admin)])
    def status() -> dict[str, Any]:
        with store.reading() as db:
            now = progress(db, settings, store.now())
            excluded = {r["id"] for r in db.execute("SELECT id FROM annotators WHERE excluded IS NOT NULL")}
        return {"title": settings.title, "design": settings.design, "progress": now,
                "paused": store.meta("paused") == "yes", **_so_far(findings(), excluded)}  # fmt: skip

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
        policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        return HTMLResponse(html_report(findings()), headers={"Content-Security-Policy": policy})

    return router


def _so_far(found: Findings, excluded: set[str]) -> dict[str, Any]:
    def number(value: float | None) -> float | None:
        return None if value is None or value != value else round(value, 4)

    return {
        "agreements": [
            {"question": a.question, "level": a.level, "alpha": number(a.alpha), "low": number(a.low),
             "high": number(a.high), "kappa": number(a.kappa), "items": a.items} for a in found.agreements
        ],
        "annotators": [
            {"annotator": q.annotator, "answers": q.answers, "seconds": round(q.median_seconds, 1),
             "same_answer": number(q.same_answer), "agreement": number(q.agreement), "bonus": q.bonus,
             "bonus_possible": q.bonus_possible, "flags": q.flags, "excluded": q.annotator in excluded}
            for q in found.quality
        ],
        "answers": found.answers,
        "median_seconds": round(found.median_seconds, 1),
    }  # fmt: skip
