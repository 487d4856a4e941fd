"""One caller who opens 200 proxy streams, followed logs, streams of changes and uploads at once.

The gateway refuses what is over the caller's share with 429, and serves another caller meanwhile.
"""

from __future__ import annotations

import json
import selectors
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.support.gateway import GatewayServer
from tests.support.proxied_xapp import proxy_to_service
from tests.support.stand_in_api import LOGS, StandInApi, serve_api, serve_authenticating_gateway
from tests.support.xapp_server import serve_xapp

REQUESTS: Final = 200
SECONDS: Final = 60.0
PATHS: Final = {"logs": f"{LOGS}?follow=true", "streams": "/api/stream"}
SHARES: Final = {"logs": 32, "streams": 64, "proxy": 64}
FORM: Final = '{"namespace": "ric-xapps"}'


@pytest.fixture(scope="module")
def api() -> Iterator[StandInApi]:
    with serve_api() as one:
        yield one


@pytest.fixture(scope="module")
def gateway(api: StandInApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    with serve_authenticating_gateway(api, tmp_path_factory.mktemp("gateway")) as one:
        yield one


@contextmanager
def requests_at_once(port: int, request: bytes, count: int = REQUESTS) -> Iterator[list[socket.socket]]:
    """Send the same request on many connections, and keep them open."""
    with ExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SECONDS))
            connection.sendall(request)
            connections.append(connection)
        yield connections


def statuses(connections: list[socket.socket], *, answers: int) -> Counter[int]:
    """Return the statuses of the first `answers` responses."""
    found = Counter[int]()
    with selectors.DefaultSelector() as selector:
        for each in connections:
            selector.register(each, selectors.EVENT_READ)
        while found.total() < answers:
            ready = selector.select(SECONDS)
            assert ready, f"only {found} of {answers} answers"
            for key, _ in ready:
                selector.unregister(key.fileobj)
                head = key.fileobj.recv(4096)  # type: ignore[union-attr]
                found[int(head.split(b" ")[1])] += 1
    return found


def get_request(path: str, token: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def client(gateway: GatewayServer, user: str) -> httpx.Client:
    return gateway.client(headers={"Authorization": f"Bearer {user}:1"})


@pytest.mark.parametrize("kind", PATHS)
def test_one_caller_gets_only_a_share_of_the_streams(gateway: GatewayServer, kind: str) -> None:
    with requests_at_once(gateway.port, get_request(PATHS[kind], "jane:1")) as connections:
        answers = statuses(connections, answers=REQUESTS)
        with client(gateway, "joe") as other, other.stream("GET", PATHS[kind]) as served:
            assert served.status_code == 200
        with client(gateway, "jane") as same:
            refused = same.get(PATHS[kind])

    assert answers == {200: SHARES[kind], 429: REQUESTS - SHARES[kind]}
    assert refused.headers["retry-after"] == "1"
    assert f"you have {SHARES[kind]} open {kind}" in refused.json()["detail"]


def test_a_second_token_is_no_second_share(gateway: GatewayServer) -> None:
    share = SHARES["logs"]
    with requests_at_once(gateway.port, get_request(PATHS["logs"], "ann:1"), share) as connections:
        assert statuses(connections, answers=share) == {200: share}
        with gateway.client(headers={"Authorization": "Bearer ann:2"}) as same_user:
            assert same_user.get(PATHS["logs"]).status_code == 429


def test_one_caller_gets_only_a_share_of_the_proxy(api: StandInApi, tmp_path: Path) -> None:
    with serve_xapp() as xapp, proxy_to_service(xapp, tmp_path, kubernetes=api.port) as proxied:
        request = get_request(f"{proxied.proxy_path}/events", "jane:1")
        with requests_at_once(proxied.gateway.port, request) as connections:
            answers = statuses(connections, answers=REQUESTS)
            with client(proxied.gateway, "joe") as other:
                assert other.get(f"{proxied.proxy_path}/json").status_code == 200
            with client(proxied.gateway, "jane") as same:
                refused = same.get(f"{proxied.proxy_path}/json")

    assert answers == {200: SHARES["proxy"], 429: REQUESTS - SHARES["proxy"]}
    assert "XAPP_PROXY_PER_CALLER" in refused.json()["detail"]


def test_half_sent_uploads_of_one_caller_let_another_caller_deploy(gateway: GatewayServer) -> None:
    upload = (
        b"POST /api/deployment/xapp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer jane:1\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 500000\r\n\r\n"
        b'--x\r\nContent-Disposition: form-data; name="xAppForm"\r\n\r\n' + FORM.encode() + b"\r\n"
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n' + bytes(1000)
    )
    # Of Jane's uploads 4 are received and 128 wait; the rest is refused.
    with requests_at_once(gateway.port, upload) as connections:
        refused = statuses(connections, answers=REQUESTS - 4 - 128)
        files = list(gateway.gateway.upload_folder.iterdir())
        with client(gateway, "joe") as other:
            answer = other.post("/api/deployment/xapp", files={"xAppForm": (None, FORM)})

    assert refused == {429: REQUESTS - 4 - 128}
    assert len(files) <= 4
    assert answer.status_code == 422, "the form of the other caller has been read and checked"


def test_a_chart_is_not_received_from_a_caller_who_may_not_deploy(gateway: GatewayServer, api: StandInApi) -> None:
    api.denied.add("eve")
    begin = (
        b"POST /api/deployment/xapp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer eve:1\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 500000\r\n\r\n"
        b'--x\r\nContent-Disposition: form-data; name="xAppForm"\r\n\r\n' + FORM.encode() + b"\r\n--x\r\n"
    )
    with requests_at_once(gateway.port, begin, 1) as connections:
        head, _, body = connections[0].recv(65536).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 403 ")
    assert "create" in json.loads(body.split(b"\r\n")[1] if b"chunked" in head else body)["detail"]
