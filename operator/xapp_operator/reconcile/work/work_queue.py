"""A work queue of keys, as in client-go: each key is processed once at a time, and repeated adds collapse.

Namespaces take turns: a namespace with a thousand keys delays another by one of its keys, not by all of them. Failed
keys come back by `add_after`. The job chooses the delay, because it knows what failed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from xapp_operator.common.clock import SYSTEM_CLOCK, Clock
from xapp_operator.common.fair_slots import FairSlots

NamespacedName: TypeAlias = tuple[str, str]  # (namespace, name)


class WorkQueue:
    """Keys that wait to be processed by `Workers`. Belongs to one event loop and is not thread-safe."""

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._ready: dict[str, deque[NamespacedName]] = {}  # by namespace
        self._arrived: asyncio.Queue[str] = asyncio.Queue()  # namespaces that have ready keys since a moment ago
        self._queued: dict[NamespacedName, float] = {}  # the keys in `_ready`, and since when, in this order
        self._processing: set[NamespacedName] = set()
        self._dirty: set[NamespacedName] = set()  # added while being processed
        self._dirty_versions: dict[NamespacedName, int | None] = {}  # for a version of the object; None: for several
        self._delayed: dict[NamespacedName, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._queued) + len(self._dirty | self._dirty_versions.keys())

    @property
    def oldest_seconds(self) -> float:
        """Return for how long the key that has waited longest has waited; 0 if none waits.

        A key that was added while it is processed does not wait for others, and does not count.
        """
        since = next(iter(self._queued.values()), None)
        return 0.0 if since is None else self._clock.monotonic() - since

    def add(self, key: NamespacedName, *, version: int | None = None) -> None:
        """Queue `key`; while it is being processed, it is queued again afterwards.

        `version` says that the reason is this version of the object itself, which a job reads only when it begins.
        """
        if key in self._processing and version is not None:
            self._dirty_versions[key] = version if self._dirty_versions.get(key, version) == version else None
        elif key in self._processing:
            self._dirty.add(key)
        elif key not in self._queued:
            self._queued[key] = self._clock.monotonic()
            if key[0] not in self._ready:
                self._ready[key[0]] = deque()
                self._arrived.put_nowait(key[0])
            self._ready[key[0]].append(key)

    def look_again(self, key: NamespacedName) -> None:
        """Note that the job of `key` looks at everything but the object now: earlier changes are no reason any more."""
        self._dirty.discard(key)

    def take_back(self, key: NamespacedName, version: int) -> None:
        """Note that the job of `key` has written this version of the object itself, so that it is no reason."""
        if self._dirty_versions.get(key) == version:
            del self._dirty_versions[key]

    def add_after(self, key: NamespacedName, delay: float) -> None:
        """Queue `key` in `delay` seconds; of several delays of one key the earliest counts."""
        loop = asyncio.get_running_loop()
        at = loop.time() + delay
        known = self._delayed.get(key)
        if known is None or known.when() > at:
            self.cancel_delayed(key)
            self._delayed[key] = loop.call_at(at, self._add_delayed, key)

    def set_delay(self, key: NamespacedName, delay: float) -> None:
        """Queue `key` in `delay` seconds, and not at any time that was chosen before."""
        self.cancel_delayed(key)
        self.add_after(key, delay)

    def cancel_delayed(self, key: NamespacedName) -> None:
        if key in self._delayed:
            self._delayed.pop(key).cancel()

    async def next_namespace(self) -> str:
        """Wait for a namespace that has keys again; call `take` until it returns None."""
        return await self._arrived.get()

    def take(self, namespace: str) -> NamespacedName | None:
        """Return the next key of a namespace, or None without one; call `done` afterwards."""
        ready = self._ready[namespace]
        if not ready:
            del self._ready[namespace]
            return None
        key = ready.popleft()
        del self._queued[key]
        self._processing.add(key)
        return key

    def done(self, key: NamespacedName) -> None:
        """Mark the processing of `key` as finished; if it was added meanwhile, it is queued now."""
        self._processing.discard(key)
        if key in self._dirty or key in self._dirty_versions:
            self._dirty.discard(key)
            self._dirty_versions.pop(key, None)
            self.add(key)

    def _add_delayed(self, key: NamespacedName) -> None:
        del self._delayed[key]
        self.add(key)


class Workers:
    """Runs a job for every key of a queue, at most `count` at a time, shared fairly by namespace."""

    def __init__(self, queue: WorkQueue, *, count: int) -> None:
        self._queue = queue
        self._slots = FairSlots(count)
        self._working: set[NamespacedName] = set()
        self._paused: set[NamespacedName] = set()

    async def run(self, job: Callable[[NamespacedName], Awaitable[None]]) -> None:
        """Process keys for ever; a cancellation cancels the jobs. `job` must not raise an Exception."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                namespace = await self._queue.next_namespace()
                tasks.create_task(self._process_namespace(namespace, job, tasks), name=f"queue {namespace}")

    @asynccontextmanager
    async def pausing(self, key: NamespacedName) -> AsyncIterator[Callable[[], None]]:
        """Yield a function that lets others work while the job of `key` only waits, until the block ends.

        Any number of jobs can wait, so each must hold little memory until it has what it waits for.
        """
        try:
            yield lambda: self._pause(key)
        except Exception:
            await self._resume(key)
            raise
        await self._resume(key)

    def _pause(self, key: NamespacedName) -> None:
        if key in self._working:
            self._working.discard(key)
            self._paused.add(key)
            self._slots.release(key[0])

    async def _resume(self, key: NamespacedName) -> None:
        if key in self._paused:
            self._paused.discard(key)
            await self._slots.acquire(key[0])
            self._working.add(key)

    async def _process_namespace(
        self, namespace: str, job: Callable[[NamespacedName], Awaitable[None]], tasks: asyncio.TaskGroup
    ) -> None:
        while True:
            await self._slots.acquire(namespace)
            key = self._queue.take(namespace)
            if key is None:
                self._slots.release(namespace)
                return
            self._working.add(key)
            tasks.create_task(self._process(key, job), name=f"reconcile {key[0]}/{key[1]}")

    async def _process(self, key: NamespacedName, job: Callable[[NamespacedName], Awaitable[None]]) -> None:
        try:
            await job(key)
        finally:
            self._pause(key)
            self._paused.discard(key)
            self._queue.done(key)
