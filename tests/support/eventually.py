"""Waits for a condition in async tests, with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

SECONDS = 60.0


async def eventually(probe: Callable[[], T | None], *, what: str, seconds: float = SECONDS) -> T:
    """Return the first true result of `probe`. Fails after `seconds`, with `what` in the message."""
    deadline = time.monotonic() + seconds
    while not (found := probe()):
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out after {seconds:g} s while waiting for {what}")
        await asyncio.sleep(0.01)
    return found


async def eventually_async(probe: Callable[[], Awaitable[T | None]], *, what: str, seconds: float = SECONDS) -> T:
    """Like `eventually`, with an async probe."""
    deadline = time.monotonic() + seconds
    while not (found := await probe()):
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out after {seconds:g} s while waiting for {what}")
        await asyncio.sleep(0.05)
    return found
