"""Questions that may take long, asked beside the workers: a repository that hangs must not hold up other XApps.

Lives in `reconcile`, between the observer, which asks what chart and values are wanted, and `desired`, which may have
to wait for a server for as long as `XAPP_FETCH_TIMEOUT_SECONDS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from xapp_operator.reconcile.work_queue import NamespacedName

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _PendingCall(Generic[T]):
    version: Hashable
    task: asyncio.Task[T]


class DeferredResolver(Generic[T]):
    """At most one question a key; `on_answer` gets the key when an answer came too late for who asked."""

    def __init__(self, *, seconds: float, on_answer: Callable[[NamespacedName], None]) -> None:
        self._seconds = seconds
        self._on_answer = on_answer
        self._asked: dict[NamespacedName, _PendingCall[T]] = {}

    async def resolve(
        self, key: NamespacedName, operation: Callable[[], Coroutine[Any, Any, T]], *, version: Hashable
    ) -> T | None:
        """Return the answer, or None when it takes longer than `seconds`; then asking again later gets it.

        Args:
            key: who asks.
            question: called unless the same is being asked already; raises through.
            about: what makes two questions the same; an answer about something else is of no use any more.
        """
        asked = self._asked.get(key)
        if asked is None or asked.version != version:
            self.cancel(key)
            asked = self._asked[key] = _PendingCall(version, asyncio.create_task(operation(), name=f"ask for {key}"))
            await asyncio.wait({asked.task}, timeout=self._seconds)
            if not asked.task.done():
                asked.task.add_done_callback(lambda task: self._on_task_done(key, task))
        if not asked.task.done():
            return None
        self._asked.pop(key, None)
        return asked.task.result()

    def cancel(self, key: NamespacedName) -> None:
        """Ask no longer for `key`."""
        asked = self._asked.pop(key, None)
        if asked is not None:
            asked.task.cancel()

    async def stop(self) -> None:
        """End every question."""
        tasks = [asked.task for asked in self._asked.values()]
        for key in list(self._asked):
            self.cancel(key)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_task_done(self, key: NamespacedName, task: asyncio.Task[T]) -> None:
        if not task.cancelled():
            task.exception()  # is looked at here, because nobody may come to fetch it
            self._on_answer(key)
