"""The middleware over real HTTP: Host, Origin, prefixes, methods, problems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from xapp_operator.gateway.catalog.records import XAppEntry
from xapp_operator.gateway.state import Gateway


@pytest.fixture(scope="module")
def authenticated_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    """A gateway that requires tokens and serves two hosts."""
    settings, opened = offline_gateway(tmp_path_factory.mktemp("guarded"))
    changes = {"auth": "kubernetes", "allowed_hosts": ("xapps.example.com", "10.0.0.1:31315")}
    with serve_gateway(settings.model_copy(update=changes), opened) as one:
        yield one


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "ui.localhost", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:31315", "localhost."],
)
def test_loopback_names_are_served_without_authentication(http: httpx.Client, host: str) -> None:
    assert http.get("/api/xapps", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.com",
        "localhost.evil.com",
        "evillocalhost",
        "evil-localhost:31315",
        "127.0.0.1.nip.io",
        "10.0.0.1",
        "0.0.0.0",
        "2130706433",
        "[::2]",
        "",
        "a b",
    ],
)
def test_other_names_are_refused_without_authentication(gateway: GatewayServer, host: str) -> None:
    answer = gateway.send_raw(f"GET /api/xapps HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 421 ")
    assert b"application/problem+json" in answer


@pytest.mark.parametrize("headers", ["", "Host: localhost\r\nHost: evil.example.com\r\n"])
def test_a_request_without_one_host_is_refused_without_authentication(gateway: GatewayServer, headers: str) -> None:
    assert gateway.send_raw(f"GET / HTTP/1.1\r\n{headers}\r\n".encode()).startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize(
    ("host", "path", "status"),
    [
        ("xapps.example.com", "/", 200),
        ("XAPPS.example.com:8443", "/", 200),
        ("10.0.0.1:31315", "/", 200),
        ("10.0.0.1", "/", 421),
        ("localhost", "/", 421),
        ("10.244.0.7:31315", "/healthz", 200),
        ("10.244.0.7:31315", "/readyz", 200),
    ],
)
def test_allowed_hosts_are_served_and_probes_always(
    authenticated_gateway: GatewayServer, host: str, path: str, status: int
) -> None:
    with authenticated_gateway.client() as http:
        assert http.get(path, headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://evil.example.com", "localhost"),
        ("null", "localhost"),
        ("http://localhost:81", "localhost"),
        ("http://localhost:31315", "localhost:31316"),
        ("http://127.0.0.1", "localhost"),
        ("file://localhost", "localhost"),
        ("", "localhost"),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/api/deployment/xapp"), ("DELETE", "/api/v1/deployment/xapp")])
def test_a_change_from_another_origin_is_refused(
    http: httpx.Client, method: str, path: str, origin: str, host: str
) -> None:
    answer = http.request(method, path, headers={"Origin": origin, "Host": host})

    assert answer.status_code == 403
    assert "origin" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost", "localhost"),
        ("http://localhost:80", "localhost"),
        ("https://LocalHost", "localhost:443"),
        ("http://localhost:31315", "localhost:31315"),
        ("http://[::1]:31315", "[::1]:31315"),
    ],
)
def test_a_change_from_the_gateways_own_pages_is_accepted(http: httpx.Client, origin: str, host: str) -> None:
    answer = http.delete("/api/deployment/xapp", headers={"Origin": origin, "Host": host})

    assert answer.status_code == 400


def test_any_origin_may_read(http: httpx.Client) -> None:
    assert http.get("/api/xapps", headers={"Origin": "http://evil.example.com"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/nope.php", "/api", "/api/", "/api/v1", "/api/v2/xapps", "/api/xapps/", "/api/xapps/a/b/c"]
)
def test_an_unknown_path_is_a_problem(http: httpx.Client, path: str) -> None:
    answer = http.get(path)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "there is nothing at this path: /api/v1/docs lists what there is",
        "instance": path,
        "errors": [],
    }


def test_an_unsupported_method_is_a_problem(http: httpx.Client) -> None:
    answer = http.post("/api/xapps", content=b"x" * 1000)

    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert answer.json()["title"] == "Method Not Allowed"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/xapps/ran/hello/config", "GET, HEAD, PATCH, PUT"),
        ("OPTIONS", "/api/v1/session", "DELETE, GET, HEAD, POST"),
        ("PUT", "/api/deployment/xapp", "DELETE, POST"),
        ("PATCH", "/api/repositories/ran/acme", "DELETE, GET, HEAD, PUT"),
        ("PROPFIND", "/api/xapps/ran/hello/api/x", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"),
    ],
)
def test_every_supported_method_is_listed(http: httpx.Client, method: str, path: str, allowed: str) -> None:
    answer = http.request(method, path)

    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


def test_a_refusal_before_the_body_is_read_reaches_the_client(http: httpx.Client) -> None:
    answer = http.post("/api/nope", content=b"x" * 3_000_000)

    assert answer.status_code == 404
    assert answer.headers["connection"] == "close"


def test_head_responds_like_get_without_a_body(http: httpx.Client) -> None:
    get, head = http.get("/api/xapps"), http.head("/api/xapps")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"]
    assert head.headers["etag"] == get.headers["etag"]


@pytest.mark.parametrize("query", ["pretty=true&page=0", "page=0&pretty=true"])
def test_problems_are_indented_on_request(http: httpx.Client, query: str) -> None:
    answer = http.get(f"/api/xapps?{query}")

    assert answer.status_code == 400
    assert answer.text.startswith('{\n  "type": "urn:xapp-operator:problem:malformed-request"')


def test_the_instance_of_a_problem_is_the_requested_path(http: httpx.Client) -> None:
    assert http.get("/api/v1/xapps/a%20b/c").json()["instance"] == "/api/v1/xapps/a%20b/c"


def test_an_unexpected_error_is_reported_without_details(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings, opened = offline_gateway(tmp_path)

    def break_it(gateway: Gateway) -> None:
        entry = object.__new__(XAppEntry)
        gateway.store._by_key["a", "x"] = entry

    with serve_gateway(settings, opened) as one, one.client() as http:
        one.run_in_loop(break_it)
        answer = http.get("/api/xapps/a/x")

    assert answer.status_code == 500
    problem = answer.json()
    assert "reference" in problem["detail"]
    assert "Traceback" not in answer.text
    assert "AttributeError" not in answer.text
    assert "/" not in problem["detail"]


@pytest.mark.parametrize("header", [None, "", "Basic dXNlcjpwdw==", "Bearer", "token abc"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/xapps"),
        ("GET", "/api/xapps?page=0"),
        ("GET", "/api/xapps?search=%FF"),
        ("GET", "/api/xapps/a/b"),
        ("POST", "/api/deployment/xapp"),
        ("PUT", "/api/deployment/xapp/a/b"),
        ("DELETE", "/api/deployment/xapp"),
    ],
)
def test_without_a_bearer_token_the_first_answer_is_401(
    authenticated_gateway: GatewayServer, method: str, path: str, header: str | None
) -> None:
    headers = {"Host": "xapps.example.com"} | ({} if header is None else {"Authorization": header})
    with authenticated_gateway.client() as http:
        answer = http.request(method, path, headers=headers)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_an_absent_api_server_is_503_not_401(authenticated_gateway: GatewayServer) -> None:
    with authenticated_gateway.client() as http:
        answer = http.get("/api/xapps", headers={"Host": "xapps.example.com", "Authorization": "Bearer abc"})

    assert answer.status_code == 503


@pytest.mark.parametrize("path", ["/", "/api/v1/docs", "/api/v1/openapi.json", "/healthz", "/readyz"])
def test_routes_without_data_of_xapps_need_no_token(authenticated_gateway: GatewayServer, path: str) -> None:
    with authenticated_gateway.client() as http:
        assert http.get(path, headers={"Host": "xapps.example.com"}).status_code == 200
