"""Tasks of one XApp that run beside its reconcile: helm steps that can be interrupted, and slow lookups."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.reconcile.work.work_queue import NamespacedName

T = TypeVar("T")

OPERATIONS_MAX: Final = 32
TURN_SECONDS: Final = 60.0
"""How long a place is kept for an XApp that no longer asks for it."""


class StepInterrupted(Exception):
    """The operator ended the helm step, because the XApp has a newer generation or is being deleted."""


class RunningSteps:
    """The helm steps that run now, at most one per XApp."""

    def __init__(self) -> None:
        self._tasks: dict[NamespacedName, asyncio.Task[Any]] = {}
        self._versions: dict[NamespacedName, Hashable] = {}
        self._interrupted: set[NamespacedName] = set()

    def interrupt_outdated(self, key: NamespacedName, *, version: Hashable) -> None:
        """End the helm step of the XApp if it runs for another version; `run` then raises StepInterrupted.

        A step is interrupted once, whatever comes while it ends: a second cancellation would kill helm at once.
        """
        task = self._tasks.get(key)
        if task is not None and key not in self._interrupted and self._versions[key] != version:
            self._interrupted.add(key)
            task.cancel()

    async def run(self, key: NamespacedName, step: Coroutine[Any, Any, T], *, version: Hashable) -> T:
        """Run `step`, which is for this version of the XApp, and return its result.

        Raises:
            StepInterrupted: when the step was cancelled, as by `interrupt_outdated`, and the caller was not.
        """
        task = asyncio.ensure_future(step)
        self._tasks[key], self._versions[key] = task, version
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is None or caller.cancelling():
                raise
            raise StepInterrupted from None
        finally:
            self._interrupted.discard(key)
            del self._tasks[key], self._versions[key]


@dataclass(frozen=True, slots=True)
class _PendingCall(Generic[T]):
    version: Hashable
    task: asyncio.Task[T]


@dataclass(frozen=True, slots=True)
class _Turn:
    """The place of an operation that has not begun, or the wait for it."""

    slots: FairSlots
    granted: asyncio.Task[None]


class DeferredResolver(Generic[T]):
    """Runs at most one slow operation per key, so that a repository that hangs does not hold up other XApps.

    `on_done` is called with the key when an operation ends after its caller stopped waiting, and when an operation that
    had no place gets one. At most `places` run, and one namespace gets a quarter of them, because each holds an
    XApp and perhaps its values. Operations that download nothing have as many places of their own: a repository that
    hangs does not hold them.
    """

    def __init__(self, *, seconds: float, on_done: Callable[[NamespacedName], None], places: int | None = None) -> None:
        """Wait at most `seconds` for an operation. Without `places`, there are OPERATIONS_MAX."""
        self._seconds = seconds
        places = OPERATIONS_MAX if places is None else places
        share = max(1, places // 4)
        self._slots = {downloads: FairSlots(places, per_key=share) for downloads in (True, False)}
        self._on_done = on_done
        self._pending: dict[NamespacedName, _PendingCall[T]] = {}
        self._turns: dict[NamespacedName, _Turn] = {}

    async def resolve(
        self,
        key: NamespacedName,
        operation: Callable[[], Coroutine[Any, Any, T]],
        *,
        version: Hashable,
        downloads: bool = True,
    ) -> T | None:
        """Return the result, or None when there is no place or it takes longer than `seconds`; a later call gets it.

        Args:
            key: the XApp. It keeps its turn for a place until a later call uses it.
            operation: called unless the same operation is still running; its exceptions are raised here.
            version: an operation with another version is cancelled and replaced.
            downloads: whether the operation may wait for a repository.
        """
        call = self._pending.get(key)
        if call is None or call.version != version:
            self.cancel(key)
            slots = self._slots[downloads]
            if not await self._take_turn(key, slots):
                return None
            task = asyncio.create_task(operation(), name=f"resolve {key}")
            task.add_done_callback(lambda _: slots.release(key[0]))
            call = self._pending[key] = _PendingCall(version, task)
            await asyncio.wait({call.task}, timeout=self._seconds)
            if not call.task.done():
                call.task.add_done_callback(lambda task: self._on_task_done(key, task))
        if not call.task.done():
            return None
        self._pending.pop(key, None)
        return call.task.result()

    def is_running(self, key: NamespacedName) -> bool:
        """Return whether the operation has a place and has not ended."""
        call = self._pending.get(key)
        return call is not None and not call.task.done()

    def cancel(self, key: NamespacedName) -> None:
        """End the operation; a turn for the next one is kept."""
        call = self._pending.pop(key, None)
        if call is not None:
            call.task.cancel()

    def forget(self, key: NamespacedName) -> None:
        """End the operation and give the turn back."""
        self.cancel(key)
        self._drop_turn(key)

    async def _take_turn(self, key: NamespacedName, slots: FairSlots) -> bool:
        """Return whether `key` has a place now; otherwise `on_done` is called when it gets one."""
        turn = self._turns.get(key)
        if turn is None and slots.acquire_now(key[0]):
            return True
        if turn is None or turn.slots is not slots:
            self._drop_turn(key)
            turn = _Turn(slots, asyncio.create_task(slots.acquire(key[0]), name=f"place {key}"))
            self._turns[key] = turn
            await asyncio.sleep(0)  # until `acquire` has taken a free place or waits
            if not turn.granted.done():
                turn.granted.add_done_callback(lambda _: self._on_granted(key, turn))
        if not turn.granted.done() or self._turns.get(key) is not turn:
            return False
        del self._turns[key]
        return True

    def _on_granted(self, key: NamespacedName, turn: _Turn) -> None:
        if self._turns.get(key) is turn:
            asyncio.get_running_loop().call_later(TURN_SECONDS, self._drop_turn, key, turn)
            self._on_done(key)

    def _drop_turn(self, key: NamespacedName, expired: _Turn | None = None) -> None:
        turn = self._turns.get(key)
        if turn is None or expired not in (None, turn):
            return
        del self._turns[key]
        if turn.granted.done():
            turn.slots.release(key[0])
        else:
            turn.granted.cancel()

    async def stop(self) -> None:
        tasks: list[asyncio.Task[Any]] = [call.task for call in self._pending.values()]
        tasks += [turn.granted for turn in self._turns.values()]
        for key in [*self._pending, *self._turns]:
            self.forget(key)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_task_done(self, key: NamespacedName, task: asyncio.Task[T]) -> None:
        if not task.cancelled():
            task.exception()  # marks it as retrieved: perhaps nobody asks for the result
            self._on_done(key)
