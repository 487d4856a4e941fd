"""TLS handshakes count as connections that wait for their client: on the event loop of the gateway, over loopback."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
import uvloop
from websockets.frames import Frame, Opcode

from tests.localcluster.pki import Authority
from tests.support.eventually import eventually
from tests.unit.gateway.http.http_connections import App, HttpServer, get, post
from tests.unit.gateway.http.test_websocket_connections import HANDSHAKE
from xapp_operator.gateway.http.connections import reading_time, tls_connections
from xapp_operator.gateway.http.connections.tls_connections import BoundedHttpsProtocol, BoundedTlsProtocol

SECONDS = 60.0
MUCH = 16 * 1024 * 1024
"""More than the buffers of the kernel take."""
ADDRESS = "127.0.0.1"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def http_of(tls: BoundedTlsProtocol) -> BoundedHttpsProtocol | None:
    """Return the HTTP inside TLS, once there is a connection for it."""
    inside = tls._transport_inside
    return None if inside is None else cast("BoundedHttpsProtocol", inside.get_protocol())


class TlsServer:
    """The HTTPS of a gateway, with a small application."""

    def __init__(self, folder: Path, *, total: int) -> None:
        self.http = HttpServer(total=total)
        self.protocols: list[BoundedTlsProtocol] = []
        self.port = 0
        authority = Authority(folder / "pki")
        pair = authority.issue("server", common_name="server")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pair.certificate, pair.key)
        self._trusting = ssl.create_default_context(cafile=folder / "pki" / "ca.crt")
        self._writers: list[asyncio.StreamWriter] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.BaseProtocol:
            http = BoundedHttpsProtocol(self.http.config, self.http.state, app_state={}, limits=self.http.limits)
            self.protocols.append(BoundedTlsProtocol(loop, http, self._context, limits=self.http.limits))
            return cast("asyncio.BaseProtocol", self.protocols[-1])

        server = await loop.create_server(protocol, ADDRESS, 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            for writer in self._writers:
                writer.transport.abort()
            server.close()
            await eventually(lambda: self.http.limits.open == 0, what="the end of all connections")

    async def connect(self, *, handshake: bool = True) -> Streams:
        options: dict[str, Any] = {"ssl": self._trusting, "server_hostname": "localhost"} if handshake else {}
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(ADDRESS, self.port, **options)
        self._writers.append(writer)
        return reader, writer

    def connect_blocking(self) -> ssl.SSLSocket:
        """Return a connection that reads only when it is asked to."""
        connection = socket.create_connection((ADDRESS, self.port), timeout=SECONDS)
        return self._trusting.wrap_socket(connection, server_hostname="localhost", suppress_ragged_eofs=False)

    async def eventually_open(self, count: int) -> None:
        await eventually(lambda: self.http.limits.open == count, what=f"{count} open connections")


Run = Callable[..., None]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run_with(test: Callable[[TlsServer], Any], *, total: int = 10) -> None:
        async def main() -> None:
            server = TlsServer(tmp_path, total=total)
            async with server.running():
                await test(server)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main())

    return run_with


async def ended(reader: asyncio.StreamReader) -> bool:
    """Return whether the server closes the connection without a word."""
    async with asyncio.timeout(SECONDS):
        with suppress(ConnectionError):
            return await reader.read() == b""
    return True


def test_a_connection_counts_once_during_and_after_its_handshake(run: Run) -> None:
    async def test(server: TlsServer) -> None:
        _, silent = await server.connect(handshake=False)
        await server.eventually_open(1)
        reader, writer = await server.connect()
        await server.eventually_open(2)
        writer.write(get("/ok"))
        async with asyncio.timeout(SECONDS):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        assert server.http.limits.open == 2
        silent.close()
        await server.eventually_open(1)
        writer.close()
        await server.eventually_open(0)

    run(test)


def test_a_handshake_gives_way_to_a_newer_connection(run: Run) -> None:
    async def test(server: TlsServer) -> None:
        first, _ = await server.connect(handshake=False)
        await server.eventually_open(1)
        reader, writer = await server.connect()
        assert await ended(first)
        writer.write(get("/ok"))
        async with asyncio.timeout(SECONDS):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        assert server.http.closed == ["connections"]

    run(test, total=1)


def test_a_connection_beyond_the_limit_is_closed_before_its_handshake(run: Run) -> None:
    async def test(server: TlsServer) -> None:
        reader, writer = await server.connect()
        writer.write(get("/wait"))
        await eventually(lambda: server.http.app.paths == ["/wait"], what="the request")
        refused, _ = await server.connect(handshake=False)
        assert await ended(refused)
        assert (server.http.limits.open, server.http.closed) == (1, ["connections"])
        assert not server.protocols[1]._is_admitted
        server.http.app.go.set()
        async with asyncio.timeout(SECONDS):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")

    run(test, total=1)


def test_clients_are_told_apart_by_their_addresses(run: Run) -> None:
    async def test(server: TlsServer) -> None:
        server.http.limits._per_address = 1
        first, _ = await server.connect(handshake=False)
        await server.eventually_open(1)
        await server.connect(handshake=False)
        assert await ended(first)
        assert server.http.closed == ["connections_of_address"]

    run(test)


def test_a_connection_that_gives_way_ends_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It no longer counts, so it must not wait until its client confirms the end of TLS."""
    monkeypatch.setattr(tls_connections, "CLOSE_SECONDS", 3600.0)

    async def test(server: TlsServer) -> None:
        with await asyncio.to_thread(server.connect_blocking):
            await server.eventually_open(1)
            await server.connect()
            await eventually(server.protocols[0]._connection.is_closing, what="the end of the first connection")

    run(test, total=1)


def request_much(connection: ssl.SSLSocket) -> None:
    connection.sendall(get(f"/size/{MUCH}"))


def request_many_messages(connection: ssl.SSLSocket) -> None:
    connection.sendall(get("/open", *HANDSHAKE))
    assert connection.recv(64).startswith(b"HTTP/1.1 101 ")
    connection.sendall(Frame(Opcode.TEXT, b"large").serialize(mask=True) * (MUCH // App.LARGE))


@pytest.mark.parametrize("request_all", [request_much, request_many_messages])
def test_everything_that_a_client_does_not_read_counts(run: Run, request_all: Callable[[ssl.SSLSocket], None]) -> None:
    def read(connection: ssl.SSLSocket) -> None:
        left = MUCH - App.LARGE  # nearly everything
        while left > 0:
            left -= len(connection.recv(65536))

    async def test(server: TlsServer) -> None:
        limits = server.http.limits
        with await asyncio.to_thread(server.connect_blocking) as connection:
            await asyncio.to_thread(request_all, connection)
            unsent = await eventually(lambda: limits.unsent_bytes, what="unread bytes")
            [tls] = server.protocols
            assert unsent == tls._connection.get_write_buffer_size()
            assert tls._connection.get_write_buffer_limits() == (0, 4 * 1024)
            await asyncio.to_thread(read, connection)
            await eventually(lambda: limits.unsent_bytes == 0, what="the client to have read everything")

    run(test)


def test_a_handshake_that_nobody_reads_goes_on(run: Run) -> None:
    """A large certificate may not fit into the kernel."""

    async def test(server: TlsServer) -> None:
        await server.connect(handshake=False)
        await server.eventually_open(1)
        server.protocols[0].pause_writing()
        server.protocols[0].resume_writing()
        assert server.http.limits.open == 1

    run(test)


def test_a_lost_connection_may_still_be_told_that_it_can_write(run: Run) -> None:
    async def test(server: TlsServer) -> None:
        _, writer = await server.connect()
        await server.eventually_open(1)
        writer.close()
        await server.eventually_open(0)
        server.protocols[0].pause_writing()
        server.protocols[0].resume_writing()
        assert server.http.limits.open == 0

    run(test)


def test_a_slow_client_gets_the_rest_after_the_connection_was_closed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_connections, "CLOSE_SECONDS", 0.01)

    def read(connection: ssl.SSLSocket) -> bytes:
        received = bytearray()
        while chunk := connection.recv(65536):
            received += chunk
        return bytes(received)

    async def test(server: TlsServer) -> None:
        with await asyncio.to_thread(server.connect_blocking) as connection:
            await asyncio.to_thread(connection.sendall, get(f"/size/{MUCH}", "Connection: close"))
            await server.eventually_open(1)
            await eventually(server.protocols[0]._connection.is_closing, what="the end of its time")
            assert server.http.limits.open == 1
            _, _, body = (await asyncio.to_thread(read, connection)).partition(b"\r\n\r\n")
            assert len(body) == MUCH
            await server.eventually_open(0)

    run(test)


def test_a_client_that_does_not_confirm_the_end_is_not_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_connections, "CLOSE_SECONDS", 0.01)
    monkeypatch.setattr(reading_time, "UNAUTHENTICATED_WRITE_SECONDS", 3600.0)

    async def test(server: TlsServer) -> None:
        with await asyncio.to_thread(server.connect_blocking) as connection:
            await asyncio.to_thread(connection.sendall, get("/ok", "Connection: close"))
            await server.eventually_open(0)
            assert (await asyncio.to_thread(connection.recv, 65536)).startswith(b"HTTP/1.1 200 ")

    run(test)


def test_what_was_held_back_while_a_client_did_not_read_counts_too(run: Run) -> None:
    def held_back(inside: asyncio.Transport, tcp: asyncio.Transport) -> int:
        return inside.get_write_buffer_size() - tcp.get_write_buffer_size()

    def read(connection: ssl.SSLSocket) -> None:
        left = MUCH
        while left > 0:
            left -= len(connection.recv(min(left, 65536)))

    async def test(server: TlsServer) -> None:
        with await asyncio.to_thread(server.connect_blocking) as connection:
            await server.eventually_open(1)
            tls = server.protocols[0]
            http = await eventually(lambda: http_of(tls), what="the end of the handshake")
            transports = http.transport, tls._connection
            http.transport.write(b"x" * MUCH)
            http.transport.write(b"x" * MUCH)
            assert held_back(*transports) >= MUCH
            await asyncio.to_thread(read, connection)
            await eventually(lambda: held_back(*transports) == 0, what="TCP to get the second half")
            assert server.http.limits.unsent_bytes > 0
            assert http.flow.write_paused
            await asyncio.to_thread(read, connection)
            await eventually(lambda: not http.flow.write_paused, what="the client to have read everything")

    run(test)


def test_what_an_application_does_not_read_is_not_received(run: Run) -> None:
    body = b"x" * 128 * 1024

    async def test(server: TlsServer) -> None:
        reader, writer = await server.connect()
        writer.write(post("/wait", f"Content-Length: {len(body)}", body=body))
        await eventually(lambda: server.http.app.paths, what="the request")
        connection = server.protocols[0]._connection
        await eventually(lambda: not cast("asyncio.ReadTransport", connection).is_reading(), what="the end of reading")
        server.http.app.go.set()
        async with asyncio.timeout(SECONDS):
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        writer.write(get("/ok"))
        async with asyncio.timeout(SECONDS):
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")

    run(test)


def test_a_client_that_sends_on_gets_the_response_before_its_connection_is_closed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_connections, "CLOSE_SECONDS", 3600.0)

    async def test(server: TlsServer) -> None:
        with await asyncio.to_thread(server.connect_blocking) as connection:
            head = post("/wait", "Connection: close", f"Content-Length: {2 * MUCH}")
            sending = asyncio.create_task(asyncio.to_thread(connection.sendall, head + b"x" * MUCH))
            http = await eventually(lambda: http_of(server.protocols[0]), what="the end of the handshake")
            await eventually(lambda: http.flow.read_paused, what="the end of reading")
            server.http.app.go.set()
            await sending
            assert (await asyncio.to_thread(connection.recv, 65536)).startswith(b"HTTP/1.1 200 ")

    run(test)
