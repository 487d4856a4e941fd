"""Responses in JSON and YAML, whole, indented and not modified."""

from __future__ import annotations

import pytest

from tests.unit.gateway.http.requests import make_request
from xapp_operator.api.json import Json
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.http.requests.media_types import accepts_yaml, sends_yaml
from xapp_operator.gateway.http.requests.origins import host_without_port, is_https, is_same_origin, page_uses_https
from xapp_operator.gateway.http.responses.json_responses import etag_response, json_response, not_modified, wants_pretty
from xapp_operator.gateway.http.transport_security import insecure_text, start_warnings


def test_objects_and_json_are_sent_compact_or_indented() -> None:
    contents: list[Json | bytes] = [{"a": [1]}, b'{"a":[1]}']
    for content in contents:
        plain, pretty = json_response(content), json_response(content, pretty=True, status=201, headers={"X-A": "b"})
        assert (plain.body, plain.status_code, plain.headers["content-type"]) == (
            b'{"a":[1]}',
            200,
            "application/json",
        )
        assert (pretty.body, pretty.status_code) == (b'{\n  "a": [\n    1\n  ]\n}', 201)
        assert pretty.headers["x-a"] == "b"


@pytest.mark.parametrize(
    ("query", "expected"),
    [("pretty=true", True), ("a=b&pretty=true", True), ("pretty=false", False), ("", False), ("pretty=", False),
     ("pretty=false&pretty=true", False), ("pretty=true&pretty=false", True), ("x=pretty", False)],
)  # fmt: skip
def test_a_query_asks_for_indented_json(query: str, expected: bool) -> None:
    assert wants_pretty(make_request(query=query)) is expected


def test_a_response_has_a_tag_of_its_content() -> None:
    one, same, other = (etag_response(make_request(), body) for body in (b"[1]", b"[1]", b"[2]"))
    assert one.headers["etag"] == same.headers["etag"] != other.headers["etag"]
    assert len(one.headers["etag"]) == 2 + 24
    assert (one.headers["cache-control"], one.headers["vary"]) == ("private, no-cache", "Authorization, Cookie")
    more = etag_response(make_request(), b"[1]", pretty=True, headers={"X-A": "b"}, vary=("Accept",))
    assert more.body == b"[\n  1\n]"
    assert more.headers["etag"] != one.headers["etag"]
    assert (more.headers["x-a"], more.headers["vary"]) == ("b", "Authorization, Cookie, Accept")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [('"tag"', True), ('W/"tag"', True), ('"a", "tag"', True), ("*", True), ('"other"', False), ("tag", False)],
)
def test_a_client_that_has_the_version_gets_no_body(sent: str, expected: bool) -> None:
    found = not_modified(make_request(headers={"If-None-Match": sent}), "tag")
    assert (found is not None) is expected
    if found is not None:
        assert (found.status_code, found.body, found.headers["etag"]) == (304, b"", '"tag"')


def test_a_response_that_is_not_modified_keeps_its_headers() -> None:
    assert not_modified(make_request(), "tag") is None
    tag = etag_response(make_request(), b"[1]").headers["etag"]
    request = make_request(headers={"If-None-Match": tag})
    again = etag_response(request, b"[1]", headers={"X-A": "b"}, vary=("Accept",))
    assert (again.status_code, again.headers["x-a"], again.headers["etag"]) == (304, "b", tag)
    assert again.headers["vary"] == "Authorization, Cookie, Accept"


@pytest.mark.parametrize(
    ("accept", "yaml"),
    [
        ("", False),
        ("application/yaml", True),
        ("text/x-yaml; q=0.5", True),
        ("application/json, application/yaml", False),
        ("application/json;q=0.4, application/yaml;q=0.5", True),
        ("application/yaml;q=0.4, application/json;q=0.5", False),
        ("application/yaml;q=0", False),
        ("application/yaml;q=x", False),
        ("application/yaml;q=7, application/json", False),
        ("application/yaml;q=-1", False),
        ("text/yaml;q=0.2, application/yaml;q=0.6, application/json;q=0.5", True),
        ("application/json;q=0.2, application/json;q=0.6, text/yaml;q=0.5", False),
        ("application/yaml;version=1;Q=0.5, application/json;q=0.6", False),
        ("application/json;q=0.5;x=1, APPLICATION/YAML", True),
    ],
)
def test_the_client_chooses_yaml_by_its_weight(accept: str, yaml: bool) -> None:
    assert accepts_yaml(make_request(headers={"Accept": accept})) is yaml


def test_a_body_is_yaml_by_its_content_type() -> None:
    kinds = ("application/yaml; charset=utf-8", "Text/YAML", "application/json", "")
    assert [sends_yaml(make_request(headers={"Content-Type": each})) for each in kinds] == [True, True, False, False]
    assert not sends_yaml(make_request())


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://a", "a:80", True),
        ("https://a", "a:443", True),
        ("https://a", "a", True),
        ("HTTP://A:80", "a", True),
        ("http://[::1]:8080", "[::1]:8080", True),
        ("http://[::1]", "[::2]", False),
        ("http://a", "a:443", False),
        ("ftp://a", "a", False),
        ("http://", "", False),
        ("http://a", "", False),
        ("a", "a", False),
    ],
)
def test_an_origin_is_compared_with_the_port_of_its_scheme(origin: str, host: str, same: bool) -> None:
    assert is_same_origin(origin, host) is same


def test_the_scheme_of_a_request_is_that_of_the_connection_or_of_a_trusted_proxy() -> None:
    forwarded = {"X-Forwarded-Proto": "HTTPS"}
    assert is_https(make_request(scheme="https"), trust_forwarded_proto=False)
    assert is_https(make_request(scheme="wss"), trust_forwarded_proto=False)
    assert is_https(make_request(headers=forwarded), trust_forwarded_proto=True)
    assert not is_https(make_request(headers=forwarded), trust_forwarded_proto=False)
    assert not is_https(make_request(headers={"X-Forwarded-Proto": "http"}), trust_forwarded_proto=True)
    assert not is_https(make_request(), trust_forwarded_proto=True)
    assert page_uses_https(make_request(headers={"Origin": "HTTPS://a"}))
    assert not page_uses_https(make_request(headers={"Origin": "http://a"}))
    assert [host_without_port(each) for each in ("[::1]:80", "[::1]", "a:80", "a")] == ["[::1]", "[::1]", "a", "a"]


def settings(**changes: object) -> Settings:
    return Settings().model_copy(update={"host": "0.0.0.0", "tls_cert": None, **changes})


@pytest.mark.parametrize(
    ("changes", "plain", "sessions"),
    [
        ({}, True, False),
        ({"host": "127.0.0.1"}, False, False),
        ({"trust_forwarded_proto": True}, False, False),
        ({"tls_cert": "/cert.pem"}, False, False),
        ({"insecure_sessions": True}, True, True),
        ({"insecure_sessions": True, "trust_forwarded_proto": True}, False, True),
        ({"insecure_sessions": True, "tls_cert": "/cert.pem"}, False, False),
    ],
)
def test_the_start_warns_about_what_others_can_read(changes: dict[str, object], plain: bool, sessions: bool) -> None:
    warnings = start_warnings(settings(**changes))
    assert any("speaks plain HTTP" in each for each in warnings) is plain
    assert any("XAPP_INSECURE_SESSIONS" in each for each in warnings) is sessions
    assert len(warnings) == plain + sessions


def test_a_page_warns_unless_nobody_can_read_along() -> None:
    remote, local = make_request(), make_request(client="127.0.0.1", headers={"Host": "localhost"})
    assert insecure_text(make_request(scheme="https"), settings()) is None
    both = insecure_text(remote, settings(insecure_sessions=True)) or ""
    assert ("speaks plain HTTP" in both, "; XAPP_INSECURE_SESSIONS" in both) == (True, True)
    behind_proxy = settings(trust_forwarded_proto=True)
    assert "speaks plain HTTP" in (insecure_text(remote, behind_proxy) or "")
    assert insecure_text(local, behind_proxy) is None
    assert insecure_text(remote, settings(host="127.0.0.1")) is None
