"""How slowly a client may read: a connection that is not read keeps its place and its unsent bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

WRITE_BUFFER_BYTES: Final = 4 * 1024
"""Unsent bytes up to which a connection counts as read. They are few, because nobody counts them."""

READ_MIN_BYTES: Final = 16 * 1024
"""What a client must read in each period, unless less is left."""

WRITE_SECONDS: Final = 300.0
"""The period of an authenticated caller."""

UNAUTHENTICATED_WRITE_SECONDS: Final = 15.0
"""The period of any other client, and of a connection that is only open until its client has read the rest."""


class ReadingTime:
    """The time of one connection."""

    _seconds: float
    """The period of the timer."""

    def __init__(self, transport: asyncio.Transport, abort: Callable[[], None]) -> None:
        """Prepare; `abort` ends the connection."""
        self._transport = transport
        self._abort = abort
        self._timer: asyncio.TimerHandle | None = None

    def limit(self, *, is_authenticated: bool) -> None:
        """Begin a period, unless one has begun already."""
        seconds = WRITE_SECONDS if is_authenticated else UNAUTHENTICATED_WRITE_SECONDS
        if self._timer is None or self._seconds != seconds:
            self.end()
            self._seconds = seconds
            self._begin()

    def end(self) -> None:
        """Note that the client has read everything, or that the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> None:
        unsent = self._transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._on_timeout, unsent)

    def _on_timeout(self, unsent: int) -> None:
        self._timer = None
        if self._transport.get_write_buffer_size() <= unsent - READ_MIN_BYTES:
            self._begin()
        else:
            self._abort()
