"""Helm steps end when the operator interrupts them, and slow operations block no other xApp."""

from __future__ import annotations

import asyncio
import gc

import pytest

from tests.support.fakes.clock import run_in_fake_time
from xapp_operator.errors import SourceUnavailable
from xapp_operator.reconcile.work import xapp_tasks
from xapp_operator.reconcile.work.work_queue import NamespacedName
from xapp_operator.reconcile.work.xapp_tasks import DeferredResolver, RunningSteps, StepInterrupted

KEY = ("ns", "hello")


async def test_result_of_the_step_is_returned() -> None:
    async def step() -> int:
        return 7

    running = RunningSteps()
    assert await running.run(KEY, step(), version=1) == 7


async def test_interrupted_step_ends_and_raises() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = RunningSteps()
    work = asyncio.create_task(running.run(KEY, step(), version=1))
    await started.wait()
    running.interrupt_outdated(KEY, version=1)
    await asyncio.sleep(0)
    assert not ended.is_set()
    running.interrupt_outdated(KEY, version=2)
    with pytest.raises(StepInterrupted):
        await work
    assert ended.is_set()


async def test_a_step_that_is_ending_is_not_interrupted_again() -> None:
    """A second cancellation would not let helm mark its revision as failed."""
    started, ending, may_end, ended = (asyncio.Event() for _ in range(4))

    async def step() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await may_end.wait()
            ended.set()

    running = RunningSteps()
    work = asyncio.create_task(running.run(KEY, step(), version=1))
    await started.wait()
    running.interrupt_outdated(KEY, version=2)
    await ending.wait()
    for version in (2, 3):
        running.interrupt_outdated(KEY, version=version)
    await asyncio.sleep(0)
    assert not work.done()
    may_end.set()
    with pytest.raises(StepInterrupted):
        await work
    assert ended.is_set()


async def test_a_stop_does_not_wait_for_a_step_that_is_ending() -> None:
    started, ending = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await asyncio.Event().wait()

    running = RunningSteps()
    work = asyncio.create_task(running.run(KEY, step(), version=1))
    await started.wait()
    running.interrupt_outdated(KEY, version=2)
    await ending.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):  # not StepInterrupted, after which the reconcile would go on
        await asyncio.wait_for(work, 60)


async def test_cancellation_from_outside_is_no_interruption_and_ends_the_step() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = RunningSteps()
    work = asyncio.create_task(running.run(KEY, step(), version=1))
    await started.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert ended.is_set()


async def test_an_interruption_is_over_with_its_step() -> None:
    running = RunningSteps()

    async def begin() -> asyncio.Task[None]:
        started = asyncio.Event()

        async def step() -> None:
            started.set()
            await asyncio.Event().wait()

        work = asyncio.create_task(running.run(KEY, step(), version=1))
        await started.wait()
        return work

    for _ in range(2):
        interrupted = await begin()
        running.interrupt_outdated(KEY, version=2)
        with pytest.raises(StepInterrupted):
            await asyncio.wait_for(interrupted, 10)
        running.interrupt_outdated(KEY, version=3)  # nothing runs that it could end
    cancelled = await begin()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_interrupting_an_idle_xapp_changes_nothing() -> None:
    async def step() -> str:
        return "done"

    running = RunningSteps()
    running.interrupt_outdated(KEY, version=2)
    assert await running.run(KEY, step(), version=1) == "done"


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
    assert not lookup.resolver.is_running(KEY)
    assert await lookup.resolve() is None
    assert await lookup.resolve() is None
    assert lookup.resolver.is_running(KEY)
    lookup.result.set_result("yes")
    assert await lookup.done.get() == KEY
    assert not lookup.resolver.is_running(KEY)
    assert await lookup.resolve() == "yes"
    assert lookup.started == 1


async def test_late_failure_is_raised_by_the_next_call() -> None:
    lookup = SlowLookup()
    assert await lookup.resolve() is None
    lookup.result.set_exception(SourceUnavailable("away"))
    await lookup.done.get()
    with pytest.raises(SourceUnavailable):
        await lookup.resolve()


async def test_late_failure_that_nobody_asks_for_is_no_error_of_the_process() -> None:
    problems: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    lookup = SlowLookup()
    assert await lookup.resolve() is None
    lookup.result.set_exception(SourceUnavailable("away"))
    await lookup.done.get()
    lookup.resolver.forget(KEY)
    del lookup
    gc.collect()  # asyncio tells of a failure when nobody can ask for it any more
    assert problems == []


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


async def quick() -> str:
    return "quick"


async def test_operations_of_one_namespace_leave_places_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 8)
    lookup = SlowLookup()
    resolver: DeferredResolver[str] = DeferredResolver(seconds=0.01, on_done=lookup.done.put_nowait)
    for number in range(10):
        assert await resolver.resolve(("flood", str(number)), lookup.operation, version=1) is None
    assert lookup.started == 2

    assert await resolver.resolve(("quiet", "a"), quick, version=1) == "quick"
    lookup.result.set_result("yes")
    told = {await asyncio.wait_for(lookup.done.get(), 60) for _ in range(4)}
    assert told == {("flood", str(number)) for number in range(4)}  # two have ended, and two have places now
    assert await resolver.resolve(("flood", "2"), quick, version=1) == "quick"


@pytest.mark.parametrize("hostile", [2, 5])
async def test_several_namespaces_whose_operations_hang_delay_another_by_one_end(
    monkeypatch: pytest.MonkeyPatch, hostile: int
) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 16)
    lookup = SlowLookup()
    resolver = lookup.resolver
    ends = [asyncio.Event() for _ in range(16)]
    running = iter(ends)

    async def hang() -> str:
        await next(running).wait()
        return "late"

    for number in range(10):
        for namespace in range(hostile):
            await resolver.resolve((f"hostile{namespace}", str(number)), hang, version=1)

    quiet = ("quiet", "a")
    found = await resolver.resolve(quiet, quick, version=1)
    if hostile == 5:  # all places are taken: it keeps its turn, and gets the first place that is free
        assert found is None
        assert await resolver.resolve(quiet, quick, version=1) is None
        ends[0].set()
        told = {await asyncio.wait_for(lookup.done.get(), 60) for _ in range(2)}
        assert told == {("hostile0", "0"), quiet}
        found = await resolver.resolve(quiet, quick, version=2)
    assert found == "quick"
    await resolver.stop()


async def test_operations_that_hang_do_not_delay_those_that_download_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 1)
    lookup = SlowLookup()
    assert await lookup.resolve() is None

    assert await lookup.resolver.resolve(("ns", "upload"), quick, version=1, downloads=False) == "quick"
    await lookup.resolver.stop()


async def test_an_xapp_that_downloads_nothing_any_more_waits_for_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 1)
    lookup = SlowLookup()
    resolver, changed, next_one = lookup.resolver, ("ns", "changed"), ("ns", "next")
    assert await lookup.resolve() is None
    assert await resolver.resolve(changed, quick, version=1) is None
    assert await resolver.resolve(changed, quick, version=2, downloads=False) == "quick"
    assert await resolver.resolve(next_one, quick, version=1) is None
    lookup.result.set_result("yes")  # its turn for the place of a download is over
    assert {await asyncio.wait_for(lookup.done.get(), 60) for _ in range(2)} == {KEY, next_one}
    assert await resolver.resolve(next_one, quick, version=1) == "quick"
    await resolver.stop()


async def test_an_xapp_that_is_forgotten_while_it_changes_places_holds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 1)
    lookup = SlowLookup()
    resolver, changed = lookup.resolver, ("ns", "changed")
    assert await lookup.resolve() is None
    assert await resolver.resolve(changed, quick, version=1) is None
    resolving = asyncio.create_task(resolver.resolve(changed, quick, version=2, downloads=False))
    await asyncio.sleep(0)
    resolver.forget(changed)
    assert await resolving is None
    assert await resolver.resolve(("ns", "next"), quick, version=1, downloads=False) == "quick"
    await resolver.stop()


async def test_an_operation_that_waited_takes_one_place_though_more_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 8)
    lookup = SlowLookup()
    resolver = lookup.resolver
    keys = [("ns", str(number)) for number in range(4)]
    for key in keys[:3]:
        assert await resolver.resolve(key, lookup.operation, version=1) is None
    for key in keys[:2]:
        resolver.forget(key)
    assert await lookup.done.get() == keys[2]
    for key in keys[2:]:
        assert await resolver.resolve(key, lookup.operation, version=1) is None
    assert [resolver.is_running(key) for key in keys] == [False, False, True, True]
    await resolver.stop()


async def test_a_turn_that_nobody_uses_is_given_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 1)
    monkeypatch.setattr(xapp_tasks, "TURN_SECONDS", 0.05)
    lookup = SlowLookup()
    first, second, third = ("a", "1"), ("b", "2"), ("b", "3")
    resolver = lookup.resolver
    assert await resolver.resolve(first, lookup.operation, version=1) is None
    for key in (second, third):
        assert await resolver.resolve(key, lookup.operation, version=1) is None
    resolver.forget(first)
    assert await lookup.done.get() == second
    assert await asyncio.wait_for(lookup.done.get(), 60) == third  # `second` has not asked again
    resolver.forget(third)
    lookup.result.set_result("yes")
    assert await resolver.resolve(first, lookup.operation, version=2) == "yes"


async def test_thirty_two_operations_run_at_a_time_and_eight_of_one_namespace() -> None:
    lookup = SlowLookup()
    for namespace in range(5):
        for number in range(9):
            assert await lookup.resolver.resolve((f"ns{namespace}", str(number)), lookup.operation, version=1) is None
        assert lookup.started == min(8 * (namespace + 1), 32)
    await lookup.resolver.stop()
    assert lookup.started == 32


async def test_nothing_begins_after_the_stop() -> None:
    lookup = SlowLookup()
    ended: list[str] = []

    async def hang() -> str:
        lookup.started += 1
        try:
            return await lookup.result
        finally:
            ended.append("ended")

    for number in range(9):
        await lookup.resolver.resolve(("ns", str(number)), hang, version=1)
    await lookup.resolver.stop()
    assert (lookup.started, len(ended)) == (8, 8)
    assert lookup.done.empty()
    assert not any(lookup.resolver.is_running(("ns", str(number))) for number in range(9))


async def test_the_stop_waits_for_turns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 1)
    lookup = SlowLookup()
    assert await lookup.resolve() is None
    assert await lookup.resolver.resolve(("ns", "waits"), lookup.operation, version=1) is None
    lookup.resolver.cancel(KEY)
    await lookup.resolver.stop()
    assert not [each for each in asyncio.all_tasks() if each.get_name().startswith("place")]


@pytest.mark.parametrize("rounds", range(8))
async def test_who_is_forgotten_while_it_gets_a_place_is_not_told(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    """Whatever the event loop has done by then."""
    monkeypatch.setattr(xapp_tasks, "OPERATIONS_MAX", 1)
    lookup, waits = SlowLookup(), ("ns", "waits")
    assert await lookup.resolve() is None
    assert await lookup.resolver.resolve(waits, lookup.operation, version=1) is None
    lookup.resolver.forget(KEY)
    for _ in range(rounds):
        await asyncio.sleep(0)
    told = lookup.done.qsize()
    lookup.resolver.forget(waits)
    for _ in range(8):
        await asyncio.sleep(0)
    assert lookup.done.qsize() == told
    await lookup.resolver.stop()


def test_a_turn_is_kept_for_a_minute() -> None:
    async def ask_after(seconds: float) -> int:
        """Return how many operations have begun when the holder of the turn asks again after so long."""
        lookup = SlowLookup()
        keys = [("ns", str(number)) for number in range(9)]
        for key in keys:
            await lookup.resolver.resolve(key, lookup.operation, version=1)
        lookup.resolver.cancel(keys[0])
        assert await lookup.done.get() == keys[8]
        waits = ("ns", "waits")
        assert await lookup.resolver.resolve(waits, lookup.operation, version=1) is None
        await asyncio.sleep(seconds)
        await lookup.resolver.resolve(keys[8], lookup.operation, version=1)
        started = lookup.started
        await lookup.resolver.stop()
        return started

    assert run_in_fake_time(ask_after(59.9)) == 9
    assert run_in_fake_time(ask_after(60.1)) == 8


def test_the_end_of_a_turn_that_was_used_leaves_the_next_one_alone() -> None:
    async def ask_again() -> NamespacedName:
        """Return who is told of a free place, a minute after it had and used its first turn."""
        lookup = SlowLookup()
        *keys, last = [("ns", str(number)) for number in range(9)]
        for key in (*keys, last):
            await lookup.resolver.resolve(key, lookup.operation, version=1)
        lookup.resolver.forget(keys[0])
        assert await lookup.done.get() == last
        await lookup.resolver.resolve(last, lookup.operation, version=1)
        lookup.resolver.cancel(last)
        await asyncio.sleep(0.1)
        for key in (keys[0], last):
            await lookup.resolver.resolve(key, lookup.operation, version=1)
        assert lookup.started == 10
        await asyncio.sleep(61.0)
        lookup.resolver.forget(keys[0])
        told = await asyncio.wait_for(lookup.done.get(), 60)
        await lookup.resolver.stop()
        return told

    assert run_in_fake_time(ask_again()) == ("ns", "8")


async def test_without_a_place_nothing_is_said_to_run() -> None:
    lookup = SlowLookup()
    for number in range(9):
        await lookup.resolver.resolve(("ns", str(number)), lookup.operation, version=1)
    assert [lookup.resolver.is_running(("ns", str(number))) for number in (7, 8)] == [True, False]
    await lookup.resolver.stop()


async def test_an_operation_that_is_forgotten_reports_nothing() -> None:
    lookup = SlowLookup()
    assert await lookup.resolve() is None
    lookup.resolver.forget(KEY)
    await asyncio.sleep(0)
    assert lookup.done.empty()
    lookup.result.set_result("late")
    assert await lookup.resolve() == "late"
    assert lookup.started == 2
