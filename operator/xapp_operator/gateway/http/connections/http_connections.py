"""Bounds on one connection: the size and time of a head, its number of headers, and pipelined requests.

uvicorn bounds none of them with its httptools protocol, and has no setting for it. So this is a subclass of that
protocol. It relies on the attributes `cycle`, `transport`, `loop`, `flow` and `pipeline`, and overrides
`send_400_response`, `handle_websocket_upgrade` and `_start_asgi_task`; `test_connections`,
`test_upgrades_without_an_answer` and `test_responses_that_nobody_reads` fail if an upgrade of uvicorn changes them.
Bodies are bounded where they are read (`bodies`, `proxy`); the number of connections is bounded by `connection_limits`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import orjson
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from websockets.exceptions import InvalidMessage

from xapp_operator.gateway.http.audit import authenticated_group
from xapp_operator.gateway.http.connections.connection_limits import ConnectionLimits
from xapp_operator.gateway.http.connections.reading_time import WRITE_BUFFER_BYTES, ReadingTime
from xapp_operator.gateway.http.connections.websocket_connections import BoundedWebSocketProtocol
from xapp_operator.gateway.http.responses.problems import PROBLEM_HEADERS, PROBLEM_MEDIA_TYPE

HEAD_MAX_BYTES: Final = 32 * 1024
"""Maximum of everything but bodies: request line, headers, trailers, chunk extensions."""

HEADERS_MAX: Final = 128
"""Maximum number of headers. In memory a short one takes twenty times the bytes that it has on the wire."""

HEAD_SECONDS: Final = 5.0
"""Time for a whole head, from the first byte of a request or from the opening of the connection."""

PIPELINED_REQUESTS_MAX: Final = 16
"""Requests of one connection that wait for the response to an earlier one."""

READ_BYTES: Final = 4 * 1024
"""Bytes that are parsed before the limits are checked again; a chunk extension can exceed its limit by as much."""


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
        **({"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}),
        **PROBLEM_HEADERS,
    }
    head = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*head, "\r\n"]).encode() + body


class _Refusal(NamedTuple):
    """Why a connection is closed without its request: `reason` is for the audit log."""

    status: HTTPStatus
    reason: str
    response: bytes

    @classmethod
    def of(cls, status: HTTPStatus, reason: str, detail: str) -> _Refusal:
        return cls(status, reason, _raw_problem(status, detail))


_NOT_HTTP: Final = _Refusal.of(
    HTTPStatus.BAD_REQUEST,
    "not-http",
    "this is not a valid HTTP/1.1 request: correct its request line and headers",
)
_UNKNOWN_TRANSFER_CODING: Final = _Refusal.of(
    HTTPStatus.BAD_REQUEST,
    "not-http",
    "the header Transfer-Encoding may only be chunked here (RFC 9112, 6.3): send that, or a Content-Length",
)
_HEAD_TOO_LARGE: Final = _Refusal.of(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "head-too-large",
    f"the request line and the headers have more than {HEAD_MAX_BYTES:,} bytes, or there are more than {HEADERS_MAX} "
    "headers, which is the maximum: send a shorter query, or fewer or smaller cookies and headers",
)
_INVALID_UPGRADE: Final = _Refusal.of(
    HTTPStatus.BAD_REQUEST,
    "websocket-handshake",
    "this is not a valid WebSocket handshake: send a GET of HTTP/1.1 without a body, after the response to any earlier "
    "request (RFC 6455, 4.1), or a request without the header Upgrade",
)
_UPGRADE_TOO_LARGE: Final = _Refusal.of(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "websocket-handshake",
    "a line of a WebSocket handshake may have 8,192 bytes: send a shorter query, or smaller cookies and headers",
)
_TOO_MANY_CONNECTIONS: Final = _Refusal.of(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "too-many-connections",
    "too many connections are open, in all or from your address (XAPP_CONNECTIONS, XAPP_CONNECTIONS_PER_ADDRESS): "
    "close some, or try again in a second",
)

OnRefusal: TypeAlias = Callable[[str, int, str], None]
"""Called for a request without a whole head: the client's address, the status (0: none was sent) and the reason."""


class _Refused(Exception):
    """Raised in a callback to stop the parser at once."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection; the parser calls its `on_` methods."""

    _head_bytes = 0
    _in_body = False
    _refusal = _NOT_HTTP
    _head_timer: asyncio.TimerHandle | None = None
    _running_cycle: RequestResponseCycle | None = None
    _deferred: tuple[RequestResponseCycle, ASGI3Application] | None = None
    """A request that begins when the client has read the response to an earlier one."""
    _complete_heads_bytes = 0
    """Size of heads whose requests wait for their bodies, or for the response to an earlier one."""

    def __init__(
        self, *arguments: Any, limits: ConnectionLimits, on_refusal: OnRefusal = lambda *_: None, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._limits = limits
        self._on_refusal = on_refusal

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._reading_time = ReadingTime(transport, self._abort)
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES, low=0)
        if self._limits.admit(transport, self._address):
            self._start_head_timer()
        else:
            self._refuse(_TOO_MANY_CONNECTIONS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        self._reading_time.end()
        self._limits.remove(self.transport)
        self._disconnect_requests()  # before the base class lets the running one write again
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; close the connection at the first limit that it exceeds."""
        for start in range(0, len(data), READ_BYTES):
            self._parse(data[start : start + READ_BYTES] if len(data) > READ_BYTES else data)
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return
        if self._in_body:
            self._update_limits()  # the client may have been authenticated meanwhile
        self._limits.set_request_bytes(self.transport, self._request_bytes())

    def _parse(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:  # it has become a WebSocket
            return
        if self._head_bytes > HEAD_MAX_BYTES:
            self._refuse(_HEAD_TOO_LARGE)
        elif not self._in_body and self._is_idle():
            # Empty lines before a request have stopped the keep-alive timer, but have not begun a request.
            self._start_head_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or what a callback has refused."""
        self._refuse(self._refusal)

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to a WebSocket; refuse a handshake that the WebSocket library cannot parse."""
        super().handle_websocket_upgrade()
        websocket = self.transport.get_protocol()
        if not isinstance(websocket, BoundedWebSocketProtocol):
            raise TypeError("the protocol of WebSockets is not bounded")
        self._cancel_head_timer()
        self._reading_time.end()
        if not websocket.handshake_initiated:  # the library itself would neither answer nor close
            error = websocket.conn.handshake_exc
            self._refuse(_INVALID_UPGRADE if isinstance(error, InvalidMessage) else _UPGRADE_TOO_LARGE)
        elif (status := websocket.response.status_code) != HTTPStatus.SWITCHING_PROTOCOLS:
            self._on_refusal(self._address, status, _INVALID_UPGRADE.reason)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED_REQUESTS_MAX:
            raise _Refused
        super().on_message_begin()
        self._start_head_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_body:
            return  # a trailer must not become a header, which a proxy in front would have checked
        super().on_header(name, value)
        if len(self.headers) > HEADERS_MAX:
            self._stop_parser(_HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD_MAX_BYTES:
            self._stop_parser(_HEAD_TOO_LARGE)
        self._complete_heads_bytes += self._head_bytes
        self._head_bytes = 0
        self._check_transfer_encoding()
        if self.parser.should_upgrade() and self._should_upgrade():
            self._check_upgrade()
            super().on_headers_complete()
            return  # the time of the head runs on until the WebSocket is open
        self._in_body = True
        self._cancel_head_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_chunk_header(self) -> None:
        if self._head_bytes > HEAD_MAX_BYTES:
            self._stop_parser(_HEAD_TOO_LARGE)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        self._in_body = False
        super().on_message_complete()
        self._update_limits()

    def on_response_complete(self) -> None:
        if self._running_cycle is not None:
            self._running_cycle.body.clear()  # nobody reads the rest, and the connection may stay open
        super().on_response_complete()
        self._update_limits()
        if self._complete_heads_bytes:
            self._limits.set_request_bytes(self.transport, self._request_bytes())

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        super().timeout_keep_alive_handler()
        self._update_limits()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self.flow.write_paused:  # its response would only wait in memory
            self._deferred = cycle, app
            return
        self._running_cycle = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        super().pause_writing()
        self._update_limits()

    def resume_writing(self) -> None:
        """Note that the client has read everything."""
        super().resume_writing()
        if self._deferred is not None and not self.transport.is_closing():
            (cycle, app), self._deferred = self._deferred, None
            self._start_asgi_task(cycle, app)
        self._update_limits()

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _stop_parser(self, refusal: _Refusal) -> NoReturn:
        self._refusal = refusal
        raise _Refused

    def _check_transfer_encoding(self) -> None:
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):
            self._stop_parser(_UNKNOWN_TRANSFER_CODING)

    def _check_upgrade(self) -> None:
        has_body = any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        )
        is_get = self.parser.get_method() == b"GET" and self.parser.get_http_version() == "1.1"
        if has_body or not is_get or not self._is_idle() or self.flow.write_paused:
            self._stop_parser(_INVALID_UPGRADE)

    def _refuse(self, refusal: _Refusal) -> None:
        if can_answer := self._can_answer():
            self.transport.write(refusal.response)
        self._close()
        self._on_refusal(self._address, refusal.status if can_answer else 0, refusal.reason)

    def _can_answer(self) -> bool:
        """Return whether a response would not look like the response to an earlier request."""
        is_current = self._in_body and self.cycle is self._running_cycle
        return self._is_idle() or (is_current and not self.cycle.response_started)

    def _close(self) -> None:
        self._disconnect_requests()
        self.transport.close()
        self._update_limits()  # it stays open as long as the client does not read

    def _abort(self) -> None:
        self._disconnect_requests()
        self.transport.abort()

    def _disconnect_requests(self) -> None:
        """End the running request and forget those behind it; they would write to the closed transport."""
        self.pipeline.clear()
        self._deferred = None
        if self._running_cycle is not None:
            self._running_cycle.disconnected = True
            self._running_cycle.message_event.set()

    def _update_limits(self) -> None:
        """Note whether a newer connection may displace this one, because it waits for its client."""
        if self.flow.write_paused or self.transport.is_closing():
            group = self._group()
            self._reading_time.limit(is_authenticated=group is not None)
            unsent = self.transport.get_write_buffer_size()
            self._limits.set_waiting(self.transport, group=group, unsent_bytes=unsent)
            return
        self._reading_time.end()
        if self._is_idle():
            self._limits.set_waiting(self.transport)
        elif self._in_body and self.cycle is self._running_cycle and not self.flow.read_paused:
            self._limits.set_waiting(self.transport, group=self._group())
        else:
            self._limits.set_busy(self.transport)

    def _group(self) -> str | None:
        """Return whose share the caller takes; None for strangers."""
        return None if self._running_cycle is None else authenticated_group(self._running_cycle.scope)

    def _request_bytes(self) -> int:
        """Return the size of what is in memory of requests, except of one that is being served or an upload."""
        if not self.pipeline and self._deferred is None and not (self._in_body and self._group() is None):
            self._complete_heads_bytes = 0
        if not self._in_body:
            return self._complete_heads_bytes + self._head_bytes
        return self._complete_heads_bytes + len(self.cycle.body) if self._complete_heads_bytes else 0

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
            self._close()
        else:  # part of a pipelined request, sent before the earlier response is complete
            self._start_head_timer()
