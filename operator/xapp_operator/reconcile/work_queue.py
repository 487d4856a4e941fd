"""A work queue of keys, as in client-go: each key is processed once at a time, and repeated adds collapse.

Failed keys come back by `add_after`. The worker chooses the delay, because it knows what failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from dataclasses import dataclass, field
from typing import TypeAlias

NamespacedName: TypeAlias = tuple[str, str]  # (namespace, name)


@dataclass(order=True, slots=True)
class _Timer:
    due_at: float
    order: int
    key: NamespacedName = field(compare=False)


class WorkQueue:
    """Keys that wait for a worker. Belongs to one event loop and is not thread-safe."""

    def __init__(self) -> None:
        self._ready: dict[NamespacedName, None] = {}  # ordered set
        self._processing: set[NamespacedName] = set()
        self._dirty: set[NamespacedName] = set()  # added while being processed
        self._timers: list[_Timer] = []
        self._earliest: dict[NamespacedName, _Timer] = {}
        self._count = 0
        self._wakeup = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready) + len(self._dirty)

    def add(self, key: NamespacedName) -> None:
        """Queue `key`; while it is being processed, it is queued again afterwards."""
        if key in self._processing:
            self._dirty.add(key)
            return
        if key not in self._ready:
            self._ready[key] = None
            self._wakeup.set()

    def add_after(self, key: NamespacedName, delay: float) -> None:
        """Queue `key` in `delay` seconds; of several delays of one key the earliest counts."""
        at = asyncio.get_running_loop().time() + max(delay, 0.0)
        known = self._earliest.get(key)
        if known is not None and known.due_at <= at:
            return
        self._count += 1
        timer = _Timer(at, self._count, key)
        self._earliest[key] = timer
        heapq.heappush(self._timers, timer)
        self._wakeup.set()

    def cancel_delayed(self, key: NamespacedName) -> None:
        """Cancel the delayed add of `key`."""
        self._earliest.pop(key, None)

    async def get(self) -> NamespacedName:
        """Wait for a key that is not being processed, and return it; call `done` afterwards."""
        while True:
            self._add_due_keys()
            if self._ready:
                key = next(iter(self._ready))
                del self._ready[key]
                self._processing.add(key)
                if self._ready:
                    self._wakeup.set()
                return key
            self._wakeup.clear()
            await self._wait_for_next()

    def done(self, key: NamespacedName) -> None:
        """Mark the processing of `key` as finished; if it was added meanwhile, it is queued now."""
        self._processing.discard(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self.add(key)

    def _add_due_keys(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._timers and self._timers[0].due_at <= now:
            timer = heapq.heappop(self._timers)
            if self._earliest.get(timer.key) is timer:
                del self._earliest[timer.key]
                self.add(timer.key)

    async def _wait_for_next(self) -> None:
        if not self._timers:
            await self._wakeup.wait()
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._timers[0].due_at):
                await self._wakeup.wait()
