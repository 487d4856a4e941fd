"""Bounds on connections that have become WebSockets.

uvicorn reads on while its client does not, and answers each ping into memory. So this is a subclass of its protocol. It
relies on the attributes `conn`, `writable`, `read_paused`, `close_sent` and `disconnected`, and overrides
`handle_ping`; `test_unread_pongs` fails if an upgrade of uvicorn changes them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from xapp_operator.gateway.http.audit import authenticated_group
from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits
from xapp_operator.gateway.http.connections.reading_time import ReadingTime


class BoundedWebSocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket. It is read only once it is accepted, and only while its client reads.

    Until then it counts as a connection that waits for its client. So it does at its end, until the client has read the
    rest.
    """

    _is_accepted = False

    def __init__(self, *arguments: Any, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limits = limits

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._reading_time = ReadingTime(self.transport, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._reading_time.end()
        self._limits.remove(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle frames, and answer all pings among them at once.

        A handshake that the library refuses is answered by `BoundedHttpProtocol`.
        """
        super().data_received(data)
        if not self._is_accepted or self.transport.is_closing():
            return
        if pongs := b"".join(self.conn.data_to_send()):
            self.transport.write(pongs)

    def handle_connect(self, event: Request) -> None:
        """Begin the request of the handshake; nothing more is read meanwhile."""
        super().handle_connect(event)
        self._update()

    def handle_ping(self) -> None:
        """Leave the pong to `data_received`."""

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        super().pause_writing()
        self._update()

    def resume_writing(self) -> None:
        """Note that the client has read everything."""
        super().resume_writing()
        self._update()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """Note the end of the request."""
        super().on_task_complete(task)
        self._update()

    async def receive(self) -> ASGIReceiveEvent:
        message = await super().receive()
        self._update_reading()
        return message

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.accept":
            self._is_accepted = True
        self._update()

    def _update(self) -> None:
        """Note whether a newer connection may displace this one, and how slowly its client may read."""
        if self.disconnected:
            return
        is_ending = self.close_sent or self.transport.is_closing()
        is_open, is_unread = self._is_accepted and not is_ending, not self.writable.is_set()
        group = authenticated_group(self.scope) if is_open else None
        if is_unread or is_ending:
            self._reading_time.limit(is_authenticated=group is not None)
        else:
            self._reading_time.end()
        if is_open and not is_unread:
            self._limits.set_busy(self.transport)
        else:
            unsent = self.transport.get_write_buffer_size()
            self._limits.set_waiting(self.transport, group=group, unsent_bytes=unsent)
        self._update_reading()

    def _update_reading(self) -> None:
        if self.transport.is_closing():
            return
        if self._is_accepted and self.writable.is_set() and not self.read_paused:
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()
