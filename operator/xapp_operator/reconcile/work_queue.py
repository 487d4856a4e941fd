"""A work queue of keys, as in client-go: each key is processed once at a time, and repeated adds collapse.

Failed keys come back by `add_after`. The worker chooses the delay, because it knows what failed.
"""

from __future__ import annotations

import asyncio
from typing import TypeAlias

NamespacedName: TypeAlias = tuple[str, str]  # (namespace, name)


class WorkQueue:
    """Keys that wait for a worker. Belongs to one event loop and is not thread-safe."""

    def __init__(self) -> None:
        self._ready: asyncio.Queue[NamespacedName] = asyncio.Queue()
        self._queued: set[NamespacedName] = set()  # the keys in `_ready`
        self._processing: set[NamespacedName] = set()
        self._dirty: set[NamespacedName] = set()  # added while being processed
        self._delayed: dict[NamespacedName, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._queued) + len(self._dirty)

    def add(self, key: NamespacedName) -> None:
        """Queue `key`; while it is being processed, it is queued again afterwards."""
        if key in self._processing:
            self._dirty.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.put_nowait(key)

    def add_after(self, key: NamespacedName, delay: float) -> None:
        """Queue `key` in `delay` seconds; of several delays of one key the earliest counts."""
        loop = asyncio.get_running_loop()
        at = loop.time() + max(delay, 0.0)
        known = self._delayed.get(key)
        if known is None or known.when() > at:
            self.cancel_delayed(key)
            self._delayed[key] = loop.call_at(at, self._add_delayed, key)

    def cancel_delayed(self, key: NamespacedName) -> None:
        if key in self._delayed:
            self._delayed.pop(key).cancel()

    async def get(self) -> NamespacedName:
        """Wait for a key that is not being processed, and return it; call `done` afterwards."""
        key = await self._ready.get()
        self._queued.discard(key)
        self._processing.add(key)
        return key

    def done(self, key: NamespacedName) -> None:
        """Mark the processing of `key` as finished; if it was added meanwhile, it is queued now."""
        self._processing.discard(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self.add(key)

    def _add_delayed(self, key: NamespacedName) -> None:
        del self._delayed[key]
        self.add(key)
