"""What the event loop works on, and how long without a pause: in processor time, as a busy machine does not matter."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self


@contextmanager
def calls_in_this_thread(package: str) -> Iterator[set[str]]:
    """Give the names of the functions of a package that this thread calls inside the `with` block."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and str(frame.f_globals.get("__name__")).startswith(f"{package}."):
            called.add(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)


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
