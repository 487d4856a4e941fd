"""Problem details (RFC 9457): the one shape of every error response.

Each error knows its status (`errors.py`). No stack trace, local path or text of an unexpected exception is sent: for a
bug, the response names a reference that is also in the log. A header that every problem must have belongs in
PROBLEM_HEADERS.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.errors import (
    AccessDenied,
    ApiUnavailable,
    ContentTooLarge,
    FieldError,
    GatewayNotFound,
    MissingRight,
    NextRequest,
    NotFound,
    NotReady,
    TooManyRequests,
    Unauthenticated,
    XAppError,
)
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.responses.json_responses import json_response, wants_pretty
from xapp_operator.telemetry.logs import get_logger

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"
PROBLEM_HEADERS: Final = {"Cache-Control": "no-store"}
PROBLEM_TYPE_PREFIX: Final = "urn:xapp-operator:problem:"
RETRY_AFTER_SECONDS: Final = 1
UNAUTHENTICATED_HEADERS: Final = "xapp_operator.unauthenticated_headers"
"""Key of a request's scope: additional headers of a 401 response, as a dictionary."""

_CAMEL_CASE_BOUNDARY: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_log = get_logger(__name__)


def problem_response(error: XAppError, request: HTTPConnection) -> Response:
    """Return the response for one of our errors."""
    audit_notes(request).reason = problem_type(type(error)).removeprefix(PROBLEM_TYPE_PREFIX)
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.warning(
            "request failed", path=redact_path(request.scope["path"]), status=error.status, error=error.message
        )
    return _problem(
        request,
        status=error.status,
        title=error.title,
        detail=error.message,
        problem_type=problem_type(type(error)),
        errors=error.errors,
        missing=error.missing if isinstance(error, AccessDenied) else (),
        next_requests=error.next_requests,
        headers=_problem_headers(error, request),
    )


def http_exception_response(error: HTTPException, request: Request) -> Response:
    """Return the response for an exception of the framework: no such path, no such method."""
    status = HTTPStatus(error.status_code)
    audit_notes(request).reason = status.phrase.lower().replace(" ", "-")
    details = {
        HTTPStatus.NOT_FOUND: "there is nothing at this path: /api/v1/docs lists what there is",
        HTTPStatus.METHOD_NOT_ALLOWED: f"this path does not support {request.method}: the Allow header lists the "
        "methods that it supports",
    }
    return _problem(
        request,
        status=status,
        title=status.phrase,
        detail=details.get(status, status.phrase),
        headers=error.headers or {},
    )


def internal_error_response(error: BaseException, request: HTTPConnection) -> Response:
    """Return the response for a bug, and log the bug under the reference that the response names."""
    reference = secrets.token_hex(8)
    audit_notes(request).reason = "internal-error"
    _log.error(
        "request failed unexpectedly", reference=reference, path=redact_path(request.scope["path"]), exc_info=error
    )
    return _problem(
        request,
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        title=HTTPStatus.INTERNAL_SERVER_ERROR.phrase,
        detail=f"the gateway failed: look for the reference {reference} in its log",
        headers={},
    )


def problem_type(error_type: type[XAppError]) -> str:
    """Return the `type` of a problem: a URN that names the class of the error. `docs/api.md` lists all of them."""
    if error_type is GatewayNotFound:
        error_type = NotFound  # it makes no difference to a client whether the gateway or the cluster found nothing
    return PROBLEM_TYPE_PREFIX + _CAMEL_CASE_BOUNDARY.sub("-", error_type.__name__).lower()


def request_path(request: HTTPConnection) -> str:
    """Return the path of the request as it was sent."""
    raw = request.scope.get("raw_path")
    return raw.decode("ascii", "replace") if isinstance(raw, bytes) else request.url.path


def _problem_headers(error: XAppError, request: HTTPConnection) -> dict[str, str]:
    if isinstance(error, Unauthenticated):
        return {"WWW-Authenticate": 'Bearer realm="xapp-operator"', **request.scope.get(UNAUTHENTICATED_HEADERS, {})}
    if isinstance(error, NotReady | ApiUnavailable | TooManyRequests):
        return {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if isinstance(error, ContentTooLarge):
        return {"Connection": "close"}
    return {}


def _problem(
    request: HTTPConnection,
    *,
    status: int,
    title: str,
    detail: str,
    headers: Mapping[str, str],
    problem_type: str = "about:blank",
    errors: Sequence[FieldError] = (),
    missing: Sequence[MissingRight] = (),
    next_requests: Sequence[NextRequest] = (),
) -> Response:
    body: JsonObject = {
        "type": problem_type,
        "title": title,
        "status": status,
        "detail": detail,
        "instance": request_path(request),
        "errors": [_field_error_json(each) for each in errors],
    }
    if status == HTTPStatus.FORBIDDEN:
        body["missing"] = missing_rights_json(missing)
    if next_requests:
        body["next"] = [{"method": each.method, "path": each.path} for each in next_requests]
    return json_response(
        body,
        status=status,
        pretty=wants_pretty(request),
        media_type=PROBLEM_MEDIA_TYPE,
        headers={**PROBLEM_HEADERS, **headers},
    )


def missing_rights_json(missing: Iterable[MissingRight]) -> list[Json]:
    """Return rights that a caller lacks in the shape of the API."""
    return [
        {"verb": each.verb, "group": each.group, "resource": each.resource, "subresource": each.subresource}
        for each in missing
    ]


def _field_error_json(error: FieldError) -> JsonObject:
    place: JsonObject = {} if error.line is None else {"line": error.line, "column": error.column}
    return {"field": error.field, "message": error.message, **place}


_PROXY_ROUTE: Final = re.compile(r"(/api(?:/v1)?/xapps/[^/]*/[^/]*/(?:proxy/[^/]*/[^/]*|api)/).+", re.DOTALL)


def redact_path(path: str) -> str:
    """Return a decoded path without the part that is passed on to an xApp, which may hold a secret of the caller."""
    return _PROXY_ROUTE.sub(r"\1…", path)
