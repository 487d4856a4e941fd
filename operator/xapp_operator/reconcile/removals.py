"""Which XApps are being removed, so that the delete handler can wait until nothing is left of one."""

from __future__ import annotations

import asyncio
import contextlib


class Removals:
    """Removals of XApps by their uids."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}

    def is_done(self, uid: str) -> bool:
        """Return whether nothing is left to remove."""
        event = self._events.get(uid)
        return event is not None and event.is_set()

    def set_done(self, uid: str) -> None:
        self._events.setdefault(uid, asyncio.Event()).set()

    async def wait(self, uid: str, *, seconds: float) -> bool:
        """Return whether nothing is left to remove, waiting at most `seconds` for it."""
        event = self._events.setdefault(uid, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
        return event.is_set()

    def forget(self, uid: str) -> None:
        """Forget an XApp that is gone, or whose name another one has now."""
        self._events.pop(uid, None)
