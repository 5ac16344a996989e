"""Errors as OpenAI's clients read them: `{"error": {"message", "type", "param", "code"}}`, whatever went wrong.

A message never repeats what the client sent, so it can be shown and logged by anybody.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ..core.errors import BadInput, EmpathiaError
from .schema import FIELDS

log = logging.getLogger("empathia.serve")

_KINDS = {
    400: ("invalid_request_error", None),
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", None),
    404: ("invalid_request_error", "not_found"),
    405: ("invalid_request_error", "method_not_allowed"),
    408: ("invalid_request_error", "request_timeout"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    501: ("unavailable_error", "not_available"),
    502: ("server_error", "backend_failed"),
    503: ("unavailable_error", "unavailable"),
    504: ("timeout_error", "timeout"),
}


class Problem(EmpathiaError):
    """A refusal or failure with its HTTP status."""

    def __init__(
        self,
        status: int,
        message: str,
        hint: str = "",
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.status, self.param, self.retry_after = status, param, retry_after
        self.kind, usual = _KINDS.get(status, ("server_error", "internal_error"))
        self.code = code or usual

    def body(self) -> dict[str, Any]:
        said = {"message": str(self), "type": self.kind, "param": self.param, "code": self.code}
        return {"error": said}

    def response(self) -> JSONResponse:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(self.body(), self.status, headers)


def problem_of(error: BaseException) -> Problem:
    """What to tell the client of an error that ended its request; a mistake of ours is also logged."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, BadInput):
        return Problem(400, error.message, error.hint)
    if isinstance(error, EmpathiaError):
        return Problem(503, error.message, error.hint)
    log_failure(error)
    return Problem(500, "something went wrong on the server", "try again; the operator's log says where")


def stopping() -> Problem:
    """For those who still wait when the server ends."""
    return Problem(503, "the server is stopping", "try again later", code="stopping", retry_after=10)


def log_failure(error: BaseException) -> None:
    """An error's kind and place. Not its message: that may hold what somebody wrote."""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{frame.filename.rpartition('empathia/')[2]}:{frame.lineno}" for frame in reversed(frames[-4:]))
    log.error("%s at %s", type(error).__name__, place)


def add_handlers(app: FastAPI) -> None:
    @app.exception_handler(EmpathiaError)
    async def refused(request: Request, error: EmpathiaError) -> JSONResponse:
        problem = problem_of(error)
        if problem.status in (429, 503):
            request.app.state.desk.metrics.refusals.labels(problem.code).inc()
        return problem.response()

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        return _malformed(error).response()

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        message = {404: "there is no such address", 405: "this address does not take that method"}
        said = message.get(error.status_code, HTTPStatus(error.status_code).phrase.lower())
        response = Problem(error.status_code, said).response()
        response.headers.update(error.headers or {})
        return response


def _malformed(error: RequestValidationError) -> Problem:
    """The first thing wrong with a body, told by our own field names and never by its contents."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(400, "the body is not JSON", code="invalid_json")
    path = [str(part) for part in first["loc"] if isinstance(part, int) or part in FIELDS]
    if not path:
        return Problem(400, "the body is not a JSON object", "send JSON with Content-Type: application/json")
    where = ".".join(path)
    return Problem(400, f"{where}: {first['msg'].removeprefix('Value error, ')}", param=where)
