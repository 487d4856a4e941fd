"""Threat: clients without a token begin a request with a body, do not send the rest, and so hold all connections."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.localcluster.waiting import wait_until
from tests.security.gateway.test_half_sent_heads import HEAD, SECONDS, half_sent, small_gateway
from tests.support.gateway import GatewayServer
from xapp_operator.gateway.http.connections import connection_limits
from xapp_operator.gateway.http.connections.http_connections import HEAD_MAX_BYTES

CONNECTIONS = 16
POST = b"POST /api/%s HTTP/1.1\r\nHost: localhost\r\n"
HALF_REQUESTS = [
    pytest.param(POST % b"session" + b"Content-Length: 900\r\n\r\n{", id="sign-in"),
    pytest.param(POST % b"session" + b"Content-Length: 900\r\n\r\n", id="no byte of a body"),
    pytest.param(POST % b"nothing" + b"Transfer-Encoding: chunked\r\n\r\n5\r\n", id="chunked"),
    pytest.param(POST % b"charts" + b"Content-Length: 900000\r\n\r\nPK", id="upload"),
]


def wait_until_received(gateway: GatewayServer, count: int) -> None:
    """Wait until the heads have been parsed: all connections have a request."""

    def received() -> int:
        return gateway.run_in_loop(
            lambda _: sum(getattr(each, "cycle", None) is not None for each in gateway.server.server_state.connections)
        )

    wait_until(lambda: received() >= count, timeout=SECONDS, what="the requests to begin")


@pytest.mark.parametrize("request_", HALF_REQUESTS)
@pytest.mark.parametrize("limits", [{"connections": CONNECTIONS}, {"connections_per_address": CONNECTIONS}])
def test_a_request_that_waits_for_its_body_is_displaced(
    tmp_path: Path, limits: dict[str, int], request_: bytes
) -> None:
    with small_gateway(tmp_path, auth="kubernetes", **limits) as gateway, ExitStack() as stack:
        for _ in range(CONNECTIONS):
            half_sent(gateway.port, request_, stack)
        wait_until_received(gateway, CONNECTIONS)
        assert gateway.send_raw(HEAD + b"\r\n").startswith(b"HTTP/1.1 200 ")


def test_all_half_sent_requests_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maximum = 10 * HEAD_MAX_BYTES
    monkeypatch.setattr(connection_limits, "HEADS_MAX_BYTES", maximum)
    long = b"X-A: " + b"a" * 30_000 + b"\r\n"
    with small_gateway(tmp_path, auth="kubernetes") as gateway, ExitStack() as stack:
        opened = [
            half_sent(gateway.port, POST % b"session" + long + b"Content-Length: 9\r\n\r\n{", stack) for _ in range(30)
        ]
        limits = gateway.server.connection_limits
        wait_until(
            lambda: 0 < gateway.run_in_loop(lambda _: limits.open) <= 10,
            timeout=SECONDS,
            what="the oldest to be closed",
        )
        assert gateway.run_in_loop(lambda _: limits.unfinished_bytes) <= maximum
        assert_open(opened[-1])


def test_heads_that_wait_for_an_earlier_response_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maximum = 10 * HEAD_MAX_BYTES
    monkeypatch.setattr(connection_limits, "HEADS_MAX_BYTES", maximum)
    stream = b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
    waiting = (HEAD + b"X-A: " + b"a" * 30_000 + b"\r\n\r\n") * 4
    with small_gateway(tmp_path) as gateway, ExitStack() as stack:
        for _ in range(10):
            half_sent(gateway.port, stream + waiting, stack)
        limits = gateway.server.connection_limits
        wait_until(lambda: 0 < gateway.run_in_loop(lambda _: limits.open) <= 3, timeout=SECONDS, what="closes")
        assert gateway.run_in_loop(lambda _: limits.unfinished_bytes) <= maximum


def assert_open(connection: socket.socket) -> None:
    connection.setblocking(False)
    with pytest.raises(BlockingIOError):
        connection.recv(1)
