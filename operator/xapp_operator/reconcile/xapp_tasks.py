"""Tasks of one XApp that run beside its reconcile: helm steps that can be interrupted, and slow lookups."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.reconcile.work_queue import NamespacedName

T = TypeVar("T")

OPERATIONS_MAX: Final = 32


class StepInterrupted(Exception):
    """The operator ended the helm step, because the XApp has a newer generation or is being deleted."""


class RunningSteps:
    """The helm steps that run now, at most one per XApp."""

    def __init__(self) -> None:
        self._tasks: dict[NamespacedName, asyncio.Task[Any]] = {}
        self._interrupted: set[NamespacedName] = set()

    def is_running(self, key: NamespacedName) -> bool:
        return key in self._tasks

    def interrupt(self, key: NamespacedName) -> None:
        """End the helm step of the XApp, if one runs; `run` then raises StepInterrupted."""
        task = self._tasks.get(key)
        if task is not None:
            self._interrupted.add(key)
            task.cancel()

    async def run(self, key: NamespacedName, step: Coroutine[Any, Any, T]) -> T:
        """Run `step` and return its result.

        Raises:
            StepInterrupted: when `interrupt` was called meanwhile.
        """
        task = asyncio.ensure_future(step)
        self._tasks[key] = task
        try:
            return await task
        except asyncio.CancelledError:
            if key in self._interrupted:
                raise StepInterrupted from None
            raise
        finally:
            self._interrupted.discard(key)
            del self._tasks[key]


@dataclass(frozen=True, slots=True)
class _PendingCall(Generic[T]):
    version: Hashable
    task: asyncio.Task[T]


class DeferredResolver(Generic[T]):
    """Runs at most one slow operation per key, so that a repository that hangs does not hold up other XApps.

    `on_done` is called with the key when an operation ends after its caller stopped waiting. At most OPERATIONS_MAX
    run, shared fairly by namespace, because each holds an XApp and perhaps its values.
    """

    def __init__(self, *, seconds: float, on_done: Callable[[NamespacedName], None]) -> None:
        """Wait at most `seconds` for a place, and as long for an operation."""
        self._seconds = seconds
        self._slots = FairSlots(OPERATIONS_MAX)
        self._on_done = on_done
        self._pending: dict[NamespacedName, _PendingCall[T]] = {}

    async def resolve(
        self, key: NamespacedName, operation: Callable[[], Coroutine[Any, Any, T]], *, version: Hashable
    ) -> T | None:
        """Return the result, or None when there is no place or it takes longer than `seconds`; a later call gets it.

        Args:
            key: the XApp.
            operation: called unless the same operation is still running; its exceptions are raised here.
            version: an operation with another version is cancelled and replaced.
        """
        call = self._pending.get(key)
        if call is None or call.version != version:
            self.cancel(key)
            try:
                async with asyncio.timeout(self._seconds):
                    await self._slots.acquire(key[0])
            except TimeoutError:
                return None
            task = asyncio.create_task(operation(), name=f"resolve {key}")
            task.add_done_callback(lambda _: self._slots.release(key[0]))
            call = self._pending[key] = _PendingCall(version, task)
            await asyncio.wait({call.task}, timeout=self._seconds)
            if not call.task.done():
                call.task.add_done_callback(lambda task: self._on_task_done(key, task))
        if not call.task.done():
            return None
        self._pending.pop(key, None)
        return call.task.result()

    def cancel(self, key: NamespacedName) -> None:
        call = self._pending.pop(key, None)
        if call is not None:
            call.task.cancel()

    async def stop(self) -> None:
        tasks = [call.task for call in self._pending.values()]
        for key in list(self._pending):
            self.cancel(key)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_task_done(self, key: NamespacedName, task: asyncio.Task[T]) -> None:
        if not task.cancelled():
            task.exception()  # marks it as retrieved: perhaps nobody asks for the result
            self._on_done(key)
