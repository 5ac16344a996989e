"""What every request passes: no posts from other sites, no huge bodies, and headers that keep pages to themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import JSONResponse

LARGEST_BODY = 64 * 1024

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    refusal = _refusal(request) if request.method not in ("GET", "HEAD") else None
    response = refusal or await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _refusal(request: Request) -> Response | None:
    headers = request.headers
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return _no(403, "posts from another site are refused")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        return _no(403, "posts from another site are refused")
    if headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        return _no(415, "send JSON")
    length = headers.get("content-length", "")
    if not length.isdecimal():
        return _no(411, "say how long the body is")
    if int(length) > LARGEST_BODY:
        return _no(413, f"a body may have {LARGEST_BODY} bytes")
    return None


def _no(status: int, problem: str) -> Response:
    return JSONResponse({"error": problem}, status)
