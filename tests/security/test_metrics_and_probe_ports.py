"""Clients of the ports of metrics and probes, which need no token: half-sent heads, many connections, slow readers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeAlias, cast

import aiohttp
import pytest
from aiohttp import web

from xapp_operator.common import bounded_http_server
from xapp_operator.common.bounded_http_server import CONNECTIONS_MAX, BoundedHttpServer
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.probe_server import GatewayProbeServer
from xapp_operator.gateway.state import Gateway
from xapp_operator.manager.probe_server import ProbeServer
from xapp_operator.telemetry.metrics import Metrics
from xapp_operator.telemetry.metrics_server import MetricsServer

OpenServer: TypeAlias = Callable[[], MetricsServer | ProbeServer | GatewayProbeServer]

SECONDS = 20.0
HALF_SENT = b"GET /metrics HTTP/1.1\r\nHost: a\r\nX-A: aaaa"


def metrics_server() -> MetricsServer:
    return MetricsServer(Settings(metrics_port=0), Metrics())


def probe_server() -> ProbeServer:
    return ProbeServer(Settings(probe_host="127.0.0.1", probe_port=0), Metrics())


def gateway_probe_server() -> GatewayProbeServer:
    """Return a server whose gateway is not asked: it is alive as long as it answers."""
    return GatewayProbeServer(cast("Gateway", None), Settings(probe_host="127.0.0.1", gateway_probe_port=0))


both = pytest.mark.parametrize(
    ("open_server", "path"),
    [(metrics_server, "/metrics"), (probe_server, "/healthz"), (gateway_probe_server, "/healthz")],
    ids=["metrics", "probes of the operator", "probes of the gateway"],
)


class Client:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def is_closed(self) -> bool:
        """Return whether the server has closed the connection, without waiting for it."""
        try:
            async with asyncio.timeout(0.05):
                return await self.reader.read() == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


@asynccontextmanager
async def connect(port: int, *, send: bytes, source: str = "127.0.0.2", limit: int = 65536) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0), limit=limit)
    try:
        writer.write(send)
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


async def get(port: int, path: str) -> int:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", timeout=aiohttp.ClientTimeout(SECONDS)) as http:
        answer = await http.get(path)
        assert answer.headers["Connection"] == "close"
        return answer.status


async def wait_closed(client: Client) -> None:
    async with asyncio.timeout(SECONDS):
        try:
            while await client.reader.read(65536):
                pass
        except ConnectionResetError:
            return


@both
@pytest.mark.parametrize("sent", [b"", HALF_SENT], ids=["nothing", "half a head"])
async def test_half_sent_requests_end(
    open_server: OpenServer, path: str, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_http_server, "CONNECTION_SECONDS", 0.2)
    async with open_server() as server, connect(server.port, send=sent) as client:
        await wait_closed(client)


@both
async def test_one_address_with_many_connections_displaces_its_own(open_server: OpenServer, path: str) -> None:
    async with open_server() as server, AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(connect(server.port, send=HALF_SENT)) for _ in range(CONNECTIONS_MAX)
        ]
        waiting = await stack.enter_async_context(connect(server.port, send=b"GET ", source="127.0.0.3"))
        statuses = [await get(server.port, path) for _ in range(5)]
        first_closed, last_closed = await clients[0].is_closed(), await clients[-1].is_closed()
        other_closed = await waiting.is_closed()

    assert statuses == [200] * 5
    assert (first_closed, last_closed, other_closed) == (True, False, False)


async def test_the_number_of_connections_is_bounded() -> None:
    async with BoundedHttpServer([], host="127.0.0.1", port=0) as server, AsyncExitStack() as stack:
        for number in range(3 * CONNECTIONS_MAX):
            source = f"127.0.1.{number % 7 + 1}"
            await stack.enter_async_context(connect(server.port, send=HALF_SENT, source=source))
            assert server.open_connections <= CONNECTIONS_MAX
        assert await get(server.port, "/") == 404


async def test_a_client_that_does_not_read_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http_server, "CONNECTION_SECONDS", 0.5)
    ended = asyncio.Event()

    async def large(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            while True:
                await answer.write(b"a" * 100_000)
        finally:
            ended.set()

    async with BoundedHttpServer([web.get("/", large)], host="127.0.0.1", port=0) as server:
        request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        async with connect(server.port, send=request, limit=1024), asyncio.timeout(SECONDS):
            await ended.wait()
            assert server.open_connections == 0


@both
@pytest.mark.parametrize("head", [b"X-A: " + b"a" * 20_000, b"a\x00b"], ids=["long", "not HTTP"])
async def test_a_refused_head_writes_no_traceback(
    open_server: OpenServer, path: str, head: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    request = b"GET / HTTP/1.1\r\nHost: a\r\n" + head + b"\r\n\r\n"
    async with open_server() as server, connect(server.port, send=request) as client, asyncio.timeout(SECONDS):
        assert b" 400 " in await client.reader.readline()
        await wait_closed(client)
    assert not caplog.records
