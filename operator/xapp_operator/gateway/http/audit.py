"""What the audit log says about one request: collected in its scope while it is handled, and written by the middleware.

It never contains a query, a header, a body, or a path: the route template, and the names of namespace and object.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from starlette.requests import HTTPConnection
from starlette.types import Scope

from xapp_operator.domain.caller_groups import group_of_user
from xapp_operator.telemetry.audit import AuditLog
from xapp_operator.telemetry.metrics import METRICS

RESPONSE_STARTED: Final = "ResponseStarted"
RESPONSE_COMPLETE: Final = "ResponseComplete"
"""Stages of a request, named as in the audit log of Kubernetes."""

UNMATCHED: Final = "unmatched"
USER_MAX_LENGTH: Final = 256

_NOTES: Final = "xapp_operator.audit_notes"
"""Key of a request's scope: its RequestNotes."""
_OBJECT_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
"""A name of Kubernetes (RFC 1123). Any other text in a path may be anything, even a secret."""
_REFUSED_NAME_MAX: Final = 63
"""Characters of a name in a refused request: a longer one may be a secret. If the request succeeds, it is a name."""


class AuditedCaller(Protocol):
    """The caller of a request."""

    @property
    def user(self) -> str:
        """Return the name of the user, or an empty string."""

    @property
    def is_authenticated(self) -> bool:
        """Return whether the cluster knows the caller, or callers need not authenticate."""


@dataclass(slots=True)
class RequestNotes:
    """What is known of a request besides its scope."""

    caller: AuditedCaller | None = None
    user: str = ""
    namespace: str | None = None
    name: str | None = None
    reason: str | None = None


def begin_notes(scope: Scope) -> RequestNotes:
    notes = RequestNotes()
    scope[_NOTES] = notes
    return notes


def audit_notes(connection: HTTPConnection) -> RequestNotes:
    """Return the notes of a request, to add to them."""
    notes = connection.scope.get(_NOTES)
    return notes if isinstance(notes, RequestNotes) else begin_notes(connection.scope)


def authenticated_group(scope: Mapping[str, object]) -> str | None:
    """Return whose share the caller of a request takes (`group_of_user`), or None if they are not authenticated yet."""
    notes = scope.get(_NOTES)
    if not isinstance(notes, RequestNotes) or notes.caller is None or not notes.caller.is_authenticated:
        return None
    return group_of_user(notes.caller.user)


class RequestRecord:
    """The time, metrics and audit lines of one request."""

    def __init__(self, log: AuditLog | None, notes: RequestNotes, scope: Scope, *, address: str, method: str) -> None:
        """Begin; `scope` is the one that the routes see. Without `log`, there are no audit lines."""
        self._log = log
        self._notes = notes
        self._scope = scope
        self._address = address
        self._method = method
        self._started_at = time.perf_counter()
        self.has_started = False

    def started(self, status: int) -> None:
        """Note the begin of a response that may last: it has a line of its own."""
        self.has_started = True
        self._write(RESPONSE_STARTED, status, time.perf_counter() - self._started_at)

    def complete(self, status: int) -> None:
        """Note the end of the response; `status` 0 means that there was none."""
        seconds = time.perf_counter() - self._started_at
        METRICS.record_request(method=self._method, route=self._route or UNMATCHED, status=status, seconds=seconds)
        self._write(RESPONSE_COMPLETE, status, seconds)

    @property
    def _route(self) -> str | None:
        return getattr(self._scope.get("route"), "path", None)

    def _write(self, stage: str, status: int, seconds: float) -> None:
        if self._log is None:
            return
        notes, parameters = self._notes, self._scope.get("path_params", {})
        user = notes.user or (notes.caller.user if notes.caller is not None else "")
        self._log.write(
            stage=stage,
            user=user[:USER_MAX_LENGTH] or None,
            address=self._address or None,
            method=self._method,
            route=self._route,
            namespace=_object_name(notes.namespace or parameters.get("namespace"), status),
            name=_object_name(notes.name or parameters.get("name"), status),
            status=status,
            reason=notes.reason,
            seconds=round(seconds, 4),
        )


def write_refused_connection(log: AuditLog, *, address: str, status: int, reason: str) -> None:
    """Write the line of what never became a request."""
    log.write(
        stage=RESPONSE_COMPLETE,
        user=None,
        address=address or None,
        method=None,
        route=None,
        namespace=None,
        name=None,
        status=status,
        reason=reason,
        seconds=0,
    )


def _object_name(text: str | None, status: int) -> str | None:
    if text is None or not _OBJECT_NAME.fullmatch(text):
        return None
    return text if len(text) <= _REFUSED_NAME_MAX or 0 < status < HTTPStatus.BAD_REQUEST else None
