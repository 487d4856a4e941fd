"""What a refusal of the gateway means for the command line: the message, its lines, and the exit code. Pure."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Final

from xapp_operator.api.json import Json, JsonObject, integer, items, text
from xapp_operator.cli.errors import CliError, InputRefused, NotAllowed, NotFound
from xapp_operator.cli.http.foreign_answers import status_phrase

PROBLEM_PREFIX: Final = "urn:xapp-operator:problem:"

_REFUSED: Final = frozenset({400, 409, 412, 413, 414, 415, 422, 428})
_SIGN_IN: Final = "Sign in with `xapp login`, or pass a token of the cluster with --token or XAPP_TOKEN."

FLAG_OF_FIELD: Final = {
    "xAppForm.xAppName": "--name",
    "xAppForm.organization": "--organization",
    "xAppForm.team": "--team",
    "xAppForm.version": "--version",
    "xAppForm.owner": "--owner",
    "xAppForm.namespace": "--namespace",
    "xAppForm.chartName": "--chart",
    "xAppForm.chartVersion": "--chart-version",
    "xAppForm.url": "--url",
    "xAppForm.repoName": "--repo",
    "file": "--file",
}


class Problem(CliError):
    """An error response of the gateway (RFC 9457)."""

    def __init__(self, message: str, *, status: int, kind: str, details: tuple[str, ...] = ()) -> None:
        super().__init__(message, details=details)
        self.status = status
        self.kind = kind


class ProblemNotFound(Problem, NotFound):
    """404."""


class ProblemNotAllowed(Problem, NotAllowed):
    """401 and 403."""


class ProblemInputRefused(Problem, InputRefused):
    """The other refusals of what was sent."""


def problem_of(status: int, body: bytes, *, path: str) -> Problem:
    """Return the error for a response with an error status."""
    document = _decode(body)
    kind = text(document, "type").removeprefix(PROBLEM_PREFIX)
    title, detail = text(document, "title"), text(document, "detail")
    message = f"{title}: {detail}" if title and detail and title != detail else detail or title
    if not message:
        message = f"the gateway answers {status} {status_phrase(status)} to {path}"
    details = (*(line for line in _field_lines(document) if not _is_said_in(message, line)), *_right_lines(document))
    if status == HTTPStatus.UNAUTHORIZED:
        details = (*details, _SIGN_IN)
    return _class_of(status, kind)(message, status=status, kind=kind, details=details)


def _class_of(status: int, kind: str) -> type[Problem]:
    if status == HTTPStatus.NOT_FOUND:
        return ProblemNotFound
    if status in _REFUSED or kind == "quota-exceeded":
        return ProblemInputRefused
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return ProblemNotAllowed
    return Problem


def _decode(body: bytes) -> JsonObject:
    try:
        document: Json = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _field_lines(document: JsonObject) -> list[str]:
    lines = []
    for error in items(document, "errors"):
        field = text(error, "field")
        flag = FLAG_OF_FIELD.get(field)
        line, column = integer(error, "line"), integer(error, "column")
        place = f" (line {line}, column {column})" if line else ""
        lines.append(f"{field}{f' ({flag})' if flag else ''}{place}: {text(error, 'message')}")
    return lines


def _is_said_in(message: str, line: str) -> bool:
    """Return whether a line names a field and its error as the message does."""
    return line.replace(": ", " ", 1) in message


def _right_lines(document: JsonObject) -> list[str]:
    lines = []
    for right in items(document, "missing"):
        resource = "/".join(part for part in (text(right, "resource"), text(right, "subresource")) if part)
        group = text(right, "group")
        lines.append(f"missing right: {text(right, 'verb')} on {resource}{f'.{group}' if group else ''}")
    return lines
