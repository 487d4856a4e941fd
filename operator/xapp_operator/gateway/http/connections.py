"""Bounds on the head of a request, in bytes and in time.

uvicorn bounds neither with its httptools protocol, and has no setting for it: anyone who can connect could fill the
memory with a head that never ends, or keep idle connections open. So this is a subclass of that protocol. It relies on
the attributes `cycle`, `transport`, `loop` and `timeout_keep_alive_task`; `test_connections` fails if an upgrade of
uvicorn changes them. Bodies are bounded where they are read (`bodies`, `proxy`).
"""

from __future__ import annotations

import asyncio
from typing import Final

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xapp_operator.gateway.http.problems import PROBLEM_HEADERS, PROBLEM_MEDIA_TYPE

HEAD_MAX_BYTES: Final = 64 * 1024
"""Maximum of everything but bodies: request line, headers, trailers, chunk extensions."""

HEAD_SECONDS: Final = 30.0
"""Time for a whole head, from the first byte of a request or from the opening of the connection."""

_DETAIL: Final = (
    f"the request line and the headers have more than {HEAD_MAX_BYTES:,} bytes, which is the maximum: send a shorter "
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
_HEADERS: Final = {
    "Content-Type": PROBLEM_MEDIA_TYPE,
    "Content-Length": str(len(_PROBLEM)),
    "Connection": "close",
    **PROBLEM_HEADERS,
}
_HEAD_TOO_LARGE_RESPONSE: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\n%b\r\n%b" % (
    "".join(f"{name}: {value}\r\n" for name, value in _HEADERS.items()).encode(),
    _PROBLEM,
)


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection; the parser calls its `on_` methods."""

    _head_bytes = 0
    _in_body = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; close the connection after more than HEAD_MAX_BYTES in a row outside bodies."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head_bytes > HEAD_MAX_BYTES:
            self._reject_large_head()
        elif not self._in_body and self._is_idle() and self.timeout_keep_alive_task is None:
            # Empty lines before a request have stopped the keep-alive timer, but have not begun a request.
            self._start_head_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._start_head_timer()

    def on_headers_complete(self) -> None:
        self._head_bytes = 0
        self._in_body = True
        self._cancel_head_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
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
        else:  # half a request behind one whose response is not complete
            self._start_head_timer()

    def _reject_large_head(self) -> None:
        if self._is_idle():
            self.transport.write(_HEAD_TOO_LARGE_RESPONSE)
        self.transport.close()
