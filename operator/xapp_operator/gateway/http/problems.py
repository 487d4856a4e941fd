"""Every refusal as a problem of RFC 9457, in one shape, whoever refuses: our errors, the framework, a bug.

Lives in the gateway; the status of each error is its own (`errors.py`). Nothing of a stack trace, a local path or the
text of an unexpected exception gets out: a bug answers with a reference that the log carries too.
"""

from __future__ import annotations

import re
import secrets
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject
from xapp_operator.errors import ContentTooLarge, NotReady, Unauthenticated, XAppError
from xapp_operator.gateway.http.log_paths import redact_path
from xapp_operator.gateway.http.responses import json_response, wants_pretty
from xapp_operator.telemetry.logs import get_logger

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"
PROBLEM_TYPE_PREFIX: Final = "urn:xapp-operator:problem:"
RETRY_AFTER_SECONDS: Final = 1
UNAUTHENTICATED_HEADERS: Final = "xapp_operator.unauthenticated_headers"
"""Where the scope of a request holds headers for a 401, as a dictionary."""

_CAMEL_CASE_BOUNDARY: Final = re.compile(r"(?<!^)(?=[A-Z])")
_SERVER_ERROR: Final = 500
_log = get_logger(__name__)


def problem_response(error: XAppError, request: HTTPConnection) -> Response:
    """Return the answer for one of our errors."""
    if error.status >= _SERVER_ERROR:
        _log.warning(
            "request failed", path=redact_path(request.scope["path"]), status=error.status, error=error.message
        )
    body: JsonObject = {
        "type": problem_type(type(error)),
        "title": error.title,
        "status": error.status,
        "detail": error.message,
        "instance": request_path(request),
        "errors": [{"field": each.field, "message": each.message} for each in error.errors],
    }
    return _build_response(body, request, headers=_problem_headers(error, request))


def http_exception_response(error: HTTPException, request: Request) -> Response:
    """Return the answer for what the framework refuses: no such path, no such method."""
    phrase = HTTPStatus(error.status_code).phrase
    details = {
        HTTPStatus.NOT_FOUND: "there is nothing at this path: /api/v1/docs lists what there is",
        HTTPStatus.METHOD_NOT_ALLOWED: f"this path does not take {request.method}: the Allow header says what it takes",
    }
    body: JsonObject = {
        "type": "about:blank",
        "title": phrase,
        "status": error.status_code,
        "detail": details.get(HTTPStatus(error.status_code), phrase),
        "instance": request_path(request),
        "errors": [],
    }
    return _build_response(body, request, headers=dict(error.headers or {}))


def internal_error_response(error: BaseException, request: HTTPConnection) -> Response:
    """Return the answer for a bug, and log it under the reference that the answer names."""
    reference = secrets.token_hex(8)
    _log.error(
        "request failed unexpectedly", reference=reference, path=redact_path(request.scope["path"]), exc_info=error
    )
    body: JsonObject = {
        "type": "about:blank",
        "title": HTTPStatus.INTERNAL_SERVER_ERROR.phrase,
        "status": _SERVER_ERROR,
        "detail": f"the gateway met an error of its own: its log tells more under the reference {reference}",
        "instance": request_path(request),
        "errors": [],
    }
    return _build_response(body, request, headers={})


def problem_type(error_type: type[XAppError]) -> str:
    """Return the `type` of a problem: a URN that names the class of the error."""
    return PROBLEM_TYPE_PREFIX + _CAMEL_CASE_BOUNDARY.sub("-", error_type.__name__).lower()


def request_path(request: HTTPConnection) -> str:
    """Return the path that was asked for, as it was sent."""
    raw = request.scope.get("raw_path")
    return raw.decode("ascii", "replace") if isinstance(raw, bytes) else request.url.path


def _problem_headers(error: XAppError, request: HTTPConnection) -> dict[str, str]:
    if isinstance(error, Unauthenticated):
        return {"WWW-Authenticate": 'Bearer realm="xapp-operator"', **request.scope.get(UNAUTHENTICATED_HEADERS, {})}
    if isinstance(error, NotReady):
        return {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if isinstance(error, ContentTooLarge):
        return {"Connection": "close"}
    return {}


def _build_response(body: JsonObject, request: HTTPConnection, *, headers: dict[str, str]) -> Response:
    status = body["status"]
    return json_response(
        body,
        status=status if isinstance(status, int) else _SERVER_ERROR,
        pretty=wants_pretty(request),
        media_type=PROBLEM_MEDIA_TYPE,
        headers={"Cache-Control": "no-store"} | headers,
    )
