"""Translates responses of the API server, and missing responses, to the errors of this package.

So no layer above reads HTTP status codes, `Status` objects or exceptions of the HTTP library. The message of the API
server is kept: it names the user, verb and resource of a missing permission, and the invalid field of an object. What
it quotes of an object is kept only for requests of a caller, who alone sees the error: errors of the operator end up in
statuses, events and logs, which more people may read than the object.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import aiohttp
import orjson

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.api.names import LABEL_AGGREGATE_TO_IMPERSONATION
from xapp_operator.common.text import shorten
from xapp_operator.errors import (
    AccessDenied,
    AlreadyExists,
    ApiOverloaded,
    ApiUnavailable,
    Conflict,
    FieldError,
    Invalid,
    KubeError,
    MissingRight,
    NamespaceTerminating,
    NotFound,
    QuotaExceeded,
    Unauthenticated,
    WatchExpired,
)

MESSAGE_MAX_CHARACTERS: Final = 2000
FIELD_ERRORS_MAX: Final = 50
FIRST_ERROR_STATUS: Final = 400

IMPERSONATION_HINT: Final = (
    "spec.serviceAccountName can name only service accounts that the operator may impersonate. To allow another one, "
    f'create a ClusterRole with the label {LABEL_AGGREGATE_TO_IMPERSONATION}: "true" that grants impersonate on it'
)

_QUOTED: Final = r'"((?:[^"\\]|\\.)*+)"'
MISSING_RIGHT: Final = re.compile(rf"User {_QUOTED} cannot ([a-z]+) resource {_QUOTED} in API group {_QUOTED} ")
"""What the API server says when no rule allows a request (apiserver, handlers/responsewriters/errors.go)."""

ADMISSION_NOT_READY: Final = re.compile(
    r" is forbidden: (?:not yet ready to handle request|status unknown for quota: )"
)
"""What the API server says while it starts, and while the usage of a new ResourceQuota is counted. It passes."""

_INVALID_VALUE: Final = re.compile(
    r"(Invalid value|Unsupported value|Duplicate value): "
    r'(?:"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|\{(?:[^}]++|\}(?!: ))*+(?:\}|\Z)|\[(?:[^\]]++|\](?!: ))*+(?:\]|\Z)'
    r"|[^\s:\[{&(]*+[\[{&(].*|\d[^\s:,]*+|[^\s:,]++(?=[:,]|\Z))",
    re.DOTALL,
)
"""A value that has no end, or is in the syntax of Go, goes on to the end of the text.

Where there is no value, as in messages of some rules of a CustomResourceDefinition, a word begins what is wrong.
"""
_GO_VALUE: Final = re.compile(r"(expected [a-z]+), got .*", re.DOTALL)
"""A value in a message about types (structured-merge-diff, typed/validate.go)."""
_ADMISSION: Final = re.compile(
    r"(?P<who>admission webhook \"[^\"]*+\" denied the request"
    r"|(?:ValidatingAdmissionPolicy|policy) (?:'[^']*+'(?: with binding '[^']*+')?|\"[^\"]*+\") denied request)"
    r"(?P<says>: .*)?",
    re.DOTALL,
)
"""What the API server says when admission control denies a request (apiserver, pkg/admission/plugin)."""
_REPEATED_NODE_PORT: Final = "duplicate nodePort: "
"""What the API server says of two ports of one Service, with the status 500 (registry/core/service/storage)."""
_OWN_POLICY: Final = ".xapp-operator.io'"
_NOT_SHOWN: Final = "its message may quote values, so it is not shown"

_ERROR_BY_STATUS: Final[dict[int, type[KubeError]]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: AccessDenied,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.REQUEST_TIMEOUT: ApiOverloaded,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: WatchExpired,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Invalid,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: Invalid,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
    HTTPStatus.TOO_MANY_REQUESTS: ApiOverloaded,
    HTTPStatus.BAD_GATEWAY: ApiUnavailable,
    HTTPStatus.SERVICE_UNAVAILABLE: ApiUnavailable,
    HTTPStatus.GATEWAY_TIMEOUT: ApiOverloaded,
}


def error_from_response(status: int, body: bytes, *, path: str, own: bool = False) -> KubeError:
    """Return the error for an HTTP response with a status of 400 or more; `body` is a `Status` object or any text.

    For `own`, a request that no caller asked for, it repeats nothing that the API server may quote of the object.
    """
    try:
        decoded = orjson.loads(body)
    except ValueError:
        decoded = None
    is_status = isinstance(decoded, dict) and decoded.get("kind") == "Status"
    if status == HTTPStatus.NOT_FOUND and not (is_status and text(obj(decoded, "details"), "name")):
        # The server responds like this to a path that it does not serve: the kind is missing, not one object.
        return NotFound(f"the cluster does not serve {path}: install the CustomResourceDefinition of this kind")
    if is_status:
        return error_from_status(status, decoded, own=own)
    plain = body.decode("utf-8", "replace").strip()
    return _ERROR_BY_STATUS.get(status, KubeError)(_shorten(plain) or f"the Kubernetes API returned status {status}")


def error_from_status(code: int, status: JsonObject, *, own: bool = False) -> KubeError:
    """Return the error for a `Status` object (meta/v1), from a response or from an ERROR event of a watch.

    `own` is that of `error_from_response`.
    """
    causes = items(obj(status, "details"), "causes")
    message, errors = text(status, "message"), _field_errors(causes)
    if own:
        message = _without_quotes(message)
        errors = tuple(replace(each, message=_without_quotes(each.message)) for each in errors)
    message = _shorten(message) or f"the Kubernetes API returned status {code}"
    reason = text(status, "reason")
    if code == HTTPStatus.UNAUTHORIZED:
        # The server returns only "Unauthorized", whatever the reason.
        message = f"{message}: the token is unknown to the cluster, expired or revoked; use a new one"
    if code == HTTPStatus.FORBIDDEN:
        return _forbidden_error(message, causes, errors)
    if any(text(cause, "reason") == "ResourceVersionTooLarge" for cause in causes):
        # etcd was restored from a backup, so the server no longer has this version.
        return WatchExpired(message)
    if message.startswith(_REPEATED_NODE_PORT):
        return Invalid(message, errors=(FieldError("spec.ports", message),))
    if "etcdserver: request is too large" in message:
        return Invalid("the object is too large: etcd stores at most 1.5 MiB per object; make its values smaller")
    if code == HTTPStatus.CONFLICT and reason == "AlreadyExists":
        return AlreadyExists(message)
    return _ERROR_BY_STATUS.get(code, KubeError)(message, errors=errors)


def without_invalid_values(message: str) -> str:
    """Return a message of the API server without the values that it refuses."""
    return _INVALID_VALUE.sub(r"\1", message)


def denying_admission(message: str) -> str | None:
    """Return which webhook or policy of admission control denies a request, without its own words."""
    found = _ADMISSION.search(message)
    return None if found is None else found["who"]


def _without_quotes(message: str) -> str:
    first_line = message.partition("\n")[0]  # a difference of Go values follows, for example of a pod that is changed
    return without_invalid_values(_GO_VALUE.sub(r"\1", _ADMISSION.sub(_without_admission_message, first_line)))


def _without_admission_message(found: re.Match[str]) -> str:
    if found["says"] is None or _OWN_POLICY in found["who"]:
        return found[0]
    return f"{found['who']}: {_NOT_SHOWN}"


def _forbidden_error(message: str, causes: list[JsonObject], errors: tuple[FieldError, ...]) -> KubeError:
    if any(text(cause, "reason") == "NamespaceTerminating" for cause in causes):
        return NamespaceTerminating(f"{message}. Use another namespace, or try again when this one is gone.")
    if "exceeded quota" in message:
        return QuotaExceeded(message)
    if ADMISSION_NOT_READY.search(message):
        return ApiUnavailable(message)
    missing = _missing_rights(message)
    if "cannot impersonate resource" in message:
        message = f"{message}. {IMPERSONATION_HINT}"
    return AccessDenied(message, errors=errors, missing=missing)


def connection_error(error: BaseException) -> ApiUnavailable:
    """Return the error for a request without a response."""
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return ApiUnavailable(
            "the connection to the Kubernetes API is not trusted: its certificate is not from the configured CA"
        )
    if isinstance(error, TimeoutError):
        late = "the Kubernetes API did not respond in time"
        return ApiUnavailable(late) if isinstance(error, aiohttp.ConnectionTimeoutError) else ApiOverloaded(late)
    reason = getattr(error, "strerror", None)
    return ApiUnavailable(f"the Kubernetes API does not respond: {reason or 'the connection was closed'}")


def _field_errors(causes: list[JsonObject]) -> tuple[FieldError, ...]:
    found = (
        FieldError(field=text(cause, "field"), message=_shorten(text(cause, "message")))
        for cause in causes[:FIELD_ERRORS_MAX]
    )
    return tuple(error for error in found if error.field or error.message)


def _missing_rights(message: str) -> tuple[MissingRight, ...]:
    found = MISSING_RIGHT.search(message)
    if found is None:
        return ()
    resource, _, subresource = found[3].partition("/")
    return (MissingRight(found[2], found[4], resource, subresource or None),)


def _shorten(message: str) -> str:
    return shorten(message, MESSAGE_MAX_CHARACTERS)
