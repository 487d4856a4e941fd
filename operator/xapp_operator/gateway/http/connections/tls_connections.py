"""Connections of HTTPS, bounded from their first byte on: a TLS handshake takes memory, and anybody can leave it open.

A server of the event loop would call the HTTP protocol only after the handshake. So this is a subclass of the event
loop's own TLS protocol, which the loop does not document. `test_slow_tls_handshakes` fails if an upgrade of uvloop
changes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ssl import SSLContext
from typing import Final

from uvloop.loop import SSLProtocol  # type: ignore[attr-defined]

from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits
from xapp_operator.gateway.http.connections.http_connections import HEAD_SECONDS, BoundedHttpProtocol
from xapp_operator.gateway.http.connections.reading_time import WRITE_BUFFER_BYTES

HANDSHAKE_SECONDS: Final = HEAD_SECONDS
CLOSE_SECONDS: Final = HEAD_SECONDS
"""Time for a client to confirm the end of TLS, before its connection is aborted."""


class BoundedHttpsProtocol(BoundedHttpProtocol):
    """The HTTP inside TLS; from the end of the handshake on, it counts instead of the handshake."""

    end_handshake: Callable[[], None]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.end_handshake()
        super().connection_made(transport)


class BoundedTlsProtocol(SSLProtocol):  # type: ignore[misc]
    """The TLS of one connection; it counts as a connection that waits for a request."""

    _connection: asyncio.Transport
    _is_admitted: bool

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        http: BoundedHttpsProtocol,
        context: SSLContext,
        *,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(
            loop,
            http,
            context,
            None,
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=CLOSE_SECONDS,
        )
        self._limits = limits
        http.end_handshake = self._stop_counting

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._connection = transport
        peer = transport.get_extra_info("peername")
        self._is_admitted = self._limits.admit(transport, str(peer[0]) if peer else "")
        if self._is_admitted:
            transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES, low=0)
            super().connection_made(transport)
        else:
            transport.abort()  # nothing can be answered before the handshake

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_counting()
        if self._is_admitted:
            super().connection_lost(exc)

    def _stop_counting(self) -> None:
        self._limits.remove(self._connection)
