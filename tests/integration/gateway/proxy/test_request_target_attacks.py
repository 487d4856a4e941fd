"""Requests that try to reach another host, Service or path than their target names."""

from __future__ import annotations

import pytest

from tests.support.proxied_xapp import PORT, SERVICE, ProxiedXApp

REFUSED_PATHS = [
    "/..",
    "/%2e%2e/x",
    "/x%2f..%2f..%2fy",
    "//evil.example.com/x",
    "/%2fevil.example.com/x",
    "/\\evil.example.com",
    "/x%0d%0aHost:%20evil.example.com",
    "/x%00",
    "/%zz",
]
"""One path of each kind; all of them are in the unit tests of `gateway.proxy.paths`."""

FORWARDED_PATHS = {
    "/@evil.example.com/": "/@evil.example.com/",
    "/user:pass@evil.example.com": "/user:pass@evil.example.com",
    "/http://evil.example.com/": None,
    "/x:80": "/x:80",
    "/...": "/...",
    "/..x": "/..x",
    "/x..": "/x..",
    "/%E2%80%AE": "/%E2%80%AE",
    "/%EF%BC%8F%EF%BC%8E": "/%EF%BC%8F%EF%BC%8E",
    "/x;y=../z": None,
    "/?u=http://evil.example.com/../": "/?u=http://evil.example.com/../",
    "/?@evil.example.com": "/?@evil.example.com",
    "/?%0d%0aX-Evil:1": "/?%0d%0aX-Evil:1",
    "/#@evil.example.com": "/",
}
"""Let through as they are, to the xApp and nobody else; None where the API server may refuse."""

UNKNOWN_TARGETS = [
    ("kubernetes", "443"),
    ("evil.example.com", "80"),
    ("https:hello:80", "80"),
    ("hello%2f..%2fkubernetes", "443"),
    ("hello", "443"),
    ("hello", "80%2f..%2f..%2f"),
    ("..", "80"),
    ("", "80"),
]
"""One target of each kind; all of them are in the unit tests of `gateway.proxy.targets`."""


def status_line(proxied: ProxiedXApp, target: str, headers: str = "Host: localhost\r\n") -> bytes:
    """Send a request target byte for byte and return the status line of the response."""
    request = f"GET {target} HTTP/1.1\r\n{headers}\r\n".encode()
    return proxied.gateway.send_raw(request).partition(b"\r\n")[0]


def status_code(line: bytes) -> int:
    return int(line.split()[1])


@pytest.mark.parametrize("path", REFUSED_PATHS)
@pytest.mark.parametrize("convention", [False, True])
def test_a_traversing_path_is_refused(proxied: ProxiedXApp, path: str, convention: bool) -> None:
    base = f"{proxied.xapp_path}/api" if convention else proxied.proxy_path

    # A control character is refused before the route.
    assert status_code(status_line(proxied, base + path)) in (400, 404)
    assert proxied.api.requests == []


@pytest.mark.parametrize("path", FORWARDED_PATHS)
def test_an_unusual_but_safe_path_is_forwarded_unchanged(proxied: ProxiedXApp, path: str) -> None:
    expected = FORWARDED_PATHS[path]
    line = status_line(proxied, proxied.proxy_path + path)

    if expected is not None or not proxied.via_apiserver:
        assert status_code(line) == 200
        assert [seen.target for seen in proxied.api.requests] == [expected or path]
        return
    assert status_code(line) in (200, 400)
    assert [seen.target for seen in proxied.api.requests] == ([path] if status_code(line) == 200 else [])


@pytest.mark.parametrize(("service", "port"), UNKNOWN_TARGETS)
def test_only_services_and_ports_of_the_xapp_are_reachable(proxied: ProxiedXApp, service: str, port: str) -> None:
    line = status_line(proxied, f"{proxied.xapp_path}/proxy/{service}/{port}/json")

    assert status_code(line) in (400, 404)
    assert proxied.api.requests == []


@pytest.mark.parametrize(
    "target",
    [
        "http://evil.example.com{base}/echo",
        "http://evil.example.com:80@localhost{base}/echo",
        "https://127.0.0.1:1{base}/echo",
    ],
)
def test_the_authority_of_an_absolute_target_does_not_change_the_destination(proxied: ProxiedXApp, target: str) -> None:
    status = status_code(status_line(proxied, target.format(base=proxied.proxy_path)))

    assert status in (200, 400, 421)
    own_host = f"{SERVICE}.{proxied.namespace}.svc"
    seen = [(each.target, each.header("host")) for each in proxied.api.requests]
    assert seen == ([("/echo", own_host)] if status == 200 else [])


@pytest.mark.parametrize(
    "path",
    [
        "/api/xapps/{ns}/acme-ran-hello%2fproxy%2fhello%2f80/json",
        "/api/xapps/{ns}%2facme-ran-hello/proxy/hello/80/json",
        "/api/xapps/{ns}/acme-ran-hello/proxy/hello%2f80/json",
        "/api/xapps/{ns}/acme-ran-hello/proxy%2fhello/80/json",
        "/api%2fxapps/{ns}/acme-ran-hello/proxy/hello/80/json",
        "/api/%76%31/xapps/{ns}/acme-ran-hello/proxy/hello/80/json",
        "/api/xapps/{ns}/x/../acme-ran-hello/proxy/hello/80/json",
        "//api/xapps/{ns}/acme-ran-hello/proxy/hello/80/json",
    ],
)
def test_an_encoded_slash_does_not_change_the_path(proxied: ProxiedXApp, path: str) -> None:
    assert status_code(status_line(proxied, path.format(ns=proxied.namespace))) in (400, 404)
    assert proxied.api.requests == []


@pytest.mark.parametrize(
    "header",
    [
        "Host: localhost\r\nHost: evil.example.com",
        "Host: evil.example.com",
        "Host: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        "Host: localhost\r\nTransfer-Encoding: chunked, identity",
        "Host: localhost\r\nContent-Length: 5\r\nContent-Length: 6",
        "Host: localhost\r\nContent-Length: -1",
        "Host: localhost\r\nX-A: b\r\n Folded: c",
    ],
)
def test_an_ambiguous_request_head_is_refused_or_read_once(proxied: ProxiedXApp, header: str) -> None:
    line = status_line(proxied, f"{proxied.proxy_path}/echo", headers=f"{header}\r\n")

    assert status_code(line) in (400, 421)
    assert proxied.api.requests == []


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-Host: evil.example.com",
        "X-Forwarded-Prefix: /evil.example.com",
        "X-Original-URL: http://evil.example.com/",
        "X-Rewrite-URL: /../../evil",
        "Forwarded: host=evil.example.com",
        "Connection: host, x-forwarded-for, x-forwarded-prefix",
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    ],
)
def test_no_header_changes_the_destination_of_a_request(proxied: ProxiedXApp, header: str) -> None:
    line = status_line(proxied, f"{proxied.proxy_path}/echo", headers=f"Host: localhost\r\n{header}\r\n")

    assert status_code(line) == 200
    seen = proxied.api.requests[-1]
    assert seen.target == "/echo"
    assert seen.header("host") == f"{SERVICE}.{proxied.namespace}.svc"
    assert seen.header("x-forwarded-host") == "localhost"
    assert seen.header("x-forwarded-prefix") == proxied.proxy_path
    assert seen.header("upgrade") is None
    assert proxied.proxy_path.endswith(str(PORT))


@pytest.mark.parametrize("path", ["/a%2Fb", "/a//b", "/a%2fb//c"])
def test_paths_that_the_api_server_rewrites_are_refused_only_in_apiserver_mode(proxied: ProxiedXApp, path: str) -> None:
    line = status_line(proxied, proxied.proxy_path + path)

    if proxied.via_apiserver:
        assert (status_code(line), proxied.api.requests) == (400, [])
    else:
        assert (status_code(line), proxied.api.requests[-1].target) == (200, path)
