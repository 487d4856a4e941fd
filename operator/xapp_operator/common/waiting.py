"""Waits for a state that an event announces, or until one ends the wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def wait_for_state(changed: asyncio.Event, is_reached: Callable[[], bool], *, seconds: float) -> bool:
    """Look whether a state is reached, now and whenever `changed` is set, for at most `seconds`.

    Returns:
        Whether it was reached.
    """
    try:
        async with asyncio.timeout(seconds):
            while not is_reached():
                await changed.wait()
                changed.clear()
    except TimeoutError:
        return False
    return True


async def run_unless_stopped(stop: asyncio.Event, step: Coroutine[Any, Any, object]) -> bool:
    """Await `step`, but cancel it when `stop` is set first.

    How it ends then does not matter, also if it ends at the same moment.

    Returns:
        Whether it finished before.
    """
    running = asyncio.ensure_future(step)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():
            return False
        running.result()
        return True
    finally:
        for task in (running, stopping):
            task.cancel()
        await asyncio.gather(running, stopping, return_exceptions=True)
