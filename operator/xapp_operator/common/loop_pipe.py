"""A pipe that belongs to a transport of the event loop, so that its descriptor is closed exactly once."""

from __future__ import annotations

import asyncio
import os
from typing import IO

import uvloop


class LoopPipe:
    """What `connect_read_pipe` and `connect_write_pipe` get instead of a file.

    uvloop closes the descriptor by its number, and calls `close` later. By then, another thread may have opened a file
    that got the same number, and a file object would close that. asyncio leaves it to `close`.
    """

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        self._descriptor = descriptor
        self._is_open = not isinstance(loop, uvloop.Loop)

    @classmethod
    def taken_from(cls, file: IO[bytes], loop: asyncio.AbstractEventLoop) -> LoopPipe:
        """Return the pipe of a file, which is closed."""
        with file:
            return cls(os.dup(file.fileno()), loop)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._descriptor)
