"""What the proxy forwards between a caller and an xApp, directly and through the API server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from tests.localcluster.waiting import wait_until
from tests.support.proxied_xapp import NAME, PORT, SERVICE, ProxiedXApp


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_is_forwarded_with_its_body_and_query(
    proxied: ProxiedXApp, http: httpx.Client, method: str
) -> None:
    answer = http.request(method, "/echo/some/thing/?a=1&a=2&b=%20x%2Fy&c", content=b"hello")

    assert (answer.status_code, answer.content, answer.headers["x-method"]) == (200, b"hello", method)
    assert proxied.api.requests[-1].target == "/echo/some/thing/?a=1&a=2&b=%20x%2Fy&c"


def test_any_query_is_forwarded_unchanged(proxied: ProxiedXApp, http: httpx.Client) -> None:
    query = "pretty=true&path=/other&timeout=1s&watch=true&follow=1&namespace=x&limit=500&x=;y&z=%FF&=&&"

    assert http.get(f"/echo?{query}").status_code == 200
    assert proxied.api.requests[-1].target == f"/echo?{query}"


def test_head_is_forwarded_as_head(proxied: ProxiedXApp, http: httpx.Client) -> None:
    answer = http.head("/bytes/1000")

    assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, "1000", b"")
    assert proxied.api.requests[-1].method == "HEAD"


@pytest.mark.parametrize("path", ["", "/"])
def test_the_root_is_reached_with_and_without_a_slash(proxied: ProxiedXApp, path: str) -> None:
    with proxied.gateway.client() as http:
        assert http.get(proxied.proxy_path + path).status_code == 200

    assert proxied.api.requests[-1].target == "/"


@pytest.mark.parametrize("way", ["/api/json", f"/proxy/{SERVICE}/http/json", f"/proxy/{SERVICE}/{PORT}/json"])
@pytest.mark.parametrize("version", ["", "/v1"])
def test_the_port_has_a_number_a_name_and_a_convention(proxied: ProxiedXApp, way: str, version: str) -> None:
    path = (proxied.xapp_path + way).replace("/api/xapps", f"/api{version}/xapps")
    with proxied.gateway.client() as http:
        answer = http.get(path)

    assert answer.json() == {"kind": "sample", "n": 1}
    assert proxied.api.requests[-1].header("x-forwarded-prefix") == path.removesuffix("/json")


def test_credentials_are_not_forwarded_to_the_xapp(proxied: ProxiedXApp, http: httpx.Client) -> None:
    secret = {
        "Authorization": "Bearer secret-token",
        "Cookie": "xapp-session=secret; other=secret",
        "Proxy-Authorization": "Basic secret",
        "Impersonate-User": "secret",
        "X-Remote-User": "secret",
        "X-Remote-Group": "secret",
        "Origin": "http://secret.example.com",
        "X-Forwarded-User": "secret",
        "X-Forwarded-For": "203.0.113.9",
        "X-Forwarded-Host": "secret.example.com",
        "Forwarded": "for=secret",
        "X-Hop": "secret",
        "Connection": "x-hop",
        "TE": "trailers",
        "Keep-Alive": "timeout=5",
        "X-Custom": "kept",
    }
    assert http.get("/echo", headers=secret).status_code == 200

    seen = proxied.api.requests[-1]
    assert "secret" not in repr(seen.headers)
    assert "203.0.113.9" not in repr(seen.headers)
    assert seen.header("x-custom") == "kept"
    assert seen.header("host") == f"{SERVICE}.{proxied.namespace}.svc"
    assert (seen.header("x-forwarded-for") or "").startswith("127.0.0.1")
    assert seen.header("x-forwarded-proto") == "http"
    assert seen.header("x-forwarded-host") == f"127.0.0.1:{proxied.gateway.port}"
    assert seen.header("x-forwarded-prefix") == proxied.proxy_path
    for name in ("te", "keep-alive", "upgrade", "proxy-connection"):
        assert seen.header(name) is None


def test_response_headers_that_affect_the_gateways_origin_are_removed(http: httpx.Client) -> None:
    answer = http.get("/headers")

    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
    assert answer.headers.get_list("cache-control") == ["private, max-age=5"]
    assert answer.headers["etag"] == '"1"'
    assert answer.headers.get_list("x-a", split_commas=False) == ["one", "two"]
    gone = {
        *("set-cookie", "service-worker-allowed", "clear-site-data", "strict-transport-security", "alt-svc", "refresh"),
        *("www-authenticate", "x-accel-redirect", "x-sendfile"),
        *("access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers"),
        *("x-hop", "proxy-authenticate", "audit-id", "x-kubernetes-pf-flowschema-uid"),
    }
    assert gone & {name.lower() for name in answer.headers} == set()
    assert len(answer.headers.get_list("date", split_commas=False)) == 1


def test_proxied_paths_are_not_logged(proxied: ProxiedXApp, http: httpx.Client) -> None:
    with capture_logs() as logs:
        assert http.post("/reset/hunter2?token=hunter2").status_code == 200
        assert http.post(proxied.gateway.url + f"{proxied.xapp_path}/api/v1/reset/hunter2").status_code == 200
        assert http.post(proxied.gateway.url + f"{proxied.xapp_path}/proxy/nobody/80/hunter2").status_code == 404
        assert http.get("/drop").status_code == 502
        started = breaks_off(http)
        failed, broken = (1, 1) if started else (2, 0)
        for event, number in (
            ("request failed", failed),
            ("xApp response aborted", broken),
        ):
            wait_until(lambda e=event, n=number: len(of(logs, e)) == n, timeout=60, what=event)  # type: ignore[misc]
        logged_paths = [str(line["path"]) for line in of(logs, "request failed")]
    assert all(path.endswith(("/80/…", "/api/…")) for path in logged_paths), logged_paths
    assert not [line for line in logs if "hunter2" in str(line) or "cut" in str(line.get("path"))]


def breaks_off(http: httpx.Client) -> bool:
    """Request a response that the xApp truncates. Return whether it started: possibly nothing was sent yet."""
    try:
        assert http.get("/cut").status_code == 502
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return True
    return False


def of(logs: Sequence[Mapping[str, Any]], event: str) -> list[Mapping[str, Any]]:
    """Return the log lines of an event."""
    return [line for line in logs if line["event"] == event]


@pytest.mark.parametrize(
    "code", [200, 201, 204, 206, 304, 400, 401, 403, 404, 409, 418, 429, 451, 500, 501, 502, 503, 504, 599]
)
def test_every_status_of_the_xapp_is_forwarded_unchanged(http: httpx.Client, code: int) -> None:
    answer = http.get(f"/status/{code}")

    assert answer.status_code == code
    assert answer.content == (b"" if code in (204, 304) else b'{"kind": "mine"}')
    assert answer.headers["content-security-policy"] == "sandbox"


def test_links_in_html_are_forwarded_unchanged(http: httpx.Client) -> None:
    answer = http.get("/html", headers={"Accept-Encoding": "gzip"})

    assert answer.text == '<html><a href="/page">here</a><img src="there.png"></html>'


@pytest.mark.parametrize(
    ("location", "outward"),
    [
        ("/x?y=1#z", "{base}/x?y=1#z"),
        ("next", "{base}/next"),
        ("?page=2", "{base}/location?page=2"),
        ("", ""),
        ("../../../../../etc", "{base}/etc"),
        ("http://hello.{namespace}.svc/x", "{base}/x"),
        ("http://hello.{namespace}.svc.cluster.local:80/x", "{base}/x"),
        ("http://hello/x", "{base}/x"),
        ("http://127.0.0.1:{port}/x", "{base}/x"),
        ("{base}/x", "{base}/x"),
        ("http://127.0.0.1:{port}{base}/x", "{base}/x"),
        ("http://example.com/x", "http://example.com/x"),
        ("https://example.com/x?y=http://hello/", "https://example.com/x?y=http://hello/"),
        ("//example.com/x", "//example.com/x"),
    ],
)
def test_a_redirect_is_rewritten_to_the_proxy_and_not_followed(
    proxied: ProxiedXApp, http: httpx.Client, location: str, outward: str
) -> None:
    names = {"base": proxied.proxy_path, "namespace": proxied.namespace, "port": str(proxied.gateway.port)}

    answer = http.get("/location", params={"to": location.format(**names)}, follow_redirects=False)

    assert answer.status_code == 302
    assert answer.headers.get("location", "") == outward.format(**names)
    assert len(proxied.api.requests) == 1


@pytest.mark.parametrize(
    "location", ["/a/../../../%2e%2e/b/", "/..\\..\\..\\x", "/%2E%2E/%2e%2e/x", "..\\..\\..\\..\\x", "/\\evil/x"]
)
def test_a_redirect_cannot_leave_the_proxied_path(proxied: ProxiedXApp, http: httpx.Client, location: str) -> None:
    answer = http.get("/location", params={"to": location}, follow_redirects=False)

    # As a browser resolves it: a backslash is a slash, an encoded dot is a dot.
    led_to = answer.headers["location"].replace("\\", "/").replace("%2e", ".").replace("%2E", ".")
    assert (
        httpx.URL(proxied.gateway.url + proxied.proxy_path + "/location")
        .join(led_to)
        .path.startswith(proxied.proxy_path + "/")
    )


def test_content_location_is_rewritten_to_the_gateways_address(proxied: ProxiedXApp, http: httpx.Client) -> None:
    answer = http.get("/location", params={"to": "/made", "content": "/made/1", "code": "201"})

    assert (answer.status_code, answer.headers["location"]) == (201, f"{proxied.proxy_path}/made")
    assert answer.headers["content-location"] == f"{proxied.proxy_path}/made/1"
    assert NAME in answer.headers["location"]
