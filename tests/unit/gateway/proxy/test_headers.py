"""Which headers pass between a caller and an xApp."""

from __future__ import annotations

import pytest

from xapp_operator.config.settings import Settings
from xapp_operator.gateway.proxy.headers import (
    PROTECTED_HEADERS,
    SANDBOX_HEADER,
    HeaderLists,
    RawHeaders,
    UnsafeProxyHeaders,
    forwarded_request_headers,
    forwarded_response_headers,
)

ADDED = HeaderLists.from_settings(Settings(proxy_request_headers=("X-Api-Key",), proxy_response_headers=("X-Count",)))


def request_names(headers: RawHeaders, lists: HeaderLists = ADDED) -> list[str]:
    forwarded = forwarded_request_headers(
        headers, lists=lists, host="h", client="c", scheme="http", public_host="p", prefix="/x"
    )
    return [name for name, _ in forwarded if name != "Host" and not name.startswith("X-Forwarded-")]


def response_headers(headers: RawHeaders) -> dict[bytes, bytes]:
    return dict(forwarded_response_headers(headers, lists=ADDED))


def test_headers_of_content_and_tracing_pass() -> None:
    names = [b"Accept", b"Content-Type", b"Range", b"If-None-Match", b"traceparent", b"X-Request-ID", b"x-api-key"]
    assert request_names([(name, b"1") for name in names]) == [name.decode() for name in names]
    kept = {b"etag": b'"1"', b"content-range": b"bytes 0-1/2", b"location": b"/", b"x-count": b"3"}
    assert kept.items() <= response_headers(list(kept.items())).items()


@pytest.mark.parametrize("name", sorted(PROTECTED_HEADERS | {b"x-unknown", b"x-forwarded-for", b"sec-fetch-site"}))
def test_any_other_header_is_dropped_in_both_directions(name: bytes) -> None:
    assert request_names([(name, b"1"), (name.upper(), b"2")]) == []
    assert response_headers([(name, b"1")]).get(name) in (None, SANDBOX_HEADER[1])


def test_a_header_that_connection_names_is_dropped() -> None:
    assert request_names([(b"Connection", b"x-api-key, close"), (b"X-Api-Key", b"1"), (b"Accept", b"2")]) == ["Accept"]


@pytest.mark.parametrize(
    "name", ["Authorization", "cookie", "X-Session-Proof", "X-Forwarded-For", "Sec-Purpose", "a b"]
)
def test_settings_cannot_add_a_protected_header(name: str) -> None:
    with pytest.raises(UnsafeProxyHeaders, match="never forwarded"):
        HeaderLists.from_settings(Settings(proxy_request_headers=(name,)))
    with pytest.raises(UnsafeProxyHeaders, match="XAPP_PROXY_RESPONSE_HEADERS"):
        HeaderLists.from_settings(Settings(proxy_response_headers=(name,)))


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ([], b"private"),
        ([b"public, max-age=60, s-maxage=600"], b"private, max-age=60"),
        ([b"max-age=60", b"PUBLIC , no-transform"], b"private, max-age=60, no-transform"),
        ([b"no-store"], b"private, no-store"),
        ([b'private="set-cookie, x", max-age=60'], b"private, no-cache"),
    ],
)
def test_a_response_is_for_its_caller_only(sent: list[bytes], received: bytes) -> None:
    headers = forwarded_response_headers([(b"Cache-Control", value) for value in sent], lists=ADDED)
    assert [value for name, value in headers if name == b"cache-control"] == [received]


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ([], b"Authorization, Cookie"),
        ([b"Accept, cookie"], b"Accept, cookie, Authorization"),
        ([b"Accept", b"*"], b"*"),
    ],
)
def test_a_response_varies_by_caller(sent: list[bytes], received: bytes) -> None:
    headers = forwarded_response_headers([(b"Vary", value) for value in sent], lists=ADDED)
    assert [value for name, value in headers if name == b"vary"] == [received]
