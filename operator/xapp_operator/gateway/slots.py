"""A bound on what lasts: so many streams, logs or proxied requests at a time, and a refusal for the next one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xapp_operator.errors import TooManyAtOnce


class Slots:
    """Places for so many at a time."""

    def __init__(self, most: int, *, refusal: str) -> None:
        """Take how many there are, and what one is told for whom there is none: the bound and the mend."""
        self._most = most
        self._refusal = refusal
        self._taken = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place.

        Raises:
            TooManyAtOnce: when there is none.
        """
        if self._taken >= self._most:
            raise TooManyAtOnce(self._refusal)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
