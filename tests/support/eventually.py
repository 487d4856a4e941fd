"""Waiting in async tests: for a condition, with a deadline, without fixed sleeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

SECONDS = 60.0


async def eventually(probe: Callable[[], T | None], *, what: str, seconds: float = SECONDS) -> T:
    """Return what `probe` gives as soon as it is true; fail naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (found := probe()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        await asyncio.sleep(0.01)
    return found


async def eventually_async(probe: Callable[[], Awaitable[T | None]], *, what: str, seconds: float = SECONDS) -> T:
    """Like `eventually`, with a probe that is awaited."""
    deadline = time.monotonic() + seconds
    while not (found := await probe()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        await asyncio.sleep(0.05)
    return found
