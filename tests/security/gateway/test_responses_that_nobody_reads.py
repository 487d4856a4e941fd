"""Threat: clients without a token request public files and do not read them, and so keep all connections."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tests.localcluster.waiting import wait_until
from tests.security.gateway.test_half_sent_heads import HEAD, SECONDS, small_gateway
from tests.support.gateway import GatewayServer
from xapp_operator.gateway.http import connections
from xapp_operator.gateway.http.audit import has_authenticated_caller
from xapp_operator.gateway.http.connection_limits import ConnectionLimits

CONNECTIONS = 16
PUBLIC_FILE = b"GET /api/v1/docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
PIPELINED = 8
"""Together they are more than the buffers of the kernel take."""


def connect_without_reading(gateway: GatewayServer, stack: ExitStack, requests: bytes) -> socket.socket:
    connection = stack.enter_context(socket.socket())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.settimeout(SECONDS)
    connection.connect(("127.0.0.1", gateway.port))
    connection.sendall(requests)
    return connection


def count(gateway: GatewayServer, counted: Callable[[ConnectionLimits], int]) -> int:
    return gateway.run_in_loop(lambda _: counted(gateway.server.connection_limits))


def unread(gateway: GatewayServer) -> int:
    """Return how many connections have a response that their client does not read."""
    protocols = gateway.server.server_state.connections
    return gateway.run_in_loop(
        lambda _: sum(
            isinstance(each, connections.BoundedHttpProtocol) and each.flow.write_paused for each in protocols
        )
    )


@pytest.mark.parametrize("limits", [{"connections": CONNECTIONS}, {"connections_per_address": CONNECTIONS}])
def test_a_connection_that_is_not_read_is_displaced(tmp_path: Path, limits: dict[str, int]) -> None:
    with small_gateway(tmp_path, auth="kubernetes", **limits) as gateway, ExitStack() as stack:
        for _ in range(CONNECTIONS):
            connect_without_reading(gateway, stack, PUBLIC_FILE * PIPELINED)
        wait_until(lambda: unread(gateway) == CONNECTIONS, timeout=SECONDS, what="the responses to stall")
        for _ in range(3):
            assert gateway.send_raw(HEAD + b"\r\n").startswith(b"HTTP/1.1 200 ")
        wait_until(lambda: unread(gateway) < CONNECTIONS, timeout=SECONDS, what="one to be closed, though unread")


def test_a_connection_that_is_not_read_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNAUTHENTICATED_WRITE_SECONDS", 0.2)
    with small_gateway(tmp_path, auth="kubernetes") as gateway, ExitStack() as stack:
        for _ in range(CONNECTIONS):
            connect_without_reading(gateway, stack, PUBLIC_FILE * PIPELINED)
        wait_until(lambda: count(gateway, lambda limits: limits.open) == 0, timeout=SECONDS, what="all to be closed")


def test_a_client_that_leaves_during_pipelined_responses_logs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_gateway(tmp_path, auth="kubernetes") as gateway, caplog.at_level(logging.WARNING):
        with ExitStack() as stack:
            for _ in range(CONNECTIONS):
                connect_without_reading(gateway, stack, PUBLIC_FILE * connections.PIPELINED_REQUESTS_MAX)
            wait_until(lambda: unread(gateway) == CONNECTIONS, timeout=SECONDS, what="the responses to stall")
        tasks = gateway.server.server_state.tasks
        wait_until(lambda: gateway.run_in_loop(lambda _: len(tasks)) == 0, timeout=SECONDS, what="the requests to end")
        assert gateway.send_raw(HEAD + b"\r\n").startswith(b"HTTP/1.1 200 ")
    assert [record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")] == []


@pytest.mark.parametrize(("path", "is_authenticated"), [(b"/api/stream", True), (b"/api/v1/docs", False)])
def test_only_authenticated_callers_have_the_long_time(tmp_path: Path, path: bytes, is_authenticated: bool) -> None:
    """Without XAPP_AUTH, callers of the API count as authenticated; pages have no caller."""
    found = list[bool]()
    original = RequestResponseCycle.send

    async def record(cycle: RequestResponseCycle, message: Any) -> None:
        found.append(has_authenticated_caller(cycle.scope))
        await original(cycle, message)

    with pytest.MonkeyPatch.context() as patch, small_gateway(tmp_path) as gateway, ExitStack() as stack:
        patch.setattr(RequestResponseCycle, "send", record)
        connection = connect_without_reading(gateway, stack, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(512).startswith(b"HTTP/1.1 200 ")
    assert set(found) == {is_authenticated}
