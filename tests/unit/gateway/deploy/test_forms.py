"""Which deployment forms are accepted, and the errors for others."""

from __future__ import annotations

from typing import Any

import pytest

from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.errors import FormInvalid, MalformedRequest
from xapp_operator.gateway.deploy.forms import FORM_PART, Form, form_schema, read_namespace, validate_form
from xapp_operator.gateway.http.requests.bodies import decode_json_object
from xapp_operator.gateway.http.requests.validation import FIELD_ERRORS_MAX

SETTINGS = Settings()
REMOTE = {
    "method": "Remote Chart Repository",
    "chartName": "hello",
    "url": "https://charts.example.com",
    "repoName": "acme",
}


def form(**changes: Any) -> JsonObject:
    whole: JsonObject = {
        "xAppName": "hello",
        "organization": "O-RAN Alliance",
        "team": "ran",
        "version": "0.2.1",
        "owner": "jane",
        "method": "Upload Chart",
        "namespace": "ric-xapps",
    }
    return whole | changes


def checked(**changes: Any) -> Form:
    return validate_form(form(**changes), settings=SETTINGS)


def test_an_upload_is_named_after_its_identity() -> None:
    taken = checked()

    assert taken.name == "o-ran-alliance-ran-hello"
    assert taken.is_upload
    assert taken.fields == form()


def test_fields_unused_by_an_upload_are_dropped() -> None:
    taken = checked(chartName="hello", url="https://charts.example.com", repoName="acme")

    assert taken.fields == form()


def test_optional_fields_are_accepted() -> None:
    beyond: JsonObject = {
        "chartVersion": ">=0.2 <1",
        "valuesFrom": [{"kind": "Secret", "name": "n", "key": "values.yaml", "optional": True}],
        "releaseName": "hello",
        "serviceAccountName": "deployer",
        "adopt": True,
        "suspend": False,
        "timeout": "1h30m",
        "maxHistory": 10,
        "driftDetection": {"mode": "enabled"},
        "deletionPolicy": "Orphan",
        "upgrade": {"onFailure": "none"},
        "test": {"enabled": True},
        "dependsOn": [{"name": "other"}],
    }

    assert checked(**REMOTE, **beyond).fields == form(**REMOTE, **beyond)


def test_null_means_omitted_and_clears_a_field_in_an_upgrade() -> None:
    taken = checked(timeout=None, releaseName=None, values=None)

    assert taken.fields == form()
    assert set(taken.cleared) == {"timeout", "releaseName"}


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"version": 2}, "version", "string in quotes"),
        ({"version": "v0.2"}, "version", "dotted numeric"),
        ({"version": "0.2\n"}, "version", "control characters"),
        ({"version": "0.2."}, "version", "dotted numeric"),
        ({"version": "1" * 64}, "version", "at most 63 characters"),
        ({"xAppName": "..."}, "xAppName", "at least one letter or digit"),
        ({"xAppName": "x" * 254}, "xAppName", "at most 253 characters"),
        ({"team": "日本"}, "team", "at least one letter or digit"),
        ({"organization": None}, "organization", "is required"),
        ({"owner": ["jane"]}, "owner", "string in quotes"),
        ({"method": "upload"}, "method", "'Remote Chart Repository' or 'Upload Chart'"),
        ({"namespace": "Ric_xApps"}, "namespace", "lower-case"),
        ({"namespace": "a" * 64}, "namespace", "63"),
        ({"namespace": "-a"}, "namespace", "lower-case"),
        ({"adopt": "yes"}, "adopt", "true or false"),
        ({"maxHistory": "5"}, "maxHistory", "whole number"),
        ({"maxHistory": 0}, "maxHistory", "greater than or equal to 1"),
        ({"maxHistory": True}, "maxHistory", "whole number"),
        ({"timeout": "5"}, "timeout", "between 1s and 24h"),
        ({"timeout": "25h"}, "timeout", "between 1s and 24h"),
        ({"timeout": "5m\n"}, "timeout", "control characters"),
        ({"releaseName": "Hello"}, "releaseName", "lower-case"),
        ({"releaseName": "h" * 54}, "releaseName", "53"),
        ({"upgrade": {"onFail": "none"}}, "upgrade.onFail", "not a known field"),
        ({"upgrade": "none"}, "upgrade", "must be an object"),
        ({"dependsOn": {"name": "x"}}, "dependsOn", "must be a list"),
        ({"dependsOn": [{"name": 3}]}, "dependsOn.0.name", "string in quotes"),
        ({"xAppname": "x"}, "xAppname", "did you mean 'xAppName'"),
        ({"x_app_name": "x"}, "x_app_name", "not a known field"),
        ({"unknown": None}, "unknown", "not a known field"),
        ({"values": {"a": 1}}, "values", "as the part values"),
        ({"archive": {}}, "archive", "as the part file"),
        ({"chartVersion": "1.0"}, "chartVersion", "forbidden with method 'Upload Chart'"),
        ({**REMOTE, "chartName": None}, "chartName", "required with method 'Remote Chart Repository'"),
        ({**REMOTE, "url": None}, "url", "required with method"),
        ({**REMOTE, "repoName": None}, "repoName", "required with method"),
        ({**REMOTE, "url": "ftp://charts.example.com"}, "url", "http://, https:// or oci://"),
        ({**REMOTE, "url": "https://"}, "url", "name a host"),
        ({**REMOTE, "url": "https://me:pw@charts.example.com"}, "url", "must not contain credentials"),
        ({**REMOTE, "repoName": "Acme_1"}, "repoName", "lower-case"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_an_invalid_field_is_named_with_its_rule(changes: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(FormInvalid) as refusal:
        checked(**changes)

    assert refusal.value.status == 422
    found = {error.field: error.message for error in refusal.value.errors}
    assert set(found) == {f"xAppForm.{field}"}
    assert says in found[f"xAppForm.{field}"]


def test_all_invalid_fields_are_named_at_once() -> None:
    with pytest.raises(FormInvalid) as refusal:
        checked(version="v1", team="", owner=1, namespace="A", surprise=1)

    assert {error.field.removeprefix("xAppForm.") for error in refusal.value.errors} >= {
        "version",
        "team",
        "owner",
        "namespace",
        "surprise",
    }


def test_an_error_with_many_invalid_fields_is_bounded() -> None:
    with pytest.raises(FormInvalid) as refusal:
        checked(**{f"unknown{at}": at for at in range(3000)})

    assert len(refusal.value.errors) == FIELD_ERRORS_MAX


def test_an_error_does_not_repeat_the_value_of_a_field() -> None:
    with pytest.raises(FormInvalid) as refusal:
        checked(**{**REMOTE, "url": "https://me:s3cret@charts.example.com", "version": "s3cret", "owner": ["s3cret"]})

    assert "s3cret" not in str(refusal.value.errors) + refusal.value.message


def test_an_unwatched_namespace_is_refused() -> None:
    with pytest.raises(FormInvalid, match="one of the namespaces that this gateway serves: a, b"):
        validate_form(form(), settings=Settings(namespaces=("a", "b")))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", MalformedRequest),
        (b"  ", MalformedRequest),
        (b"{", MalformedRequest),
        (b"xAppName: hello", MalformedRequest),
        (b'{"a": NaN}', MalformedRequest),
        (b'{"a": "\xff"}', MalformedRequest),
        (b"[]", FormInvalid),
        (b'"text"', FormInvalid),
        (b"null", FormInvalid),
        (b'{"xAppName": "a", "xAppName": "b"}', FormInvalid),
        (b'{"upgrade": {"a": 1, "a": 1}}', FormInvalid),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error, match="xAppForm"):
        decode_json_object(data, what=FORM_PART)


def test_a_byte_order_mark_is_accepted() -> None:
    assert decode_json_object(b'\xef\xbb\xbf{"xAppName": "hello"}', what=FORM_PART) == {"xAppName": "hello"}


def test_the_namespace_of_an_invalid_form_is_found_for_the_access_review() -> None:
    assert read_namespace({"namespace": "ric-xapps", "version": 1}) == "ric-xapps"
    assert read_namespace({"namespace": "A/b"}) is None
    assert read_namespace({"namespace": 3}) is None


def test_the_published_schema_is_that_of_the_form() -> None:
    schema = form_schema()

    assert {"values", "archive"}.isdisjoint(schema["properties"])
    assert set(schema["required"]) == set(form())
    assert schema["additionalProperties"] is False
    assert "$ref" not in str(schema)
