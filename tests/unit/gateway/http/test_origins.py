"""Where a request comes from."""

from __future__ import annotations

import pytest

from tests.unit.gateway.http.requests import make_request
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.http.requests.origins import (
    host_without_port,
    is_https,
    is_loopback_connection,
    is_same_origin,
    page_uses_https,
)
from xapp_operator.gateway.http.transport_security import insecure_text, start_warnings

PLAIN = "this gateway speaks plain HTTP"
SESSIONS = "XAPP_INSECURE_SESSIONS"


@pytest.mark.parametrize(
    ("host", "expected"),
    [("a", "a"), ("a:1", "a"), ("[::1]", "[::1]"), ("[::1]:80", "[::1]"), ("", "")],
)
def test_a_host_without_its_port(host: str, expected: str) -> None:
    assert host_without_port(host) == expected


@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        ("http://a", "a", True),
        ("http://a", "a:80", True),
        ("https://A:443", "a", True),
        ("https://a", "A:443", True),
        ("http://[::1]:81", "[::1]:81", True),
        ("http://a", "a:443", False),
        ("https://a", "a:80", False),
        ("http://a", "b", False),
        ("http://a", "", False),
        ("http://", "", False),
        ("ftp://a", "a", False),
        ("a", "a", False),
        ("http", "a", False),
        ("http", ":80", False),
        ("null", "a", False),
    ],
)
def test_an_origin_is_the_same_if_host_and_port_are(origin: str, host: str, expected: bool) -> None:
    assert is_same_origin(origin, host) is expected


@pytest.mark.parametrize(
    ("scheme", "forwarded", "trusted", "expected"),
    [
        ("https", None, False, True),
        ("wss", None, False, True),
        ("http", None, True, False),
        ("http", "https", False, False),
        ("http", "HTTPS", True, True),
        ("ws", "https", True, True),
        ("http", "http", True, False),
    ],
)
def test_https_is_that_of_the_gateway_or_of_a_trusted_proxy(
    scheme: str, forwarded: str | None, trusted: bool, expected: bool
) -> None:
    headers = {} if forwarded is None else {"X-Forwarded-Proto": forwarded}
    assert is_https(make_request(scheme=scheme, headers=headers), trust_forwarded_proto=trusted) is expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [({}, False), ({"Origin": "HTTPS://a"}, True), ({"Origin": "http://a"}, False), ({"Origin": "null"}, False)],
)
def test_a_browser_names_the_scheme_of_its_page(headers: dict[str, str], expected: bool) -> None:
    assert page_uses_https(make_request(headers=headers)) is expected


@pytest.mark.parametrize(
    ("client", "host", "expected"),
    [
        ("127.0.0.1", "localhost:1", True),
        ("::1", "[::1]:1", True),
        ("127.0.0.1", "xapps.example.com", False),
        ("192.0.2.1", "localhost", False),
        (None, "localhost", False),
        ("127.0.0.1", "", False),
    ],
)
def test_a_request_stays_on_this_machine_by_sender_and_name(client: str | None, host: str, expected: bool) -> None:
    assert is_loopback_connection(make_request(client=client, headers={"Host": host})) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"host": "0.0.0.0"}, [PLAIN]),
        ({"host": "127.0.0.1"}, []),
        ({"host": "0.0.0.0", "trust_forwarded_proto": True}, []),
        ({"host": "0.0.0.0", "tls_cert": "/tls.crt"}, []),
        ({"host": "0.0.0.0", "insecure_sessions": True}, [PLAIN, SESSIONS]),
        ({"host": "127.0.0.1", "insecure_sessions": True}, [SESSIONS]),
        ({"host": "0.0.0.0", "tls_cert": "/tls.crt", "insecure_sessions": True}, []),
    ],
)
def test_an_administrator_is_warned_of_what_others_can_read(changes: dict[str, object], expected: list[str]) -> None:
    warnings = start_warnings(Settings().model_copy(update=changes))
    assert [each.startswith(begin) for each, begin in zip(warnings, expected, strict=True)] == [True] * len(expected)


@pytest.mark.parametrize(
    ("changes", "client", "headers", "expected"),
    [
        ({"host": "0.0.0.0"}, "192.0.2.1", {}, [PLAIN]),
        ({"host": "0.0.0.0", "insecure_sessions": True}, "192.0.2.1", {}, [PLAIN, SESSIONS]),
        ({"host": "127.0.0.1"}, "192.0.2.1", {}, None),
        ({"host": "0.0.0.0", "trust_forwarded_proto": True}, "192.0.2.1", {}, [PLAIN]),
        ({"host": "0.0.0.0", "trust_forwarded_proto": True}, "127.0.0.1", {"Host": "localhost"}, None),
        ({"host": "0.0.0.0", "trust_forwarded_proto": True}, "192.0.2.1", {"X-Forwarded-Proto": "https"}, None),
        ({"host": "127.0.0.1", "trust_forwarded_proto": True, "insecure_sessions": True}, "192.0.2.1", {}, [SESSIONS]),
    ],
)
def test_the_sender_of_a_request_is_warned_of_what_others_can_read(
    changes: dict[str, object], client: str, headers: dict[str, str], expected: list[str] | None
) -> None:
    request = make_request(client=client, headers=headers)
    text = insecure_text(request, Settings().model_copy(update=changes))
    if expected is None:
        assert text is None
    else:
        assert text is not None
        # A text has semicolons of its own, so that only the begin of each is compared.
        assert text.startswith(expected[0])
        assert [begin in text for begin in (PLAIN, SESSIONS)] == [begin in expected for begin in (PLAIN, SESSIONS)]
