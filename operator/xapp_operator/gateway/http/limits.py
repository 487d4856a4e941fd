"""A bound on what lasts: so many streams, logs or proxied requests at a time, and a refusal for the next one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xapp_operator.errors import TooManyConcurrentRequests


class ConcurrencyLimit:
    """Places for so many at a time."""

    def __init__(self, limit: int, *, message: str) -> None:
        """Take how many there are, and what one is told for whom there is none: the bound and the mend."""
        self._limit = limit
        self._message = message
        self._in_use = 0

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Hold a place.

        Raises:
            TooManyAtOnce: when there is none.
        """
        if self._in_use >= self._limit:
            raise TooManyConcurrentRequests(self._message)
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1
