"""A stream that must not deliver more than a limit, such as the unpacked bytes of untrusted data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class ReadableStream(Protocol):
    """Anything with `read`; returns fewer than `size` bytes only at the end."""

    def read(self, size: int, /) -> bytes: ...


class BoundedStream:
    """Raises the exception from `error` as soon as `stream` delivers more than `max_bytes`."""

    def __init__(self, stream: ReadableStream, *, max_bytes: int, error: Callable[[], Exception]) -> None:
        self._stream = stream
        self._remaining = max_bytes
        self._error = error

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; a negative size means all."""
        data = self._stream.read(size if size >= 0 else self._remaining + 1)
        self._remaining -= len(data)
        if self._remaining < 0:
            raise self._error()
        return data
