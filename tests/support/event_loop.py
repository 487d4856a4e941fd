"""How long the event loop works without a pause, in processor time, so that a busy machine does not matter."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self


class LoopWork:
    """Measures the event loop inside a `with` block; `longest_seconds` is its longest stretch of work."""

    def __init__(self) -> None:
        self.longest_seconds = 0.0
        self._last = 0.0
        self._handle: asyncio.Handle | None = None

    def __enter__(self) -> Self:
        self._last = time.thread_time()
        self._measure()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle:
            self._handle.cancel()
        self._note()

    def _note(self) -> None:
        now = time.thread_time()
        self.longest_seconds = max(self.longest_seconds, now - self._last)
        self._last = now

    def _measure(self) -> None:
        self._note()
        self._handle = asyncio.get_running_loop().call_later(0.001, self._measure)
