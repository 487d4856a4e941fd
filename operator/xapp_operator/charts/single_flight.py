"""Single flight: the same thing asked for by many at once is done once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    sequence_number: int
    task: asyncio.Task[T]


class SingleFlight(Generic[K, T]):
    """Runs one task a key at a time and gives its outcome to all who wait for it.

    A waiter that is cancelled leaves the task running for the others, so the work must bound its own time.
    """

    def __init__(self) -> None:
        self._calls: dict[K, _Call[T]] = {}
        self._sequence_numbers = itertools.count()

    async def run(self, key: K, work: Callable[[], Awaitable[T]], *, require_new: bool = False) -> T:
        """Return what `work` returns, run now or already under way.

        With `fresh` an outcome counts only when its work began after this call, for a caller who knows that something
        has changed just before.
        """
        call_number = next(self._sequence_numbers)
        while True:
            call = self._calls.get(key) or self._start(key, work)
            if not require_new or call.sequence_number > call_number:
                return await asyncio.shield(call.task)
            await asyncio.wait([call.task])

    def _start(self, key: K, work: Callable[[], Awaitable[T]]) -> _Call[T]:
        async def run() -> T:
            try:
                return await work()
            finally:
                del self._calls[key]

        call = _Call(sequence_number=next(self._sequence_numbers), task=asyncio.create_task(run()))
        call.task.add_done_callback(_retrieve_exception)
        self._calls[key] = call
        return call

    async def close(self) -> None:
        """Cancel what is under way and wait until it has ended."""
        tasks = [flight.task for flight in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _retrieve_exception(task: asyncio.Task[T]) -> None:
    if not task.cancelled():
        task.exception()  # it has been raised to the waiters, if any are left
