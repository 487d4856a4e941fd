"""Connections of HTTPS, bounded from their first byte on: a TLS handshake takes memory, and anybody can leave it open.

A server of the event loop would call the HTTP protocol only after the handshake. So this wraps the event loop's own TLS
protocol, which the loop does not document. `test_slow_tls_handshakes` and `test_tls_connections` fail if an upgrade of
uvloop changes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ssl import SSLContext
from typing import Any, Final, cast

from uvloop.loop import SSLProtocol  # type: ignore[attr-defined]

from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits
from xapp_operator.gateway.http.connections.http_connections import HEAD_SECONDS, BoundedHttpProtocol
from xapp_operator.gateway.http.connections.reading_time import WRITE_SECONDS

HANDSHAKE_SECONDS: Final = HEAD_SECONDS
CLOSE_SECONDS: Final = HEAD_SECONDS
"""Time for a client to confirm the end of TLS, before its connection is closed without."""

READ_BYTES: Final = 16 * 1024
"""Encrypted bytes that are received at once. TLS keeps memory for as many until the end of the connection."""

UNLIMITED_BYTES: Final = 2**31 - 1
"""The largest number that the event loop takes as a limit."""


class _TlsTransport:
    """The transport of the HTTP inside TLS, whose flow is that of TCP.

    The event loop counts only what waits inside TLS. But a write of any size goes through it to TCP at once, and waits
    there for a client that does not read. And when a client has not confirmed the end in time, the event loop would
    abort the connection, and lose what is still on its way to a slow client; so this closes it instead.
    """

    def __init__(self, tls: asyncio.Transport, tcp: asyncio.Transport) -> None:
        self._tls = tls
        self._tcp = tcp
        tls.set_write_buffer_limits(high=UNLIMITED_BYTES)  # TCP alone tells the protocol inside when to pause

    def close(self) -> None:
        if not self._tls.is_closing():
            asyncio.get_running_loop().call_later(CLOSE_SECONDS, self._tcp.close)
        self._tls.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tls, name)

    def get_write_buffer_size(self) -> int:
        return self._tls.get_write_buffer_size() + self._tcp.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        self._tcp.set_write_buffer_limits(high=high, low=low)


class BoundedHttpsProtocol(BoundedHttpProtocol):
    """The HTTP inside TLS; from the end of the handshake on, it counts instead of the handshake."""

    end_handshake: Callable[[asyncio.Transport], asyncio.Transport]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(self.end_handshake(transport))


class BoundedTlsProtocol(asyncio.BufferedProtocol):
    """The TLS of one connection; it counts as a connection that waits for a request."""

    _connection: asyncio.Transport
    _is_admitted: bool
    _is_writing_paused = False
    _transport_inside: asyncio.Transport | None = None

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        http: BoundedHttpsProtocol,
        context: SSLContext,
        *,
        limits: ConnectionLimits,
    ) -> None:
        self._tls = SSLProtocol(
            loop,
            http,
            context,
            None,
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=WRITE_SECONDS,  # a last resort: _TlsTransport.close is earlier
        )
        self._limits = limits
        http.end_handshake = self._end_handshake

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._connection = transport
        peer = transport.get_extra_info("peername")
        self._is_admitted = self._limits.admit(transport, str(peer[0]) if peer else "")
        if self._is_admitted:
            self._tls.connection_made(transport)
        else:
            transport.abort()  # nothing can be answered before the handshake

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.remove(self._connection)
        self._transport_inside = None
        if self._is_admitted:
            self._tls.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where to put the next bytes: few, whatever the event loop suggests."""
        return cast("memoryview", self._tls.get_buffer(READ_BYTES)[:READ_BYTES])

    def buffer_updated(self, nbytes: int) -> None:
        self._tls.buffer_updated(nbytes)

    def eof_received(self) -> None:
        self._tls.eof_received()

    def pause_writing(self) -> None:
        """Tell the protocol inside that the client does not read."""
        self._is_writing_paused = True
        self._tls.pause_writing()
        if self._transport_inside is not None:
            cast("asyncio.Protocol", self._transport_inside.get_protocol()).pause_writing()

    def resume_writing(self) -> None:
        """Tell the protocol inside that the client has read everything, and what TLS held back meanwhile."""
        self._is_writing_paused = False
        self._tls.resume_writing()  # may pause again
        if self._transport_inside is not None and not self._is_writing_paused:
            cast("asyncio.Protocol", self._transport_inside.get_protocol()).resume_writing()

    def _end_handshake(self, transport: asyncio.Transport) -> asyncio.Transport:
        self._limits.remove(self._connection)
        cast("Any", transport).set_read_buffer_limits(high=1, low=0)  # nothing is received while some waits
        self._transport_inside = cast("asyncio.Transport", _TlsTransport(transport, self._connection))
        return self._transport_inside
