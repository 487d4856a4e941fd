"""Single flight: concurrent calls for the same key share one run."""

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
    """Runs at most one task per key and gives its result to every caller that waits for it.

    The task goes on when a caller is cancelled, so the work must bound its own time.
    """

    def __init__(self) -> None:
        self._calls: dict[K, _Call[T]] = {}
        self._sequence_numbers = itertools.count()

    async def run(self, key: K, work: Callable[[], Awaitable[T]], *, require_new: bool = False) -> T:
        """Return the result of `work`, which may be running already for another caller.

        With `require_new`, only a run that starts after this call counts: use it when something has just changed.
        """
        call_number = next(self._sequence_numbers)
        while True:
            call = self._calls.get(key) or self._start(key, work)
            if not require_new or call.sequence_number > call_number:
                return await asyncio.shield(call.task)
            await asyncio.wait([call.task])

    def start(self, key: K, work: Callable[[], Awaitable[T]]) -> None:
        """Start `work` in the background unless it is running already."""
        if key not in self._calls:
            self._start(key, work)

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
        """Cancel every run and wait until all have ended."""
        tasks = [call.task for call in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _retrieve_exception(task: asyncio.Task[T]) -> None:
    if not task.cancelled():
        task.exception()  # otherwise asyncio logs it when every caller was cancelled
