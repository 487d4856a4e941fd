"""Waits for a state that an event announces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


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
