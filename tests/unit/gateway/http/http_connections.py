"""HTTP connections in memory, in simulated time: the gateway's protocol, a transport and a small application."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from tests.support.fakes.clock import FakeClock, FakeTimeLoop
from xapp_operator.gateway.http.audit import begin_notes
from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits
from xapp_operator.gateway.http.connections.http_connections import BoundedHttpProtocol
from xapp_operator.gateway.http.connections.websocket_connections import BoundedWebSocketProtocol

KEEP_ALIVE_SECONDS = 75


class MemoryTransport(asyncio.Transport):
    """One end of a connection; its client reads at once, unless `client_reads` is off.

    The loop tells the protocol of a lost connection when everything is read, as it does for a socket.
    """

    def __init__(self, protocol: asyncio.Protocol, address: str) -> None:
        super().__init__({"peername": (address, 40000), "sockname": ("127.0.0.1", 31315)})
        self.received = b""
        """What the client has read."""
        self.client_reads = True
        self.aborted = False
        self.closed_at: float | None = None
        """When the connection was lost, on the clock of the loop."""
        self.is_reading_paused = False
        self._loop = asyncio.get_running_loop()
        self._protocol: asyncio.BaseProtocol = protocol
        self._unread = b""
        self._high = 64 * 1024
        self._low = 16 * 1024
        self._write_paused = False
        self._closing = False
        self._lost = False
        self._held_back = b""
        protocol.connection_made(self)

    def send(self, data: bytes) -> None:
        """Send data as the client; the protocol gets it when it reads."""
        self._held_back += data
        self._deliver()

    def read(self, count: int | None = None) -> None:
        """Read as the client."""
        read, self._unread = (self._unread, b"") if count is None else (self._unread[:count], self._unread[count:])
        self.received += read
        self._after_read()

    def lose(self) -> None:
        """Close the connection as the client."""
        self._unread = b""
        self._closing = True
        self._lose()

    def _deliver(self) -> None:
        while self._held_back and not self.is_reading_paused and not self._closing:
            data, self._held_back = self._held_back, b""
            cast("asyncio.Protocol", self._protocol).data_received(data)

    def write(self, data: Any) -> None:
        if self._closing and not self._unread and self._lost:
            return
        self._unread += bytes(data)
        if self.client_reads:
            self.read()
        elif len(self._unread) > self._high and not self._write_paused:
            self._write_paused = True
            cast("asyncio.Protocol", self._protocol).pause_writing()

    def _after_read(self) -> None:
        if self._write_paused and len(self._unread) <= self._low:
            self._write_paused = False
            cast("asyncio.Protocol", self._protocol).resume_writing()
        if self._closing and not self._unread:
            self._lose()

    def _lose(self) -> None:
        if not self._lost:
            self._lost = True
            self._loop.call_soon(self._connection_lost)

    def _connection_lost(self) -> None:
        self.closed_at = round(self._loop.time(), 2)
        self._protocol.connection_lost(None)

    def close(self) -> None:
        self._closing = True
        if not self._unread:
            self._lose()

    def abort(self) -> None:
        self.aborted = True
        self._closing = True
        self._unread = b""
        self._lose()

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return len(self._unread)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        assert low is not None
        self._high, self._low = high, low

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False
        self._loop.call_soon(self._deliver)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol


class Caller:
    """A caller whom the cluster knows."""

    is_authenticated = True

    def __init__(self, user: str) -> None:
        self.user = user


class App:
    """An application whose paths say what it does.

    `/ok` responds, `/body` with the body as JSON text, `/wait` when `go` is set, and `/mute` never; `/large` with many
    bytes, `/endless` with as many and no end, `/size/7` with a body of 7 bytes. The header `x-user` authenticates. A
    WebSocket is refused on `/refused` and accepted elsewhere; it echoes, sends many bytes on `large`, and ends on
    `close`.
    """

    LARGE = 40 * 1024

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.disconnected: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        notes = begin_notes(scope)
        if user := headers.get("x-user"):
            notes.caller = Caller(user)
        self.paths.append(path)
        self.headers.append(headers)
        if scope["type"] == "websocket":
            await self._serve_websocket(path, receive, send)
            return
        answer = b"ok"
        if path == "/body":
            answer = await self._read(path, receive)
        elif path == "/wait":
            await self.go.wait()
        elif path == "/mute":
            while (await receive())["type"] != "http.disconnect":
                pass
            self.disconnected.append(path)
            return
        elif path.startswith("/size/"):
            answer = b"x" * int(path.removeprefix("/size/"))
        if path in {"/large", "/endless"}:
            await self._send_large(send, ends=path == "/large")
            return
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", str(len(answer)).encode())],
            }
        )
        if path == "/begun":
            await self.go.wait()
        await send({"type": "http.response.body", "body": answer, "more_body": False})

    async def _read(self, path: str, receive: Receive) -> bytes:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnected.append(path)
                return b""
            body += message["body"]
            if not message["more_body"]:
                return json.dumps(body.decode()).encode()

    async def _send_large(self, send: Send, *, ends: bool) -> None:
        length = str(self.LARGE).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": b"x" * self.LARGE, "more_body": not ends})
        if not ends:
            await self.go.wait()

    async def _serve_websocket(self, path: str, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "websocket.connect"
        if path == "/wait":
            await self.go.wait()
        if path == "/refused":
            await send({"type": "websocket.close"})
            return
        await send({"type": "websocket.accept"})
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                self.disconnected.append(path)
                return
            if message["text"] == "large":
                await send({"type": "websocket.send", "text": "x" * self.LARGE})
            elif message["text"] == "close":
                await send({"type": "websocket.close"})
                return
            else:
                await send({"type": "websocket.send", "text": message["text"]})


class HttpServer:
    """The connections of one server."""

    def __init__(self, *, total: int = 100) -> None:
        self.closed: list[str] = []
        """Why the limits closed a connection."""
        self.refused: list[tuple[str, int, str]] = []
        self.app = App()
        self.limits = ConnectionLimits(total=total, per_address=100, on_closed=self.closed.append)
        self.state = ServerState()
        self.config = uvicorn.Config(
            self.app,
            http=BoundedHttpProtocol,
            ws=cast("Any", partial(BoundedWebSocketProtocol, limits=self.limits)),
            ws_ping_interval=None,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )

    def connect(self, address: str = "192.0.2.1") -> MemoryTransport:
        """Open a connection as a client."""
        protocol = BoundedHttpProtocol(
            self.config,
            self.state,
            app_state={},
            limits=self.limits,
            on_refusal=lambda *refusal: self.refused.append(refusal),
        )
        return MemoryTransport(protocol, address)


def in_simulated_time(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test on a loop that never waits: its time jumps to the next timer."""
    with asyncio.Runner(loop_factory=lambda: FakeTimeLoop(FakeClock())) as runner:
        runner.run(test())


async def settle() -> None:
    """Let everything run that needs no time."""
    for _ in range(50):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object], *, seconds: float = 1000.0) -> float:
    """Wait in simulated time until a condition holds, and return how long that took, to a quarter of a second."""
    clock = asyncio.get_running_loop().time
    started = clock()
    await settle()
    while not condition():
        assert clock() - started < seconds, "the condition never held"
        await asyncio.sleep(0.25)
        await settle()
    return clock() - started


def now() -> float:
    """Return the simulated time."""
    return asyncio.get_running_loop().time()


def get(path: str, *headers: str, version: str = "1.1") -> bytes:
    """Return a request without a body."""
    return "\r\n".join([f"GET {path} HTTP/{version}", "Host: localhost", *headers, "\r\n"]).encode()


def post(path: str, *headers: str, body: bytes = b"") -> bytes:
    """Return a request with a body, perhaps only its begin: a header gives the length."""
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *headers, "\r\n"]).encode() + body


def responses(received: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    """Return status, headers and body of each whole response; each has a length."""
    found = []
    while received:
        head, separator, rest = received.partition(b"\r\n\r\n")
        assert separator, received
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = int(headers["content-length"])
        found.append((int(first.split()[1]), headers, rest[:length]))
        received = rest[length:]
    return found
