"""Paths that servers decode differently: a proxy in front, the gateway and an xApp must agree about each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.proxied_xapp import ProxiedXApp, proxy_to_service
from tests.support.xapp_server import serve_xapp

REFUSED = [
    *("/..;/", "/a/..;x=1/b", "/.;/", "/..", "/a/../b", "/%2e%2e/", "/%2E%2e;/x", "/a/.%2e/b", "/a%2f..%2fb"),
    *("/%252e%252e/", "/a%252fb", "/%25%32%65", "/a%255cb"),
    *("/%c0%ae%c0%ae/", "/%c0%af", "/%e0%80%af", "/%f0%80%80%af", "/%ff", "/%ed%a0%80", "/%c3"),
    *("/a%00b", "/a%0d%0ab", "/a%5cb", "/a\\b", "/%", "/%4", "/%zz", "/" + "a" * 8192),
]
ACCEPTED = ["/a;v=1", "/a..b", "/...", "/a%20b", "/%C3%A4", "/a%2Fb", "/100%25", "/a,b:c@d", "/.well-known/x", "/a//b"]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedXApp]:
    with serve_xapp() as api, proxy_to_service(api, Path(tmp_path_factory.mktemp("gateway"))) as one:
        yield one


def status(proxied: ProxiedXApp, path: str) -> int:
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    return int(proxied.gateway.send_raw(head.encode()).split(b" ")[1])


@pytest.mark.parametrize("path", REFUSED)
def test_a_confusing_path_is_refused_on_every_route(proxied: ProxiedXApp, path: str) -> None:
    proxied.api.requests.clear()
    for prefix in ("", "/api", "/api/xapps", "/api/v1/docs", proxied.xapp_path, proxied.proxy_path):
        assert status(proxied, prefix + path) == 400, prefix
    assert proxied.api.requests == []


@pytest.mark.parametrize("path", ACCEPTED)
def test_any_other_path_reaches_the_xapp_unchanged(proxied: ProxiedXApp, path: str) -> None:
    proxied.api.requests.clear()
    assert status(proxied, proxied.proxy_path + path) == 200
    assert [each.target for each in proxied.api.requests] == [path]


def test_the_query_is_not_restricted(proxied: ProxiedXApp) -> None:
    proxied.api.requests.clear()
    assert status(proxied, f"{proxied.proxy_path}/a?b=../..;/%252e%ff") == 200
    assert [each.target for each in proxied.api.requests] == ["/a?b=../..;/%252e%ff"]
