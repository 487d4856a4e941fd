"""From what the API server answers, or does not answer, to the error tree of this package.

Lives in `kube` so that no layer above reads HTTP status codes, `Status` objects or exceptions of the HTTP library. The
API server's own message is kept: it names the user, the verb and the resource of a missing right, and the field of a
refused object.
"""

from __future__ import annotations

import ssl
from http import HTTPStatus
from typing import Final

import aiohttp
import orjson

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.common.text import shorten
from xapp_operator.errors import (
    AccessDenied,
    AlreadyExists,
    ApiUnavailable,
    Conflict,
    FieldError,
    Invalid,
    KubeError,
    NamespaceTerminating,
    NotFound,
    QuotaExceeded,
    Unauthenticated,
    WatchExpired,
)

MESSAGE_MAX_CHARACTERS: Final = 2000
FIELD_ERRORS_MAX: Final = 50
FIRST_ERROR_STATUS: Final = 400

_ERROR_BY_STATUS: Final[dict[int, type[KubeError]]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: AccessDenied,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.REQUEST_TIMEOUT: ApiUnavailable,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: WatchExpired,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Invalid,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: Invalid,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
    HTTPStatus.TOO_MANY_REQUESTS: ApiUnavailable,
    HTTPStatus.BAD_GATEWAY: ApiUnavailable,
    HTTPStatus.SERVICE_UNAVAILABLE: ApiUnavailable,
    HTTPStatus.GATEWAY_TIMEOUT: ApiUnavailable,
}


def error_from_response(status: int, body: bytes, *, path: str) -> KubeError:
    """Return the error for an HTTP answer of 400 or more to `path`; `body` is a `Status` object or any text."""
    try:
        decoded = orjson.loads(body)
    except ValueError:
        decoded = None
    is_status = isinstance(decoded, dict) and decoded.get("kind") == "Status"
    if status == HTTPStatus.NOT_FOUND and not (is_status and text(obj(decoded, "details"), "name")):
        # What a server says for a path that it does not serve: the kind, not an object of it, is missing.
        return NotFound(f"the cluster does not serve {path}: install the CustomResourceDefinition that it belongs to")
    if is_status:
        return error_from_status(status, decoded)
    plain = body.decode("utf-8", "replace").strip()
    return _ERROR_BY_STATUS.get(status, KubeError)(
        _shorten(plain) or f"the Kubernetes API answered with status {status}"
    )


def error_from_status(code: int, status: JsonObject) -> KubeError:
    """Return the error for a `Status` object (meta/v1), from an answer or from an ERROR event of a watch."""
    details = obj(status, "details")
    causes = items(details, "causes")
    message = _shorten(text(status, "message")) or f"the Kubernetes API answered with status {code}"
    reason = text(status, "reason")
    if code == HTTPStatus.UNAUTHORIZED:
        # The server says no more than "Unauthorized", whatever is wrong.
        message = f"{message}: the cluster does not know the token, or it has expired or been revoked; use a new one"
    if code == HTTPStatus.FORBIDDEN:
        if any(text(cause, "reason") == "NamespaceTerminating" for cause in causes):
            return NamespaceTerminating(message)
        if "exceeded quota" in message:
            return QuotaExceeded(message)
    if any(text(cause, "reason") == "ResourceVersionTooLarge" for cause in causes):
        # The server has forgotten what it once told: etcd was restored from a backup.
        return WatchExpired(message)
    if "etcdserver: request is too large" in message:
        return Invalid("the object is too large: etcd stores at most 1.5 MiB an object; make its values smaller")
    if code == HTTPStatus.CONFLICT and reason == "AlreadyExists":
        return AlreadyExists(message)
    return _ERROR_BY_STATUS.get(code, KubeError)(message, errors=_field_errors(causes))


def connection_error(error: BaseException) -> ApiUnavailable:
    """Return the error for a request that got no answer."""
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return ApiUnavailable(
            "the connection to the Kubernetes API is not trusted: its certificate does not fit the configured authority"
        )
    if isinstance(error, TimeoutError):
        return ApiUnavailable("the Kubernetes API did not answer in time")
    cause = getattr(error, "os_error", None) or error
    reason = getattr(cause, "strerror", None)
    return ApiUnavailable(f"the Kubernetes API does not answer: {reason or 'the connection was closed'}")


def _field_errors(causes: list[JsonObject]) -> tuple[FieldError, ...]:
    found = (
        FieldError(field=text(cause, "field"), message=_shorten(text(cause, "message")))
        for cause in causes[:FIELD_ERRORS_MAX]
    )
    return tuple(error for error in found if error.field or error.message)


def _shorten(message: str) -> str:
    return shorten(message, MESSAGE_MAX_CHARACTERS)
