"""The helm steps that run now, so that a newer generation or a deletion can end them.

Lives in `reconcile`: the handlers interrupt, the verbs run. Ending the process itself is the engine's part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from xapp_operator.reconcile.work_queue import NamespacedName

T = TypeVar("T")


class StepInterrupted(Exception):
    """The step was ended by us, because what it worked for is no longer wanted."""


class RunningSteps:
    """At most one helm step a key."""

    def __init__(self) -> None:
        self._tasks: dict[NamespacedName, asyncio.Task[Any]] = {}
        self._interrupted: set[NamespacedName] = set()

    def is_running(self, key: NamespacedName) -> bool:
        """Return whether a helm step runs for `key`."""
        return key in self._tasks

    def interrupt(self, key: NamespacedName) -> None:
        """End the step of `key`, if one runs; `run` then raises Interrupted."""
        task = self._tasks.get(key)
        if task is not None:
            self._interrupted.add(key)
            task.cancel()

    async def run(self, key: NamespacedName, step: Coroutine[Any, Any, T]) -> T:
        """Run `step` and return its result.

        Raises:
            Interrupted: when `interrupt` was called meanwhile.
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
