"""Helm steps end when the operator interrupts them, and slow operations block no other xApp."""

from __future__ import annotations

import asyncio

import pytest

from xapp_operator.errors import SourceUnavailable
from xapp_operator.reconcile import xapp_tasks
from xapp_operator.reconcile.work_queue import NamespacedName
from xapp_operator.reconcile.xapp_tasks import DeferredResolver, RunningSteps, StepInterrupted

KEY = ("ns", "hello")


async def test_result_of_the_step_is_returned() -> None:
    async def step() -> int:
        return 7

    running = RunningSteps()
    assert await running.run(KEY, step()) == 7
    assert not running.is_running(KEY)


async def test_interrupted_step_ends_and_raises() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = RunningSteps()
    work = asyncio.create_task(running.run(KEY, step()))
    await started.wait()
    running.interrupt(KEY)
    with pytest.raises(StepInterrupted):
        await work
    assert ended.is_set()
    assert not running.is_running(KEY)


async def test_cancellation_from_outside_is_no_interruption_and_ends_the_step() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = RunningSteps()
    work = asyncio.create_task(running.run(KEY, step()))
    await started.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert ended.is_set()


async def test_interrupting_an_idle_xapp_changes_nothing() -> None:
    async def step() -> str:
        return "done"

    running = RunningSteps()
    running.interrupt(KEY)
    assert await running.run(KEY, step()) == "done"


class SlowLookup:
    """An operation that ends when the test sets its result."""

    def __init__(self) -> None:
        self.started = 0
        self.result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.done: asyncio.Queue[NamespacedName] = asyncio.Queue()
        self.resolver: DeferredResolver[str] = DeferredResolver(seconds=0.01, on_done=self.done.put_nowait)

    async def operation(self) -> str:
        self.started += 1
        return await asyncio.shield(self.result)

    async def resolve(self, version: int = 1) -> str | None:
        return await self.resolver.resolve(KEY, self.operation, version=version)


async def test_quick_result_is_returned_and_resolved_again_the_next_time() -> None:
    lookup = SlowLookup()
    lookup.result.set_result("yes")
    assert [await lookup.resolve(), await lookup.resolve()] == ["yes", "yes"]
    assert lookup.started == 2
    assert lookup.done.empty()


async def test_late_result_is_reported_and_stored_for_the_next_call() -> None:
    lookup = SlowLookup()
    assert await lookup.resolve() is None
    assert await lookup.resolve() is None
    lookup.result.set_result("yes")
    assert await lookup.done.get() == KEY
    assert await lookup.resolve() == "yes"
    assert lookup.started == 1


async def test_late_failure_is_raised_by_the_next_call() -> None:
    lookup = SlowLookup()
    assert await lookup.resolve() is None
    lookup.result.set_exception(SourceUnavailable("away"))
    await lookup.done.get()
    with pytest.raises(SourceUnavailable):
        await lookup.resolve()


async def test_operation_with_another_version_replaces_the_old_one() -> None:
    lookup = SlowLookup()
    assert await lookup.resolve(version=1) is None
    assert await lookup.resolve(version=2) is None
    assert lookup.started == 2
    lookup.result.set_result("yes")
    await lookup.done.get()
    assert await lookup.resolve(version=2) == "yes"
    assert lookup.done.empty()


async def test_stop_cancels_the_operation() -> None:
    lookup = SlowLookup()
    assert await lookup.resolve() is None
    await lookup.resolver.stop()
    assert lookup.done.empty()


async def test_operations_of_one_namespace_leave_places_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 4)
    lookup = SlowLookup()
    resolver: DeferredResolver[str] = DeferredResolver(seconds=0.01, on_done=lookup.done.put_nowait)
    for number in range(10):
        assert await resolver.resolve(("flood", str(number)), lookup.operation, version=1) is None
    assert lookup.started == 2

    async def quick() -> str:
        return "quick"

    assert await resolver.resolve(("quiet", "a"), quick, version=1) == "quick"
    lookup.result.set_result("yes")
    assert {await lookup.done.get() for _ in range(2)} == {("flood", "0"), ("flood", "1")}
    assert await resolver.resolve(("flood", "9"), quick, version=1) == "quick"
