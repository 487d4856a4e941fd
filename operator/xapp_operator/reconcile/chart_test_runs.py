"""The tests of charts that run now, at most one run per XApp, beside the reconciles of the XApp.

A run may take as long as spec.timeout, so no reconcile waits for it. What it found is kept until the next reconcile,
which `on_done` asks for. Tests that never end must leave places for helm to installs and upgrades of their own
namespace, so the runs of one namespace are bounded. Between namespaces, helm shares its places, and takes them back.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.domain.planning.plan_input import TestRun
from xapp_operator.reconcile.work.work_queue import NamespacedName

RECORDS_AT_ONCE: Final = 8
"""Runs that read their release record at the same time, shared fairly by namespace: this bounds the memory."""


class TestRuns:
    """Tasks that run tests, by XApp."""

    __test__ = False  # for pytest, which collects classes by their names

    def __init__(self, *, helm_waiting: int, on_done: Callable[[NamespacedName], None]) -> None:
        """`helm_waiting` is the number of helm processes that can wait for a hook: one namespace runs a quarter."""
        self._slots = FairSlots(sys.maxsize, per_key=max(1, helm_waiting // 4))
        self.record_slots = FairSlots(RECORDS_AT_ONCE)
        self._on_done = on_done
        self._tasks: dict[NamespacedName, asyncio.Task[TestRun]] = {}
        self._results: dict[NamespacedName, TestRun] = {}

    def is_running(self, key: NamespacedName) -> bool:
        return key in self._tasks

    def start(self, key: NamespacedName, run: Callable[[], Coroutine[Any, Any, TestRun]]) -> None:
        """Start `run`, which must not raise an XAppError, as soon as the namespace has a place for it."""
        if key in self._tasks:
            raise ValueError("the tests of this XApp run already")
        task = self._tasks[key] = asyncio.create_task(self._run(key, run), name=f"tests of {key[0]}/{key[1]}")
        task.add_done_callback(lambda done: self._finish(key, done))

    def take_result(self, key: NamespacedName) -> TestRun | None:
        """Return how the last run ended, once."""
        return self._results.pop(key, None)

    async def end(self, key: NamespacedName) -> None:
        """End the run; its helm process is gone when this returns. A result that it still had is dropped."""
        task = self._tasks.get(key)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        self.forget(key)

    def forget(self, key: NamespacedName) -> None:
        """End the run without waiting for it, and drop its result."""
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
        self._results.pop(key, None)

    async def stop(self) -> None:
        """End all runs."""
        await asyncio.gather(*map(self.end, list(self._tasks)))

    async def _run(self, key: NamespacedName, run: Callable[[], Coroutine[Any, Any, TestRun]]) -> TestRun:
        async with self._slots.slot(key[0]):
            return await run()

    def _finish(self, key: NamespacedName, task: asyncio.Task[TestRun]) -> None:
        if self._tasks.get(key) is not task:
            return
        del self._tasks[key]
        if not task.cancelled():
            self._results[key] = task.result()
            self._on_done(key)
