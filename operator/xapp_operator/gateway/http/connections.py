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

_HEAD_TOO_LARGE_DETAIL: Final = (
    f"the request line and the headers have more than {HEAD_MAX_BYTES:,} bytes, the most that is taken: send a shorter "
    "query, or fewer or smaller cookies and headers"
)
_HEAD_TOO_LARGE_PROBLEM: Final = orjson.dumps(
    {
        "type": "about:blank",
        "title": "Request Header Fields Too Large",
        "status": 431,
        "detail": _HEAD_TOO_LARGE_DETAIL,
        "instance": None,
        "errors": [],
    }
)
_HEAD_TOO_LARGE_RESPONSE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/problem+json\r\n"
    b"content-length: %d\r\n"
    b"connection: close\r\n\r\n%b" % (len(_HEAD_TOO_LARGE_PROBLEM), _HEAD_TOO_LARGE_PROBLEM)
)


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection; the parser's callbacks tell when something of use has come."""

    _head_bytes = 0
    _in_body = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and wait for the first head for so long."""
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._cancel_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and hang up on more than HEAD_MAX_BYTES in a row that are no body."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head_bytes > HEAD_MAX_BYTES:
            self._reject_large_head()
        elif not self._in_body and self._is_idle() and self.timeout_keep_alive_task is None:
            # Line breaks before a request begin none, and yet they have ended the wait for the next one.
            self._start_head_timer()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._start_head_timer()

    def on_headers_complete(self) -> None:
        """Serve the request."""
        self._head_bytes = 0
        self._in_body = True
        self._cancel_head_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._head_bytes = 0
        self._in_body = False
        super().on_message_complete()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._on_head_timeout)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        self._head_timer = None
        if self._is_idle():
            self.transport.close()
        else:  # half a request behind one that is being answered
            self._start_head_timer()

    def _reject_large_head(self) -> None:
        if self._is_idle():
            self.transport.write(_HEAD_TOO_LARGE_RESPONSE)
        self.transport.close()
