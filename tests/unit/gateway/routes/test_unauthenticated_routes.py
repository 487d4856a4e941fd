"""Only the routes that are listed here respond without credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.routes import UNAUTHENTICATED_ROUTES, WEBSOCKET, all_routes
from xapp_operator.kube import transport

UNKNOWN_SESSION_COOKIE: Final = "xapp_session=1.gAAAA" + "A" * 195
"""Has the form of a session, but no key can be read here: whether it is one is not known."""

UNKNOWN_PASSWORD: Final = "Basic YTpi"
"""Its password counts as a token where Helm reads charts; without an API server, nobody can verify it."""


@pytest.fixture(scope="module")
def authenticated_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    """A gateway that requires tokens, without an API server that could verify them."""
    settings, opened = offline_gateway(tmp_path_factory.mktemp("guarded"))
    with serve_gateway(settings.model_copy(update={"auth": "kubernetes"}), opened) as one:
        yield one


def request_without_credentials(http: httpx.Client, method: str, path: str, **headers: str) -> httpx.Response:
    if method == WEBSOCKET:
        return open_websocket(http, path, headers)
    return http.request(method, re.sub(r"\{[^}]+\}", "x", path), headers=headers, content=b"{}" * (method != "GET"))


def open_websocket(http: httpx.Client, path: str, headers: dict[str, str]) -> httpx.Response:
    """Try to open a WebSocket and return the response."""
    address = f"ws://{http.base_url.netloc.decode()}{re.sub(r'{[^}]+}', 'x', path)}"
    with pytest.raises(InvalidStatus) as refused, connect(address, additional_headers=headers, proxy=None):
        pass
    answer = refused.value.response
    return httpx.Response(answer.status_code, headers=list(answer.headers.raw_items()), content=bytes(answer.body))


def test_no_other_route_answers_without_credentials(authenticated_gateway: GatewayServer) -> None:
    routes = all_routes()
    with authenticated_gateway.client() as http:
        answers = {(method, path): request_without_credentials(http, method, path) for method, path in routes}
        versioned = {
            each: request_without_credentials(http, each[0], each[1].replace("/api/", "/api/v1/", 1)).status_code
            for each in routes
            if each[1].startswith("/api/")
        }

    assert {each for each, answer in answers.items() if answer.status_code != 401} == UNAUTHENTICATED_ROUTES
    assert all(status == answers[each].status_code for each, status in versioned.items())
    for each, answer in answers.items():
        if each not in UNAUTHENTICATED_ROUTES:
            assert answer.headers["www-authenticate"].startswith("Bearer ")
            assert answer.headers["content-type"] == "application/problem+json"


def test_a_websocket_that_is_refused_is_no_error_in_the_log(
    authenticated_gateway: GatewayServer, caplog: pytest.LogCaptureFixture
) -> None:
    path = "/api/xapps/ran/hello/api/ws"
    with authenticated_gateway.client() as http:
        assert open_websocket(http, path, {}).status_code == 401
        http.get("/healthz")

    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": UNKNOWN_PASSWORD},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer two words"},
        {"Cookie": "xapp_session=garbled"},
        {"Cookie": UNKNOWN_SESSION_COOKIE},
        {"Cookie": "xapp_session=" + "A" * 6000},
        {"Cookie": "xapp_session=a; xapp_session=b"},
    ],
    ids=lambda headers: next(iter(headers.values()))[:20],
)
def test_invalid_credentials_are_refused_by_every_route(
    authenticated_gateway: GatewayServer, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "RETRY_FIRST_SECONDS", 0.001)
    with authenticated_gateway.client() as http:
        for method, path in all_routes():
            answer = request_without_credentials(http, method, path, **headers)
            unknown = headers.get("Cookie") == UNKNOWN_SESSION_COOKIE or (
                headers.get("Authorization") == UNKNOWN_PASSWORD and path.startswith("/api/charts/")
            )
            wanted = {401, 503} if unknown else {401}
            assert answer.status_code in wanted or (method, path) in UNAUTHENTICATED_ROUTES, (method, path)


def test_the_openapi_document_lists_the_unauthenticated_routes(authenticated_gateway: GatewayServer) -> None:
    with authenticated_gateway.client() as http:
        document = http.get("/api/openapi.json").json()
    open_ones = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if operation.get("security", document["security"]) == []
    }

    assert open_ones == {each for each in UNAUTHENTICATED_ROUTES if each[1] in document["paths"]}
