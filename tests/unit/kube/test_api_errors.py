"""Each response of the API server becomes one error, with the server's own message."""

from __future__ import annotations

import aiohttp
import orjson
import pytest
from aiohttp.client_reqrep import ConnectionKey

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
from xapp_operator.kube.api_errors import connection_error, denying_admission, error_from_response

MESSAGE_MAX_CHARACTERS = 2000

FORBIDDEN = 'x is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group "{group}"'


def answer(
    code: int, message: str, *, reason: str = "", details: dict[str, object] | None = None, own: bool = False
) -> KubeError:
    body = {"kind": "Status", "code": code, "message": message, "reason": reason, "details": details or {}}
    return error_from_response(code, orjson.dumps(body), path="/api/v1/pods", own=own)


@pytest.mark.parametrize(
    ("code", "message", "reason", "details", "kind", "permanent"),
    [
        (403, 'User "x" cannot list resource "xapps"', "Forbidden", {"name": "x"}, AccessDenied, True),
        (403, "exceeded quota: q, requested: pods=1", "Forbidden", {"name": "x"}, QuotaExceeded, False),
        (403, 'pods "x" is forbidden: not yet ready to handle request', "Forbidden", {}, ApiUnavailable, False),
        (403, 'pods "x" is forbidden: status unknown for quota: q', "Forbidden", {}, ApiUnavailable, False),
        (404, 'pods "x" not found', "NotFound", {"name": "x", "kind": "pods"}, NotFound, False),
        (409, 'pods "x" already exists', "AlreadyExists", {"name": "x"}, AlreadyExists, False),
        (409, "the object has been modified", "Conflict", {"name": "x"}, Conflict, False),
        (500, "odd", "AlreadyExists", {}, KubeError, False),
        (410, "too old resource version", "Expired", {}, WatchExpired, False),
        (413, "limit is 3145728", "RequestEntityTooLarge", {}, Invalid, True),
        (422, "is invalid", "Invalid", {}, Invalid, True),
        (400, 'strict decoding error: unknown field "spec.foo"', "BadRequest", {}, Invalid, True),
        (429, "too many requests", "TooManyRequests", {}, ApiOverloaded, False),
        (500, "etcdserver: leader changed", "InternalError", {}, KubeError, False),
        (503, "apiserver is shutting down", "ServiceUnavailable", {}, ApiUnavailable, False),
        (504, "request timed out", "Timeout", {}, ApiOverloaded, False),
    ],
)
def test_each_status_has_its_error_and_keeps_the_message(
    code: int, message: str, reason: str, details: dict[str, object], kind: type[KubeError], *, permanent: bool
) -> None:
    error = answer(code, message, reason=reason, details=details)
    assert type(error) is kind
    assert (error.message, error.permanent) == (message, permanent)


def test_the_error_of_a_namespace_that_is_being_deleted_says_what_to_do() -> None:
    details: dict[str, object] = {"causes": [{"reason": "NamespaceTerminating"}]}
    error = answer(403, "because it is being terminated", reason="Forbidden", details=details)
    assert (type(error), error.permanent) == (NamespaceTerminating, False)
    assert error.message == "because it is being terminated. Use another namespace, or try again when this one is gone."


def test_a_token_that_the_cluster_rejects_must_be_renewed() -> None:
    error = answer(401, "Unauthorized", reason="Unauthorized")
    assert (type(error), error.permanent) == (Unauthenticated, True)
    assert error.message.startswith("Unauthorized: ")
    assert "use a new one" in error.message


def test_the_causes_of_an_invalid_status_become_field_errors() -> None:
    causes = [{"field": "spec.version", "message": "must be dotted numeric", "reason": "FieldValueInvalid"}]
    error = answer(422, "invalid", details={"causes": causes})
    assert error.errors == (FieldError(field="spec.version", message="must be dotted numeric"),)


def test_a_path_that_the_cluster_does_not_serve_is_named() -> None:
    plain = error_from_response(404, b"404 page not found\n", path="/apis/xapp-operator.io/v1alpha1/xapps")
    unknown = answer(404, "the server could not find the requested resource", details={})
    other = error_from_response(404, b'{"details": {"name": "x"}}', path="/api/v1/pods")
    assert isinstance(plain, NotFound)
    assert "does not serve /apis/xapp-operator.io/v1alpha1/xapps" in plain.message
    assert "does not serve /api/v1/pods" in unknown.message
    assert "does not serve /api/v1/pods" in other.message


def test_an_object_too_large_for_etcd_is_a_permanent_error_with_the_bound() -> None:
    error = answer(500, "etcdserver: request is too large")
    assert isinstance(error, Invalid)
    assert error.permanent
    assert "1.5 MiB" in error.message


def test_two_equal_ports_of_the_nodes_are_invalid_although_the_status_says_otherwise() -> None:
    error = answer(500, "duplicate nodePort: {TCP 30080}")
    assert isinstance(error, Invalid)
    assert [each.field for each in error.errors] == ["spec.ports"]


def test_a_response_that_is_no_status_is_quoted_up_to_a_limit() -> None:
    error = error_from_response(502, b"x" * 10_000, path="/version")
    assert isinstance(error, ApiUnavailable)
    assert len(error.message) == MESSAGE_MAX_CHARACTERS


def test_json_that_is_no_status_is_quoted() -> None:
    error = error_from_response(502, b'{"message": "of a proxy"}\n', path="/version")
    assert (type(error), error.message) == (ApiUnavailable, '{"message": "of a proxy"}')


def test_an_error_without_a_text_names_its_status() -> None:
    for body in (b" ", b'{"kind": "Status"}'):
        assert error_from_response(500, body, path="/version").message == "the Kubernetes API returned status 500"


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (TimeoutError(), ApiOverloaded, "the Kubernetes API did not respond in time"),
        (aiohttp.ConnectionTimeoutError(), ApiUnavailable, "the Kubernetes API did not respond in time"),
        (OSError(104, "reset by peer"), ApiUnavailable, "the Kubernetes API does not respond: reset by peer"),
        (
            aiohttp.ClientConnectorError(ConnectionKey("a", 1, False, True, None, None, None), OSError(111, "refused")),
            ApiUnavailable,
            "the Kubernetes API does not respond: refused",
        ),
        (
            aiohttp.ServerDisconnectedError(),
            ApiUnavailable,
            "the Kubernetes API does not respond: the connection was closed",
        ),
    ],
)
def test_no_connection_is_unavailable_with_its_reason(
    error: Exception, kind: type[ApiUnavailable], message: str
) -> None:
    found = connection_error(error)
    assert (type(found), found.message) == (kind, message)


@pytest.mark.parametrize(
    ("user", "verb", "resource", "group", "missing"),
    [
        ("jane", "create", "xapps", "xapp-operator.io", MissingRight("create", "xapp-operator.io", "xapps")),
        ("jane", "get", "pods/log", "", MissingRight("get", "", "pods", "log")),
        (
            'x\\" cannot get resource \\"pods\\" in API group \\"\\" ',
            "delete",
            "xapps",
            "a.b",
            MissingRight("delete", "a.b", "xapps"),
        ),
    ],
)
def test_a_denial_of_rbac_has_the_missing_right(
    user: str, verb: str, resource: str, group: str, missing: MissingRight
) -> None:
    sentence = FORBIDDEN.format(user=user, verb=verb, resource=resource, group=group)
    for where in ('in the namespace "ric"', "at the cluster scope"):
        error = answer(403, f"{sentence} {where}", reason="Forbidden", details={"name": "x"})
        assert isinstance(error, AccessDenied)
        assert error.missing == (missing,)


def test_a_denial_for_another_reason_has_no_missing_right() -> None:
    causes = [{"field": "spec.a", "message": "too much", "reason": "FieldValueForbidden"}]
    message = 'admission webhook "w" denied the request: cannot get resource "pods"'
    error = answer(403, message, reason="Forbidden", details={"causes": causes})
    assert isinstance(error, AccessDenied)
    assert (error.message, error.missing) == (message, ())
    assert error.errors == (FieldError(field="spec.a", message="too much"),)


def test_a_cause_has_a_field_or_a_message_and_there_are_not_too_many() -> None:
    causes = [{"field": "a"}, {"message": "b"}, {"reason": "c"}]
    found = answer(422, "invalid", details={"causes": causes}).errors
    assert [(each.field, each.message) for each in found] == [("a", ""), ("", "b")]
    assert len(answer(422, "invalid", details={"causes": [{"field": "a"}] * 1000}).errors) == 50


@pytest.mark.parametrize(
    "who",
    [
        'admission webhook "w.example.com" denied the request',
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request",
        "ValidatingAdmissionPolicy 'p' denied request",
        "policy 'p' with binding 'b' denied request",
        'policy "p" denied request',
    ],
)
@pytest.mark.parametrize("code", [400, 403, 422])
def test_an_own_request_does_not_repeat_what_admission_says_of_the_object(who: str, code: int) -> None:
    message = f'secrets "x" is forbidden: {who}: the password is\nhunter2'
    causes: dict[str, object] = {"causes": [{"field": "data", "message": message}]}
    own, other = (answer(code, message, details=causes, own=own) for own in (True, False))
    assert own.message == f'secrets "x" is forbidden: {who}: its message may quote values, so it is not shown'
    assert own.errors == (FieldError(field="data", message=own.message),)
    assert other.message.replace("\n", " ") == message.replace("\n", " ")
    assert denying_admission(own.message) == denying_admission(other.message) == who


@pytest.mark.parametrize(
    "message",
    [
        'spec.env[0]: Invalid value: core.EnvVar{Name:"A", Value:"S3cret"}: may not be used, also: S3cret',
        'data: Invalid value: map[string]interface {}{"a":"S3cret"}: must be text',
        'spec: Forbidden: pod updates may not change fields\n  core.PodSpec{\n- \tHostname: "S3cret",\n  }',
        "failed to create typed patch object: .data.a: expected string, got &value.valueUnstructured{Value:S3cret}",
    ],
)
def test_an_own_request_does_not_repeat_values_in_the_syntax_of_go(message: str) -> None:
    assert "S3cret" in answer(422, message, own=False).message
    assert "S3cret" not in answer(422, message, own=True).message


@pytest.mark.parametrize("value", ["50%", "10/20", "12", "true", "2026-11-28T03", "a+b", "7 apples"])
def test_an_own_request_does_not_repeat_values_without_quotes(value: str) -> None:
    shown = answer(422, f"spec.pin: Invalid value: {value}: must be another one", own=True).message
    assert value.split(maxsplit=1)[0] not in shown
    assert shown.endswith("must be another one")


def test_an_own_request_does_not_repeat_invalid_values() -> None:
    message = 'Lock "x" is invalid: spec.pin: Invalid value: "hunter2": spec.pin must be a number'
    assert answer(422, message, own=True).message.endswith("spec.pin: Invalid value: spec.pin must be a number")
    assert answer(422, message).message == message


@pytest.mark.parametrize(
    "message",
    [
        "ValidatingAdmissionPolicy 'deployer.xapp-operator.io' with binding 'b' denied request: use a Role",
        'admission webhook "w" denied the request without explanation',
        'XApp "x" is invalid: <nil>: Invalid value: spec.releaseName cannot be changed: create a new XApp',
        'pods "x" is forbidden: violates PodSecurity "restricted:latest": privileged (container "main")',
    ],
)
def test_an_own_request_keeps_what_quotes_nothing(message: str) -> None:
    assert answer(403, message, own=True).message == message
