"""The keyed work queue behind all handlers: a key is worked on once at a time, and repeated adds collapse.

Lives in `reconcile` because the reconciler is its only worker. Failures come back by `add_after`; the delay itself is
decided by the reconciler, which knows what failed.
"""

from __future__ import annotations

import asyncio
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
    """Keys waiting for a worker; of one event loop, not safe for threads."""

    def __init__(self) -> None:
        self._ready: dict[NamespacedName, None] = {}  # ordered set
        self._active: set[NamespacedName] = set()
        self._again: set[NamespacedName] = set()  # added while being worked on
        self._timers: list[_Timer] = []
        self._earliest: dict[NamespacedName, _Timer] = {}
        self._count = 0
        self._wakeup = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready) + len(self._again)

    @property
    def active_count(self) -> int:
        """Return how many keys are being worked on."""
        return len(self._active)

    def add(self, key: NamespacedName) -> None:
        """Ask for `key` to be worked on as soon as a worker is free."""
        if key in self._active:
            self._again.add(key)
            return
        if key not in self._ready:
            self._ready[key] = None
            self._wakeup.set()

    def add_after(self, key: NamespacedName, delay: float) -> None:
        """Ask for `key` in `delay` seconds; of several delays of one key the earliest counts."""
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
        """Drop the delayed wish for `key`."""
        self._earliest.pop(key, None)

    async def get(self) -> NamespacedName:
        """Wait for a key that is due and not being worked on; give it back with `done`."""
        while True:
            self._add_due_keys()
            if self._ready:
                key = next(iter(self._ready))
                del self._ready[key]
                self._active.add(key)
                if self._ready:
                    self._wakeup.set()
                return key
            self._wakeup.clear()
            await self._wait_for_next()

    def done(self, key: NamespacedName) -> None:
        """Say that the work on `key` ended; wishes that came meanwhile count now."""
        self._active.discard(key)
        if key in self._again:
            self._again.discard(key)
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
        pause = self._timers[0].due_at - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(pause, 0.0)):
                await self._wakeup.wait()
        except TimeoutError:
            pass
