"""Connections that become WebSockets: what is refused, and when they are read."""

from __future__ import annotations

import asyncio
import json

import pytest
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.client import ClientProtocol
from websockets.frames import Frame
from websockets.uri import parse_uri

from tests.unit.gateway.http.http_connections import (
    App,
    HttpServer,
    MemoryTransport,
    get,
    in_simulated_time,
    responses,
    settle,
    until,
)

ADDRESS = "192.0.2.1"
HEAD_SECONDS = 5
STRANGER_SECONDS = 15
CALLER_SECONDS = 300
USER = "X-User: jane"
HANDSHAKE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


class WebSocket:
    """The client of one WebSocket."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.handshake, _, frames = transport.received.partition(b"\r\n\r\n")
        self._protocol = ClientProtocol(parse_uri("ws://localhost/open"), max_size=None)
        self._protocol.state = self._protocol.state.OPEN
        self._protocol.parser = self._protocol.parse()  # the handshake is over
        next(self._protocol.parser)
        self._given = len(transport.received) - len(frames)

    def send(self, *texts: str) -> None:
        for text in texts:
            self._protocol.send_text(text.encode())
        self._flush()

    def ping(self, *payloads: bytes) -> None:
        for payload in payloads:
            self._protocol.send_ping(payload)
        self._flush()

    def _flush(self) -> None:
        self.transport.send(b"".join(self._protocol.data_to_send()))

    def frames(self) -> list[bytes]:
        """Return the payloads of the new frames."""
        self._protocol.receive_data(self.transport.received[self._given :])
        self._given = len(self.transport.received)
        return [bytes(each.data) for each in self._protocol.events_received() if isinstance(each, Frame)]


async def opened(server: HttpServer, *headers: str) -> WebSocket:
    transport = server.connect()
    transport.send(get("/open", *HANDSHAKE, *headers))
    await settle()
    assert transport.received.startswith(b"HTTP/1.1 101 ")
    return WebSocket(transport)


@pytest.mark.parametrize(
    "request_bytes",
    [
        get("/open", *HANDSHAKE).replace(b"GET", b"POST"),
        get("/open", *HANDSHAKE, version="1.0"),
        get("/open", *HANDSHAKE, "Content-Length: 1"),
        get("/open", *HANDSHAKE, "Transfer-Encoding: chunked"),
    ],
    ids=["method", "version", "length", "coding"],
)
def test_an_upgrade_that_is_no_handshake_is_refused(request_bytes: bytes) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(request_bytes)
        await settle()
        [(status, _, body)] = responses(connection.received)
        assert (status, server.refused) == (400, [(ADDRESS, 400, "websocket-handshake")])
        assert "RFC 6455" in json.loads(body)["detail"]
        assert connection.closed_at == 0
        assert server.app.paths == []

    in_simulated_time(test)


@pytest.mark.parametrize(
    "request_bytes",
    [get("/open", *HANDSHAKE, "X-A: " + "a" * 8200), get("/open?" + "a" * 8200, *HANDSHAKE)],
    ids=["header", "path"],
)
def test_a_long_line_of_a_handshake_gets_one_response(request_bytes: bytes) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(request_bytes)
        await settle()
        assert [status for status, _, _ in responses(connection.received)] == [431]
        assert server.refused == [(ADDRESS, 431, "websocket-handshake")]
        assert connection.is_closing()

    in_simulated_time(test)


@pytest.mark.parametrize("header", ["X-A: " + "a" * 8100, "Content-Length: 0"])
def test_a_handshake_within_the_limits_is_accepted(header: str) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/open", *HANDSHAKE, header))
        await settle()
        assert connection.received.startswith(b"HTTP/1.1 101 ")
        assert server.refused == []
        assert not connection.is_closing()

    in_simulated_time(test)


def test_a_handshake_that_the_library_cannot_parse_is_refused() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/open", *HANDSHAKE, "X(A): b"))
        await settle()
        assert [reason for _, _, reason in server.refused] in (["websocket-handshake"], ["not-http"])
        assert [each for each, _, _ in responses(connection.received)] == [400]

    in_simulated_time(test)


def test_a_handshake_of_another_version_is_refused_and_noted() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/open", *(each.replace(" 13", " 12") for each in HANDSHAKE)))
        await settle()
        assert connection.received.startswith(b"HTTP/1.1 400 ")
        assert server.refused == [(ADDRESS, 400, "websocket-handshake")]
        assert connection.closed_at == 0
        assert (server.app.paths, server.limits.open) == ([], 0)

    in_simulated_time(test)


@pytest.mark.parametrize("first", [get("/wait"), get("/large")])
def test_a_handshake_behind_an_unfinished_response_is_refused(first: bytes) -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.client_reads = first != get("/large")
        connection.send(first)
        await settle()
        connection.send(get("/open", *HANDSHAKE))
        await settle()
        status = 0 if first == get("/wait") else 400
        assert server.refused == [(ADDRESS, status, "websocket-handshake")]
        assert "/open" not in server.app.paths
        assert connection.is_closing()

    in_simulated_time(test)


def test_a_handshake_after_a_whole_response_is_accepted() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/ok"))
        await settle()
        connection.send(get("/open", *HANDSHAKE))
        await settle()
        assert b"HTTP/1.1 101 " in connection.received

    in_simulated_time(test)


def test_an_open_websocket_has_no_time_limit_and_is_answered() -> None:
    async def test() -> None:
        server = HttpServer()
        socket = await opened(server)
        await asyncio.sleep(2000)
        socket.send("a", "b")
        await settle()
        assert socket.frames() == [b"a", b"b"]
        assert server.limits.open == 1
        socket.transport.lose()
        await settle()
        assert server.limits.open == 0
        assert server.app.disconnected == ["/open"]

    in_simulated_time(test)


def test_a_websocket_gives_way_until_it_is_accepted() -> None:
    async def test() -> None:
        server = HttpServer(total=1)
        waiting = server.connect()
        waiting.send(get("/wait", *HANDSHAKE))
        await settle()
        assert waiting.is_reading_paused
        server.connect().lose()
        await settle()
        assert waiting.is_closing()

    in_simulated_time(test)


def test_an_accepted_websocket_does_not_give_way() -> None:
    async def test() -> None:
        server = HttpServer(total=1)
        socket = await opened(server)
        assert not socket.transport.is_reading_paused
        refused = server.connect()
        await settle()
        assert (socket.transport.is_closing(), refused.is_closing()) == (False, True)
        socket.send("close")
        await settle()
        server.connect()
        assert socket.transport.is_closing()  # it waits for its client's close

    in_simulated_time(test)


def test_a_websocket_that_is_refused_is_closed() -> None:
    async def test() -> None:
        server = HttpServer()
        connection = server.connect()
        connection.send(get("/refused", *HANDSHAKE))
        await settle()
        assert connection.received.startswith(b"HTTP/1.1 403 ")
        assert (connection.closed_at, server.limits.open) == (0, 0)

    in_simulated_time(test)


@pytest.mark.parametrize(("headers", "seconds"), [([], STRANGER_SECONDS), ([USER], CALLER_SECONDS)])
def test_a_websocket_whose_client_does_not_read_is_aborted(headers: list[str], seconds: int) -> None:
    async def test() -> None:
        server = HttpServer()
        socket = await opened(server, *headers)
        socket.transport.client_reads = False
        socket.send("large")
        await settle()
        assert socket.transport.is_reading_paused
        assert server.limits.unsent_bytes > App.LARGE
        assert await until(lambda: socket.transport.closed_at is not None) == seconds
        assert socket.transport.aborted
        assert (server.limits.open, server.limits.unsent_bytes) == (0, 0)

    in_simulated_time(test)


def test_an_unread_websocket_gives_way_and_one_that_is_read_again_does_not() -> None:
    async def test() -> None:
        server = HttpServer(total=1)
        socket = await opened(server)
        socket.transport.client_reads = False
        socket.send("large")
        await settle()
        socket.transport.read()
        assert server.limits.unsent_bytes == 0
        assert not socket.transport.is_reading_paused
        server.connect()
        await asyncio.sleep(CALLER_SECONDS)
        assert not socket.transport.is_closing()
        socket.send("large")
        await settle()
        server.connect()
        assert socket.transport.aborted

    in_simulated_time(test)


def test_a_close_that_nobody_reads_ends_in_time() -> None:
    async def test() -> None:
        server = HttpServer()
        socket = await opened(server, USER)
        socket.transport.client_reads = False
        socket.send("close")
        await settle()
        assert server.limits.unsent_bytes > 0
        assert await until(lambda: socket.transport.closed_at is not None) == STRANGER_SECONDS
        assert socket.transport.aborted

    in_simulated_time(test)


def test_all_pings_that_come_together_are_answered_at_once() -> None:
    async def test() -> None:
        server = HttpServer()
        socket = await opened(server)
        written: list[bytes] = []
        write = socket.transport.write
        socket.transport.write = lambda data: (written.append(bytes(data)), write(data))[1]  # type: ignore[method-assign,func-returns-value]
        socket.ping(b"1", b"2", b"3")
        await settle()
        assert socket.frames() == [b"1", b"2", b"3"]
        assert len(written) == 1
        socket.send("hello")
        await settle()
        assert socket.frames() == [b"hello"]
        assert len(written) == 2

    in_simulated_time(test)


def test_nothing_of_an_unread_websocket_is_read() -> None:
    async def test() -> None:
        server = HttpServer()
        socket = await opened(server)
        socket.transport.client_reads = False
        socket.send("large")
        await settle()
        unsent = server.limits.unsent_bytes
        for _ in range(100):
            socket.ping(b"x" * 100)
        await settle()
        assert socket.transport.get_write_buffer_size() == unsent
        socket.transport.client_reads = True
        socket.transport.read()
        await settle()
        assert len(socket.frames()) == 101

    in_simulated_time(test)


def test_a_protocol_of_websockets_without_bounds_is_an_error() -> None:
    async def test() -> None:
        server = HttpServer()
        server.config.load()
        server.config.ws_protocol_class = WebSocketsSansIOProtocol
        connection = server.connect()
        with pytest.raises(TypeError, match="not bounded"):
            connection.send(get("/open", *HANDSHAKE))

    in_simulated_time(test)


def test_nothing_happens_to_a_websocket_that_is_lost() -> None:
    async def test() -> None:
        server = HttpServer()
        socket = await opened(server)
        socket.transport.client_reads = False
        socket.send("large")
        await settle()
        socket.transport.lose()
        await asyncio.sleep(STRANGER_SECONDS + 1)
        assert (socket.transport.aborted, socket.transport.closed_at) == (False, 0)

    in_simulated_time(test)
