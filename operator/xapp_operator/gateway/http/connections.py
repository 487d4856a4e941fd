"""Bounds on the head of a request, in bytes and in time.

uvicorn bounds neither with its httptools protocol, and has no setting for it: anyone who can connect could fill the
memory with a head that never ends, or keep idle connections open. So this is a subclass of that protocol. It relies on
the attributes `cycle`, `transport`, `loop` and `timeout_keep_alive_task`, and overrides `send_400_response`;
`test_connections` fails if an upgrade of
uvicorn changes them. Bodies are bounded where they are read (`bodies`, `proxy`).
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xapp_operator.gateway.http.problems import PROBLEM_HEADERS, PROBLEM_MEDIA_TYPE

HEAD_MAX_BYTES: Final = 64 * 1024
"""Maximum of everything but bodies: request line, headers, trailers, chunk extensions."""

HEAD_SECONDS: Final = 30.0
"""Time for a whole head, from the first byte of a request or from the opening of the connection."""


def _raw_problem(status: HTTPStatus, detail: str) -> bytes:
    """Return a whole response, for a request that never became one and so has no path."""
    body = orjson.dumps(
        {
            "type": "about:blank",
            "title": status.phrase,
            "status": status,
            "detail": detail,
            "instance": None,
            "errors": [],
        }
    )
    headers = {
        "Content-Type": PROBLEM_MEDIA_TYPE,
        "Content-Length": str(len(body)),
        "Connection": "close",
        **PROBLEM_HEADERS,
    }
    head = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*head, "\r\n"]).encode() + body


_NOT_HTTP_RESPONSE: Final = _raw_problem(
    HTTPStatus.BAD_REQUEST, "this is not a valid HTTP/1.1 request: correct its request line and headers"
)
_HEAD_TOO_LARGE_RESPONSE: Final = _raw_problem(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"the request line and the headers have more than {HEAD_MAX_BYTES:,} bytes, which is the maximum: send a shorter "
    "query, or fewer or smaller cookies and headers",
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

    def send_400_response(self, msg: str) -> None:
        """Reject what is not HTTP."""
        self.transport.write(_NOT_HTTP_RESPONSE)
        self.transport.close()

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
        else:  # part of a pipelined request, sent before the earlier response is complete
            self._start_head_timer()

    def _reject_large_head(self) -> None:
        if self._is_idle():
            self.transport.write(_HEAD_TOO_LARGE_RESPONSE)
        self.transport.close()
