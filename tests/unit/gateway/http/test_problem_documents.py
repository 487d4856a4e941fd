"""Whole problem documents, with the headers and the audit reason of each kind of error, without a server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.responses import Response
from structlog.testing import capture_logs

from tests.unit.gateway.http.requests import make_request
from xapp_operator.errors import (
    AccessDenied,
    ApiUnavailable,
    ContentTooLarge,
    FieldError,
    FormInvalid,
    GatewayNotFound,
    MissingRight,
    NextRequest,
    NotFound,
    NotReady,
    RequestRefused,
    TooManyConcurrentRequests,
    Unauthenticated,
    XAppError,
)
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.responses.problems import (
    UNAUTHENTICATED_HEADERS,
    http_exception_response,
    internal_error_response,
    problem_response,
    redact_path,
)


def read(answer: Response) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bytes(answer.body))
    return found


def test_a_problem_lists_fields_and_requests() -> None:
    request = make_request()
    error = FormInvalid("values a is refused", errors=(FieldError("values", "a", 3, 7), FieldError("name", "b")))
    error.next_requests = (NextRequest("GET", "/api/xapps"),)
    answer = problem_response(error, request)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert read(answer) == {
        "type": "urn:xapp-operator:problem:form-invalid",
        "title": FormInvalid.title,
        "status": 422,
        "detail": "values a is refused",
        "instance": "/api/x",
        "errors": [
            {"field": "values", "message": "a", "line": 3, "column": 7},
            {"field": "name", "message": "b"},
        ],
        "next": [{"method": "GET", "path": "/api/xapps"}],
    }
    assert audit_notes(request).reason == "form-invalid"


def test_a_refused_caller_reads_which_rights_are_missing() -> None:
    missing = (MissingRight("get", "", "pods", "log"), MissingRight("create", "xapp-operator.io", "xapps"))
    found = read(problem_response(AccessDenied("no", missing=missing), make_request()))
    assert found["missing"] == [
        {"verb": "get", "group": "", "resource": "pods", "subresource": "log"},
        {"verb": "create", "group": "xapp-operator.io", "resource": "xapps", "subresource": None},
    ]


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (NotReady("a"), {"retry-after": "1"}),
        (ApiUnavailable("a"), {"retry-after": "1"}),
        (TooManyConcurrentRequests("a"), {"retry-after": "1"}),
        (ContentTooLarge("a"), {"connection": "close"}),
        (Unauthenticated("a"), {"www-authenticate": 'Bearer realm="xapp-operator"', "x-more": "b"}),
        (NotFound("a"), {}),
        (RequestRefused("a"), {}),
    ],
)
def test_a_problem_has_the_headers_of_its_kind(error: XAppError, headers: dict[str, str]) -> None:
    request = make_request()
    request.scope[UNAUTHENTICATED_HEADERS] = {"X-More": "b"}
    found = dict(problem_response(error, request).headers)
    assert found.pop("content-length")
    assert found == {"content-type": "application/problem+json", "cache-control": "no-store", **headers}


def test_the_gateway_and_the_cluster_find_nothing_in_the_same_way() -> None:
    types = [read(problem_response(each("a"), make_request()))["type"] for each in (NotFound, GatewayNotFound)]
    assert types == ["urn:xapp-operator:problem:not-found"] * 2


@pytest.mark.parametrize(("error", "logged"), [(XAppError("a"), True), (NotReady("a"), True), (NotFound("a"), False)])
def test_a_problem_of_the_server_is_logged(error: XAppError, logged: bool) -> None:
    with capture_logs() as logs:
        problem_response(error, make_request())
    expected = {
        "event": "request failed",
        "log_level": "warning",
        "path": "/api/x",
        "status": error.status,
        "error": "a",
    }
    assert logs == [expected] * logged


@pytest.mark.parametrize(
    ("status", "detail", "reason"),
    [
        (404, "there is nothing at this path: /api/v1/docs lists what there is", "not-found"),
        (
            405,
            "this path does not support GET: the Allow header lists the methods that it supports",
            "method-not-allowed",
        ),
        (406, "Not Acceptable", "not-acceptable"),
    ],
)
def test_an_exception_of_the_framework_is_a_problem(status: int, detail: str, reason: str) -> None:
    request = make_request()
    answer = http_exception_response(HTTPException(status, headers={"Allow": "PUT"}), request)
    found = read(answer)
    assert (answer.status_code, found["status"], found["detail"]) == (status, status, detail)
    assert (found["type"], answer.headers["allow"]) == ("about:blank", "PUT")
    assert audit_notes(request).reason == reason
    assert "allow" not in http_exception_response(HTTPException(status), request).headers


def test_a_bug_is_named_by_a_reference_that_the_log_has() -> None:
    request = make_request()
    with capture_logs() as logs:
        answer = internal_error_response(ValueError("secret"), request)
    detail = read(answer)["detail"]
    named = re.fullmatch(r"the gateway failed: look for the reference ([0-9a-f]{16}) in its log", detail)
    assert named is not None
    assert [each["reference"] for each in logs] == [named[1]]
    assert (answer.status_code, audit_notes(request).reason) == (500, "internal-error")


def test_the_instance_is_the_path_as_it_was_sent() -> None:
    request = make_request()
    request.scope["raw_path"] = b"/api/%41\xff"
    assert read(problem_response(NotFound("a"), request))["instance"] == "/api/%41�"


@pytest.mark.parametrize(
    ("path", "redacted"),
    [
        ("/api/xapps/ns/name/proxy/web/80/token/x", "/api/xapps/ns/name/proxy/web/80/…"),
        ("/api/v1/xapps/ns/name/api/token\nx", "/api/v1/xapps/ns/name/api/…"),
        ("/api/xapps/ns/name/proxy/web/80/", "/api/xapps/ns/name/proxy/web/80/"),
        ("/api/xapps/ns/name/config", "/api/xapps/ns/name/config"),
    ],
)
def test_what_is_passed_on_to_an_xapp_is_not_logged(path: str, redacted: str) -> None:
    assert redact_path(path) == redacted
