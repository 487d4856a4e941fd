"""Slots for work that lasts, shared fairly between keys: a namespace in the operator, a caller in the gateway."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

RESERVED_SLOTS: Final = 2
"""Slots that one key alone never gets."""


class NoFreeSlot(Exception):
    """All slots are taken, or all that one key can have."""


class FairSlots:
    """At most `capacity` slots, of which one key gets at most `per_key`; `reserved` ones are for keys that hold none.

    A free slot goes to the waiting key that holds the fewest; of two such keys, to the one that waits longer. An object
    belongs to one event loop and is not thread-safe.
    """

    def __init__(
        self,
        capacity: int,
        *,
        per_key: int | None = None,
        reserved: int = 0,
        held_elsewhere: Callable[[str], int] | None = None,
    ) -> None:
        """Without `per_key`, one key gets all but RESERVED_SLOTS, and at least one.

        `held_elsewhere` returns what a key holds besides; it counts when a free slot goes to the key with the fewest.
        """
        self._capacity = capacity
        self._per_key = per_key if per_key is not None else max(1, capacity - RESERVED_SLOTS)
        self._reserved = reserved
        self._held_elsewhere = held_elsewhere
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # in the order in which the keys began to wait

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def in_use(self) -> int:
        return self._held.total()

    def held_by(self, key: str) -> int:
        return self._held[key]

    def at_limit(self, key: str) -> bool:
        """Return whether `key` has all the slots that one key can have."""
        return self._held[key] >= self._per_key

    def is_free(self, key: str) -> bool:
        """Return whether `key` would get a slot now."""
        capacity = self._capacity - (self._reserved if self._held[key] else 0)
        return self.in_use < capacity and not self.at_limit(key)

    @asynccontextmanager
    async def slot(self, key: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it inside the block."""
        await self.acquire(key)
        try:
            yield
        finally:
            self.release(key)

    @contextmanager
    def slot_now(self, key: str) -> Iterator[None]:
        """Hold a slot inside the block.

        Raises:
            NoFreeSlot: when none is free for `key` now.
        """
        if not self.is_free(key):
            raise NoFreeSlot
        self._held[key] += 1
        try:
            yield
        finally:
            self.release(key)

    def acquire_now(self, key: str) -> bool:
        """Take a slot, if one is free for `key` and `key` does not wait for one already; return whether it has one."""
        if not self.is_free(key) or key in self._waiting:
            return False
        self._held[key] += 1
        return True

    async def acquire(self, key: str) -> None:
        """Wait for a slot; call `release` afterwards."""
        if self.acquire_now(key):
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release(key)  # granted and cancelled in the same turn of the event loop
            else:
                self._remove_waiter(key, granted)
            raise

    def release(self, key: str) -> None:
        """Return a slot of `key`."""
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]
        self._grant()

    def _grant(self) -> None:
        while candidates := [key for key in self._waiting if self.is_free(key)]:
            key = min(candidates, key=self._held_in_all)  # min() keeps the first of equals
            waiters = self._waiting.pop(key)
            granted = waiters.popleft()
            if waiters:
                self._waiting[key] = waiters  # at the end: the next key comes first
            if not granted.done():  # cancelled, and its waiter has not been told yet
                self._held[key] += 1
                granted.set_result(None)

    def _held_in_all(self, key: str) -> int:
        return self._held[key] + (self._held_elsewhere(key) if self._held_elsewhere else 0)

    def _remove_waiter(self, key: str, waiter: asyncio.Future[None]) -> None:
        waiters = self._waiting.get(key, deque())
        with suppress(ValueError):  # `_grant` has removed it
            waiters.remove(waiter)
        if not waiters:
            self._waiting.pop(key, None)
