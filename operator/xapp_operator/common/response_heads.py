"""Bounds on the head of a response: its size, and the number of informational responses before it.

aiohttp bounds neither. An xApp or a repository could answer `100 Continue` without end, each of which costs time on the
event loop. The library has no option for this, so this replaces the protocol that its connector creates;
`test_endless_responses` fails if an upgrade of aiohttp changes that.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

RESPONSE_HEAD_MAX_BYTES: Final = 64 * 1024
"""Maximum of all bytes before the body, those of informational responses included."""
INFORMATIONAL_RESPONSES_MAX: Final = 8
READ_BYTES: Final = 4096
"""Bytes that are parsed before the limits are checked again, until the head is complete."""

_INFORMATIONAL_STATUSES: Final = frozenset(range(100, 200)) - {101}


def bound_response_heads(connector: aiohttp.TCPConnector) -> aiohttp.TCPConnector:
    """Return the connector, whose new connections have these bounds."""
    connector._factory = cast(
        "partial[ResponseHandler]", partial(BoundedResponseHandler, loop=asyncio.get_running_loop())
    )
    return connector


class BoundedResponseHandler(ResponseHandler):
    """One connection to a server."""

    _head_bytes = 0
    _informational = 0
    _head_is_complete = False

    def set_response_params(self, **options: Any) -> None:
        """Expect the response to a new request."""
        self._head_bytes = self._informational = 0
        self._head_is_complete = False
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        """Parse data; abort the connection at the first limit that it exceeds."""
        start = 0
        while not self._head_is_complete and start < len(data):
            piece = data[start : start + READ_BYTES]
            start += len(piece)
            self._head_bytes += len(piece)
            super().data_received(piece)
            if not self._head_is_complete and self._head_bytes > RESPONSE_HEAD_MAX_BYTES:
                self._reject(f"the head of the response has more than {RESPONSE_HEAD_MAX_BYTES} bytes")
            if self.transport is None or self.transport.is_closing():
                return
        if start < len(data) or not data:
            super().data_received(data[start:])

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Pass a response on; informational ones are only counted, because no request waits for them."""
        if data[0].code not in _INFORMATIONAL_STATUSES:
            self._head_is_complete = True
            super().feed_data(data, size)
            return
        self._informational += 1
        if self._informational == INFORMATIONAL_RESPONSES_MAX + 1:
            self._reject(f"there are more than {INFORMATIONAL_RESPONSES_MAX} informational responses")

    def _reject(self, message: str) -> None:
        self.set_exception(HttpProcessingError(message=message))
        if self.transport is not None:
            self.transport.abort()
