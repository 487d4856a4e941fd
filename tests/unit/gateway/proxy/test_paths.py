"""Which part of a raw request path is forwarded to an xApp, and which paths are refused."""

from __future__ import annotations

import pytest

from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.requests.paths import PATH_MAX_BYTES
from xapp_operator.gateway.proxy.paths import (
    parse_proxy_path,
    percent_encode,
    require_no_query,
    require_path_kept_by_api_server,
)

XAPP = "/api/xapps/ran/hello"
SERVICE_SEGMENTS = ["xapps", "ran", "hello", "proxy", "web", "80"]
PREFIXES = {f"{XAPP}/proxy/web/80": SERVICE_SEGMENTS, f"{XAPP}/api": ["xapps", "ran", "hello", "api"]}

REFUSED_PATHS = [
    "/..",
    "/../",
    "/../../../../../../secrets",
    "/a/../../b",
    "/./x",
    "/a/.",
    "/%2e%2e/x",
    "/%2E%2E/x",
    "/.%2e/x",
    "/%2e./x",
    "/%2e",
    "/..%2fx",
    "/x%2f..%2f..%2fy",
    "/%2e%2e%2f%2e%2e%2f",
    "//evil.example.com/x",
    "//evil.example.com:80@127.0.0.1/",
    "/%2fevil.example.com/x",
    "/%2F%2Fevil.example.com",
    "/\\evil.example.com",
    "/\\\\evil.example.com/x",
    "/%5cevil.example.com",
    "/%5C%5Cevil.example.com/x",
    "/..\\..\\x",
    "/..%5c..%5cx",
    "/x%0d%0aHost:%20evil.example.com",
    "/x%0aX-Evil:%201",
    "/x%00",
    "/x%7f",
    "/x%09y",
    "/%",
    "/%zz",
    "/x%2",
    "/%252e%252e/x",
    "/%c0%ae%c0%ae%2f..",
]

FORWARDED_PATHS = [
    "/",
    "/json",
    "/a%2Fb//c",
    "/@evil.example.com/",
    "/user:pass@evil.example.com",
    "/http://evil.example.com/",
    "/x:80",
    "/...",
    "/..x",
    "/x..",
    "/%E2%80%AE",
    "/%EF%BC%8F%EF%BC%8E",
    "/x;y=../z",
]

SHIFTED_PATHS = {
    "/api/xapps/ran/hello%2fproxy%2fweb%2f80/json": SERVICE_SEGMENTS,
    "/api/xapps/ran%2fhello/proxy/web/80/json": SERVICE_SEGMENTS,
    "/api/xapps/ran/hello/proxy/web%2f80/json": SERVICE_SEGMENTS,
    "/api/xapps/ran/hello/proxy%2fweb/80/json": SERVICE_SEGMENTS,
    "/api%2fxapps/ran/hello/proxy/web/80/json": SERVICE_SEGMENTS,
    "/api/xapps/ran/x/../hello/proxy/web/80/json": SERVICE_SEGMENTS,
    "//api/xapps/ran/hello/proxy/web/80/json": SERVICE_SEGMENTS,
    "/api/xapps/ran/hello%2fapi/json": ["xapps", "ran", "hello", "api"],
}


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("path", REFUSED_PATHS)
def test_a_path_that_traverses_after_decoding_is_refused(path: str, prefix: str) -> None:
    with pytest.raises(MalformedRequest, match="the path"):
        parse_proxy_path((prefix + path).encode(), segments=PREFIXES[prefix])


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("path", FORWARDED_PATHS)
def test_an_unusual_but_safe_path_is_forwarded_byte_for_byte(path: str, prefix: str) -> None:
    found = parse_proxy_path((prefix + path).encode(), segments=PREFIXES[prefix])
    assert (found.prefix, found.path) == (prefix, path)


def test_the_prefix_is_kept_as_the_caller_sent_it() -> None:
    found = parse_proxy_path(b"/api/v1/xapps/ran/h%65llo/api/json", segments=["xapps", "ran", "hello", "api"])
    assert (found.prefix, found.path) == ("/api/v1/xapps/ran/h%65llo/api", "/json")


def test_a_request_without_a_path_is_for_the_root() -> None:
    assert parse_proxy_path(f"{XAPP}/api".encode(), segments=["xapps", "ran", "hello", "api"]).path == "/"


@pytest.mark.parametrize("raw_path", SHIFTED_PATHS)
def test_an_encoded_slash_does_not_split_a_segment(raw_path: str) -> None:
    with pytest.raises(MalformedRequest, match="encoded slash"):
        parse_proxy_path(raw_path.encode(), segments=SHIFTED_PATHS[raw_path])


def test_bytes_that_are_invalid_in_a_url_are_encoded() -> None:
    assert parse_proxy_path(f"{XAPP}/api/a é".encode(), segments=["xapps", "ran", "hello", "api"]).path == "/a%20%C3%A9"
    assert percent_encode('q="é"&r=%2f'.encode()) == 'q="%C3%A9"&r=%2f'


def test_a_path_over_the_limit_is_refused() -> None:
    longest = f"{XAPP}/api/{'a' * (PATH_MAX_BYTES - 1)}"
    assert parse_proxy_path(longest.encode(), segments=["xapps", "ran", "hello", "api"])
    with pytest.raises(MalformedRequest, match=str(PATH_MAX_BYTES)):
        parse_proxy_path(f"{longest}a".encode(), segments=["xapps", "ran", "hello", "api"])


@pytest.mark.parametrize("path", ["/a%2Fb", "/a%2fb", "/a//b"])
def test_a_path_that_the_api_server_would_change_is_refused_on_that_route(path: str) -> None:
    require_path_kept_by_api_server("/a/b")
    with pytest.raises(MalformedRequest):
        require_path_kept_by_api_server(path)


def test_the_query_of_a_websocket_is_refused_on_the_route_through_the_api_server() -> None:
    require_no_query("")
    with pytest.raises(MalformedRequest):
        require_no_query("a=b")
