"""Limits on concurrent requests that last: streams, logs, proxied requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xapp_operator.errors import TooManyConcurrentRequests


class ConcurrencyLimit:
    """Lets `limit` requests run at a time and refuses the next one."""

    def __init__(self, limit: int, *, message: str) -> None:
        """Set the limit; `message` names the limit and what a refused caller can do."""
        self._limit = limit
        self._message = message
        self._in_use = 0

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Count as running inside the block.

        Raises:
            TooManyConcurrentRequests: when the limit is reached.
        """
        if self._in_use >= self._limit:
            raise TooManyConcurrentRequests(self._message)
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1
