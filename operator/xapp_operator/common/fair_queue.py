"""A bounded queue whose keys take turns: a key whose items arrive too quickly delays and loses only its own."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """At most `capacity` items. Belongs to one event loop and is not thread-safe."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: dict[str, deque[T]] = {}  # by key, in the order of their turns; none is empty
        self._length = 0
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        return self._length

    def put(self, key: str, item: T) -> T | None:
        """Add `item`, and return what is dropped: nothing, or the newest item of the key that has the most.

        That is `item` itself if its key would have as many.
        """
        dropped: T | None = None
        if self._length == self._capacity:
            longest = max(self._items, key=lambda each: len(self._items[each]))
            if len(self._items.get(key, ())) + 1 >= len(self._items[longest]):
                return item
            dropped = self._items[longest].pop()
            self._length -= 1
        self._items.setdefault(key, deque()).append(item)
        self._length += 1
        self._arrived.set()
        return dropped

    async def get(self) -> T:
        """Wait for an item, and return the oldest one of the key whose turn it is."""
        while not self._length:
            self._arrived.clear()
            await self._arrived.wait()
        key = next(iter(self._items))
        items = self._items.pop(key)
        item = items.popleft()
        self._length -= 1
        if items:
            self._items[key] = items  # at the end: the next key comes first
        return item
