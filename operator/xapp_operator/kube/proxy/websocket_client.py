"""WebSocket connections to xApps, through the API server's service proxy or direct: no redirects, bounded messages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI

WEBSOCKET_MESSAGE_MAX_BYTES: Final = 4 * 1024 * 1024
QUEUED_FRAMES_MAX: Final = 4
PING_SECONDS: Final = 30.0
PONG_SECONDS: Final = 300.0
"""Generous, because a side that reads messages slowly also answers pings late."""
CLOSE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketRequest:
    """A WebSocket to open. `host` and `port` go into the Host header; `path` and `query` are already encoded.

    `address` is the destination of the connection if it differs; `tls` is None for a connection without TLS.
    """

    host: str
    port: int
    path: str
    query: str = ""
    address: tuple[str, int] | None = None
    tls: SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None
    headers: Sequence[tuple[str, str]] = field(default=(), repr=False)
    subprotocols: Sequence[str] = ()


class _BoundedConnection(ClientConnection):
    """A connection that is read only while the server reads: the library answers each ping into memory.

    It relies on `recv_messages` and `paused`; `test_unread_pongs` fails if an upgrade of the library changes them.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.recv_messages.resume = self._resume_reading

    def pause_writing(self) -> None:
        """Note that the server does not read."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Note that the server reads again."""
        super().resume_writing()
        self._resume_reading()

    def send_data(self) -> None:
        """Send what is due as one piece: a burst of pings would leave a piece for each."""
        if len(due := self.protocol.writes) > 1 and all(due):
            self.protocol.writes = [b"".join(due)]
        super().send_data()

    def _resume_reading(self) -> None:
        if not self.paused and not self.recv_messages.paused:
            self.transport.resume_reading()


class _NoRedirectConnect(connect):
    """A client that follows no redirects."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


async def open_websocket(request: WebSocketRequest, *, seconds: float) -> ClientConnection:
    """Return an open connection, which the caller must close.

    Raises:
        websockets.exceptions.InvalidStatus: when the server refuses the handshake.
        websockets.exceptions.WebSocketException, OSError, TimeoutError: when there is no WebSocket within `seconds`.
    """
    options: dict[str, Any] = {}
    if request.address is not None:
        options["host"], options["port"] = request.address
    if request.tls is not None:
        options["ssl"] = request.tls
        if request.server_hostname is not None:
            options["server_hostname"] = request.server_hostname
    scheme = "ws" if request.tls is None else "wss"
    connection = _NoRedirectConnect(
        f"{scheme}://xapp",
        additional_headers=list(request.headers),
        subprotocols=[Subprotocol(each) for each in request.subprotocols] or None,
        user_agent_header=None,
        compression=None,
        proxy=request.proxy,
        open_timeout=seconds,
        ping_interval=PING_SECONDS,
        ping_timeout=PONG_SECONDS,
        close_timeout=CLOSE_SECONDS,
        max_size=WEBSOCKET_MESSAGE_MAX_BYTES,
        max_queue=QUEUED_FRAMES_MAX,
        create_connection=_BoundedConnection,
        **options,
    )
    # Set directly, because parsing a URL would drop the part of a path after a semicolon.
    connection.ws_uri = WebSocketURI(request.tls is not None, request.host, request.port, request.path, request.query)
    return await connection
