"""Threat: clients without a token request public files and do not read them, and so keep all connections."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tests.localcluster.waiting import wait_until
from tests.security.gateway.test_half_sent_heads import HEAD, MEMORY_MAX_BYTES, SECONDS, small_gateway
from tests.support.gateway import GatewayServer
from tests.support.memory import resident_bytes
from tests.unit.gateway.test_process import process
from xapp_operator.gateway.http.audit import authenticated_group
from xapp_operator.gateway.http.connections import connection_limits, http_connections, reading_time
from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits

CONNECTIONS = 16
PUBLIC_FILE = b"GET /api/v1/docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
PIPELINED = 8
"""Together they are more than the buffers of the kernel take."""
LARGE_DOCUMENT = b"GET /api/openapi.json?pretty=true HTTP/1.1\r\nHost: localhost\r\n\r\n"
UNREAD = 300
UNSENT_MAX_BYTES = 64 * 1024


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
            isinstance(each, http_connections.BoundedHttpProtocol) and each.flow.write_paused for each in protocols
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
    monkeypatch.setattr(reading_time, "UNAUTHENTICATED_WRITE_SECONDS", 0.2)
    with small_gateway(tmp_path, auth="kubernetes") as gateway, ExitStack() as stack:
        for _ in range(CONNECTIONS):
            connect_without_reading(gateway, stack, PUBLIC_FILE * PIPELINED)
        wait_until(lambda: count(gateway, lambda limits: limits.open) == 0, timeout=SECONDS, what="all to be closed")


@pytest.mark.parametrize(("read", "is_closed"), [(1, True), (reading_time.READ_MIN_BYTES, False)])
async def test_a_client_that_reads_too_slowly_is_closed(
    monkeypatch: pytest.MonkeyPatch, read: int, is_closed: bool
) -> None:
    """The buffers of the kernel would hide how slowly a client reads, so this is a connection of the test."""
    monkeypatch.setattr(reading_time, "UNAUTHENTICATED_WRITE_SECONDS", 0.01)
    sizes = iter(range(10_000_000, 0, -read))
    asked, aborted = asyncio.Event(), asyncio.Event()

    class Connection(asyncio.Transport):
        def get_write_buffer_size(self) -> int:
            size = next(sizes)
            if size <= 10_000_000 - 8 * read:
                asked.set()
            return size

    time = reading_time.ReadingTime(Connection(), aborted.set)
    time.limit(is_authenticated=False)
    async with asyncio.timeout(SECONDS):
        await (aborted if is_closed else asked).wait()
    assert aborted.is_set() == is_closed
    time.end()


def test_files_that_are_not_read_take_little_memory(tmp_path: Path) -> None:
    """Each file has 1.5 MB."""
    with process(tmp_path, XAPP_AUTH="kubernetes") as (running, http), ExitStack() as stack:
        http.get("/api/v1/docs/swagger-ui-bundle.js")
        before = resident_bytes(running.pid)
        for _ in range(UNREAD):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.connect(("127.0.0.1", http.base_url.port or 0))
            connection.sendall(PUBLIC_FILE * PIPELINED)
        for _ in range(3):  # each connection is accepted after all those before have been served
            with httpx.Client(base_url=http.base_url, trust_env=False, timeout=SECONDS) as other:
                assert other.get("/healthz").status_code == 200
        grown = resident_bytes(running.pid) - before

    assert grown < MEMORY_MAX_BYTES, f"{grown:,}"


@pytest.mark.parametrize("auth", ["kubernetes", "none"])
def test_all_unread_responses_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, auth: str) -> None:
    monkeypatch.setattr(connection_limits, "UNSENT_MAX_BYTES", UNSENT_MAX_BYTES)
    monkeypatch.setattr(reading_time, "UNAUTHENTICATED_WRITE_SECONDS", 2 * SECONDS)  # nothing else closes them
    with small_gateway(tmp_path, auth=auth) as gateway, ExitStack() as stack:
        for _ in range(CONNECTIONS):
            connect_without_reading(gateway, stack, PUBLIC_FILE * PIPELINED)
        assert gateway.send_raw(HEAD + b"\r\n").startswith(b"HTTP/1.1 200 "), "it is accepted after all those before"
        wait_until(lambda: count(gateway, lambda limits: limits.open) < CONNECTIONS, timeout=SECONDS, what="closes")
        wait_until(lambda: unread(gateway) > 0, timeout=SECONDS, what="a response to stall")
        assert count(gateway, lambda limits: limits.unsent_bytes) <= UNSENT_MAX_BYTES


def test_a_request_begins_when_the_response_before_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun_while_unread = list[bool]()
    original = RequestResponseCycle.run_asgi

    async def record(cycle: RequestResponseCycle, app: Any) -> None:
        begun_while_unread.append(cycle.flow.write_paused)
        await original(cycle, app)

    monkeypatch.setattr(RequestResponseCycle, "run_asgi", record)
    with small_gateway(tmp_path) as gateway, ExitStack() as stack:
        connection = connect_without_reading(gateway, stack, LARGE_DOCUMENT * PIPELINED)
        wait_until(lambda: unread(gateway) == 1, timeout=10, what="the response to stall")
        while len(begun_while_unread) < PIPELINED:
            assert connection.recv(65536)
    assert not any(begun_while_unread)


def test_a_client_that_leaves_during_pipelined_responses_logs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_gateway(tmp_path, auth="kubernetes") as gateway, caplog.at_level(logging.WARNING):
        with ExitStack() as stack:
            for _ in range(CONNECTIONS):
                connect_without_reading(gateway, stack, PUBLIC_FILE * http_connections.PIPELINED_REQUESTS_MAX)
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
        found.append(authenticated_group(cycle.scope) is not None)
        await original(cycle, message)

    with pytest.MonkeyPatch.context() as patch, small_gateway(tmp_path) as gateway, ExitStack() as stack:
        patch.setattr(RequestResponseCycle, "send", record)
        connection = connect_without_reading(gateway, stack, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(512).startswith(b"HTTP/1.1 200 ")
    assert set(found) == {is_authenticated}
