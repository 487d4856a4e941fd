"""What a connection may send before anybody knows what it asks for: bounded in bytes and in time.

The server under the gateway bounds neither: whoever can connect, signed in or not, could fill the memory with one head
that does not end, or hold any number of connections that say nothing. Lives in the gateway beside `server`, which
serves with it. Bodies are bounded by whoever reads them (`bodies`, `proxy.exchange`).
"""

from __future__ import annotations

import asyncio
from typing import Final

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_MAX_BYTES: Final = 64 * 1024
"""Of the first line and the headers, of trailers, of what stands beside the length of a chunk: of all but bodies."""

HEAD_SECONDS: Final = 30.0
"""From the first byte of a request, or from the opening of the connection, until its headers are complete."""

_DETAIL: Final = (
    f"the request line and the headers have more than {HEAD_MAX_BYTES:,} bytes, the most that is taken: send a shorter "
    "query, or fewer or smaller cookies and headers"
)
_PROBLEM: Final = orjson.dumps(
    {
        "type": "about:blank",
        "title": "Request Header Fields Too Large",
        "status": 431,
        "detail": _DETAIL,
        "instance": None,
        "errors": [],
    }
)
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/problem+json\r\n"
    b"content-length: %d\r\n"
    b"connection: close\r\n\r\n%b" % (len(_PROBLEM), _PROBLEM)
)


class BoundedHttp(HttpToolsProtocol):
    """One connection; the parser's callbacks tell when something of use has come."""

    _beside_bodies = 0
    _in_message = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and wait for the first head for so long."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop_expecting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and hang up on more than HEAD_MAX_BYTES in a row that are no body."""
        self._beside_bodies += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._beside_bodies > HEAD_MAX_BYTES:
            self._refuse()
        elif not self._in_message and self._is_idle() and self.timeout_keep_alive_task is None:
            # Line breaks before a request begin none, and yet they have ended the wait for the next one.
            self._expect_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        """Serve the request."""
        self._beside_bodies = 0
        self._in_message = True
        self._stop_expecting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._beside_bodies = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._beside_bodies = 0
        self._in_message = False
        super().on_message_complete()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _stop_expecting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_late(self) -> None:
        self._head_timer = None
        if self._is_idle():
            self.transport.close()
        else:  # half a request behind one that is being answered
            self._expect_head()

    def _refuse(self) -> None:
        if self._is_idle():
            self.transport.write(_TOO_LARGE)
        self.transport.close()
