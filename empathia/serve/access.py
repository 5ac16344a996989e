"""What every request passes before a route sees it: where it comes from, its key, its size.

Authentication is an allow-list: a new route is closed until someone opens it here.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import Problem
from .presence import ClientLeft
from .settings import LARGEST_BODY, SLOWEST_BODY, Access

OPEN = ("/", "/health")
OPEN_BELOW = "/static/"
LOCAL = ("localhost", "127.0.0.1", "::1")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class AccessControl:
    def __init__(self, app: ASGIApp, access: Access, refused: Callable[[str], None]) -> None:
        self._app, self._access, self._refused = app, access, refused
        self._keys = [key.encode() for key in access.keys]
        self._hosts = {*LOCAL, access.host, *(urlsplit(origin).hostname for origin in access.origins)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(MutableHeaders(scope=message), scope["path"], origin)
            await send(message)

        refusal, reason = self._refusal(scope, headers, origin)
        if refusal is not None:
            self._refused(reason)
            origin = None
            await refusal.response()(scope, receive, send_with_headers)
        elif scope["method"] == "OPTIONS" and origin and "access-control-request-method" in headers:
            await _preflight(headers)(scope, receive, send_with_headers)
        elif scope["path"] not in OPEN and not scope["path"].startswith(OPEN_BELOW) and not self._has_key(headers):
            self._refused("key")
            refusal = Problem(401, "a key is needed", "send it as: Authorization: Bearer KEY")
            await refusal.response()(scope, receive, send_with_headers)
        else:
            await self._with_body(scope, headers, receive, send_with_headers)

    def _refusal(self, scope: Scope, headers: Headers, origin: str | None) -> tuple[Problem | None, str]:
        host = headers.get("host", "")
        if self._access.local and _hostname(host) not in self._hosts:  # a name that was made to point to this machine
            return Problem(
                403, "this server answers to localhost only", "use http://127.0.0.1", code="wrong_host"
            ), "host"
        if origin is not None and not self._may(origin, host):
            hint = "the operator can add --origin"
            return Problem(403, "pages of other sites may not ask here", hint, code="wrong_origin"), "origin"
        return None, ""

    def _may(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
            return origin in self._access.origins or parts.netloc == host or parts.hostname in LOCAL
        except ValueError:
            return False

    def _has_key(self, headers: Headers) -> bool:
        kind, _, sent = headers.get("authorization", "").partition(" ")
        right = [hmac.compare_digest(sent.strip().encode("latin-1", "replace"), key) for key in self._keys]
        return not self._keys or (kind.lower() == "bearer" and any(right))

    async def _with_body(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Read the body first, no more of it than allowed, so that no route waits for a slow sender."""
        try:
            async with asyncio.timeout(SLOWEST_BODY):
                body = await _read(headers, receive)
        except TimeoutError:
            self._refused("slow")
            await Problem(408, "the body came too slowly").response()(scope, receive, send)
            return
        except Problem as problem:
            self._refused("body")
            await problem.response()(scope, receive, send)
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)


async def _read(headers: Headers, receive: Receive) -> bytes:
    announced = headers.get("content-length", "0")
    size, parts = int(announced) if announced.isdecimal() else 0, []
    if size <= LARGEST_BODY:
        size, more = 0, True
        while more and size <= LARGEST_BODY:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
    if size > LARGEST_BODY:
        raise Problem(413, f"a body may have {LARGEST_BODY} bytes")
    return b"".join(parts)


def _hostname(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _add_headers(headers: MutableHeaders, path: str, origin: str | None) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-cache" if path == "/" or path.startswith(OPEN_BELOW) else "no-store")
    if origin is not None:
        headers["Access-Control-Allow-Origin"] = origin
    headers.add_vary_header("Origin")


def _preflight(headers: Headers) -> Response:
    asked = headers.get("access-control-request-headers", "")
    allowed = {"Access-Control-Allow-Methods": "GET, POST", "Access-Control-Max-Age": "600"}
    return Response(status_code=204, headers=allowed | ({"Access-Control-Allow-Headers": asked} if asked else {}))
