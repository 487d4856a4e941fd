"""A key is processed once at a time, repeated adds collapse, delays are respected, and namespaces take turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.support.fakes.clock import FakeClock, run_in_fake_time
from xapp_operator.reconcile.work.work_queue import NamespacedName, Workers, WorkQueue

A, B = ("ns", "a"), ("ns", "b")


class Jobs:
    """Jobs that end when the test says so; `started` are their keys, in order."""

    def __init__(self) -> None:
        self.started: asyncio.Queue[NamespacedName] = asyncio.Queue()
        self.gates: dict[NamespacedName, asyncio.Event] = {}
        self.open = False

    async def __call__(self, key: NamespacedName) -> None:
        self.started.put_nowait(key)
        if not self.open:
            await self.gates.setdefault(key, asyncio.Event()).wait()
            del self.gates[key]

    async def next(self) -> NamespacedName:
        async with asyncio.timeout(60):
            return await self.started.get()

    async def end(self, key: NamespacedName) -> None:
        self.gates[key].set()
        await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def running(queue: WorkQueue, job: Jobs, *, count: int = 20) -> AsyncIterator[Workers]:
    workers = Workers(queue, count=count)
    task = asyncio.create_task(workers.run(job))
    yield workers
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_repeated_adds_collapse() -> None:
    queue, jobs = WorkQueue(), Jobs()
    queue.add(A)
    queue.add(A)
    queue.add(B)
    assert len(queue) == 2
    async with running(queue, jobs):
        assert [await jobs.next(), await jobs.next()] == [A, B]
        await settle()
        assert jobs.started.empty()
    assert len(queue) == 0


async def test_key_is_not_processed_again_until_it_is_done() -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs):
        queue.add(A)
        assert await jobs.next() == A
        for _ in range(2):
            queue.add(A)
        queue.add(B)
        assert await jobs.next() == B
        assert jobs.started.empty()
        await jobs.end(A)
        assert await jobs.next() == A
        await jobs.end(A)
        assert jobs.started.empty()


@pytest.mark.parametrize(
    ("adds", "ends", "again"),
    [
        ([1], lambda queue: queue.take_back(A, 1), False),
        ([1], lambda queue: queue.take_back(A, 2), True),
        ([1, 1], lambda queue: queue.take_back(A, 1), False),
        ([1, 2], lambda queue: queue.take_back(A, 2), True),
        ([1, 2, 2], lambda queue: queue.take_back(A, 2), True),
        ([1, None], lambda queue: queue.take_back(A, 1), True),
        ([None], lambda queue: queue.take_back(A, 1), True),
        ([None], lambda queue: queue.look_again(A), False),
        ([1], lambda queue: queue.look_again(A), True),
        ([1, None], lambda queue: (queue.take_back(A, 1), queue.look_again(A)), False),
        ([], lambda queue: (queue.take_back(A, 1), queue.look_again(A)), False),
    ],
)
async def test_job_can_undo_what_it_has_written_or_seen_itself(
    adds: list[int | None], ends: Callable[[WorkQueue], object], *, again: bool
) -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs):
        queue.add(A)
        assert await jobs.next() == A
        for version in adds:
            queue.add(A, version=version)
        ends(queue)
        assert len(queue) == int(again)
        await jobs.end(A)
        await settle()
        assert jobs.started.empty() is not again


async def test_chosen_delay_replaces_an_earlier_one() -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs):
        queue.add_after(A, 0)
        queue.set_delay(A, 3600)
        queue.add_after(B, 0)
        assert await jobs.next() == B
        await settle()
        assert jobs.started.empty()


async def test_delayed_key_comes_after_its_delay_and_the_earliest_delay_counts() -> None:
    queue, jobs = WorkQueue(), Jobs()
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with running(queue, jobs):
        queue.add_after(A, 3600)
        queue.add_after(A, 0.05)
        queue.add_after(A, 1800)
        assert await jobs.next() == A
    assert loop.time() - began >= 0.05


async def test_cancelled_delay_adds_nothing() -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs):
        queue.add_after(A, 0)
        queue.cancel_delayed(A)
        queue.add_after(B, 0)
        assert await jobs.next() == B
        assert jobs.started.empty()


async def test_an_earlier_delay_replaces_a_later_one() -> None:
    queue, jobs = WorkQueue(), Jobs()
    jobs.open = True
    async with running(queue, jobs):
        queue.add_after(A, 0.05)
        queue.add_after(A, 0)
        assert await jobs.next() == A
        queue.add_after(A, 3600)
        queue.add_after(B, 0.06)
        assert await jobs.next() == B
        await settle()
        assert jobs.started.empty()


async def test_a_cancelled_delay_does_not_end_a_later_one() -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs):
        queue.add_after(A, 0)
        queue.cancel_delayed(A)
        queue.add_after(A, 3600)
        queue.add_after(B, 0)
        assert await jobs.next() == B
        await settle()
        assert jobs.started.empty()


async def test_a_delay_that_is_over_does_not_count_for_the_next_one() -> None:
    queue, jobs = WorkQueue(), Jobs()
    jobs.open = True
    async with running(queue, jobs):
        for _ in range(2):
            queue.add_after(A, 0)
            assert await jobs.next() == A


async def test_a_key_whose_delay_ends_while_it_is_processed_waits_until_it_is_done() -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs):
        queue.add(A)
        assert await jobs.next() == A
        queue.add_after(A, 0)
        queue.add_after(B, 0)
        assert await jobs.next() == B
        await settle()
        assert jobs.started.empty()
        assert len(queue) == 1
        await jobs.end(A)
        assert await jobs.next() == A


def test_a_key_that_is_added_while_it_is_processed_and_delayed_is_handed_out_once_when_it_is_done() -> None:
    async def play() -> None:
        queue, jobs = WorkQueue(), Jobs()
        async with running(queue, jobs):
            queue.add(A)
            assert await jobs.next() == A
            queue.add_after(A, 10)
            queue.add(A)
            await settle()
            assert jobs.started.empty()
            await asyncio.sleep(11)
            assert jobs.started.empty()
            await jobs.end(A)
            assert await jobs.next() == A
            await jobs.end(A)
            assert jobs.started.empty()

    run_in_fake_time(play())


def test_a_delay_that_pends_when_a_key_is_done_still_counts() -> None:
    async def play() -> None:
        queue, jobs = WorkQueue(), Jobs()
        async with running(queue, jobs):
            queue.add(A)
            assert await jobs.next() == A
            queue.add_after(A, 10)
            queue.add(A)
            for _ in range(2):
                await jobs.end(A)
                assert await jobs.next() == A

    clock = FakeClock()
    run_in_fake_time(play(), clock)
    assert clock.monotonic() >= 10


async def test_no_more_jobs_run_than_there_are_workers() -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs, count=2):
        for number in range(3):
            queue.add((f"ns{number}", "a"))
        first = await jobs.next()
        await jobs.next()
        await settle()
        assert jobs.started.empty()
        await jobs.end(first)
        await jobs.next()


async def test_a_flood_of_one_namespace_delays_another_by_one_turn() -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs, count=1):
        for number in range(100):
            queue.add(("flood", str(number)))
        first = await jobs.next()
        queue.add(("quiet", "a"))
        await settle()
        await jobs.end(first)
        second = await jobs.next()  # it waited before
        await jobs.end(second)
        assert await jobs.next() == ("quiet", "a")


async def test_one_namespace_never_has_the_last_two_workers() -> None:
    queue, jobs = WorkQueue(), Jobs()
    async with running(queue, jobs, count=10):
        for number in range(50):
            queue.add(("flood", str(number)))
        for _ in range(8):
            await jobs.next()
        await settle()
        assert jobs.started.empty()
        queue.add(("quiet", "a"))
        assert await jobs.next() == ("quiet", "a")


async def test_a_paused_job_lets_others_work_and_goes_on_when_a_worker_is_free() -> None:
    queue, jobs, steps = WorkQueue(), Jobs(), asyncio.Queue[str]()

    async def job(key: NamespacedName) -> None:
        if key != A:
            await jobs(key)
            return
        async with workers.pausing(key) as pause:
            pause()
            steps.put_nowait("paused")
            await gate.wait()
        steps.put_nowait("resumed")

    gate = asyncio.Event()
    workers = Workers(queue, count=1)
    task = asyncio.create_task(workers.run(job))
    queue.add(A)
    assert await asyncio.wait_for(steps.get(), 60) == "paused"
    queue.add(B)
    assert await jobs.next() == B
    gate.set()
    await settle()
    assert steps.empty()  # B has the only worker
    await jobs.end(B)
    assert await asyncio.wait_for(steps.get(), 60) == "resumed"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_job_that_does_not_pause_again_keeps_its_worker() -> None:
    queue, ended = WorkQueue(), asyncio.Event()

    async def job(key: NamespacedName) -> None:
        async with workers.pausing(key) as pause:
            pause()
        async with workers.pausing(key):
            pass
        ended.set()

    workers = Workers(queue, count=1)
    task = asyncio.create_task(workers.run(job))
    queue.add(A)
    await settle()
    assert ended.is_set()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_job_that_is_cancelled_while_paused_leaves_its_worker_to_others() -> None:
    queue, jobs, paused = WorkQueue(), Jobs(), asyncio.Event()
    tasks: list[asyncio.Task[object]] = []

    async def job(key: NamespacedName) -> None:
        if key != A:
            await jobs(key)
            return
        current = asyncio.current_task()
        assert current is not None
        tasks.append(current)
        async with workers.pausing(key) as pause:
            pause()
            paused.set()
            await asyncio.Event().wait()

    workers = Workers(queue, count=1)
    task = asyncio.create_task(workers.run(job))
    queue.add(A)
    await asyncio.wait_for(paused.wait(), 60)
    tasks[0].cancel()
    await settle()
    for key in (B, ("ns", "c")):
        queue.add(key)
        assert await jobs.next() == key
        await jobs.end(key)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_age_of_the_queue_is_that_of_the_key_that_waits_longest() -> None:
    clock = FakeClock()
    queue = WorkQueue(clock=clock)
    ages = [queue.oldest_seconds]
    for key in (A, B):
        queue.add(key)
        clock.advance(3)
    queue.add(A)
    ages.append(queue.oldest_seconds)
    assert queue.take("ns") == A
    queue.add(A)  # comes back when it is done, and waits for nobody until then
    clock.advance(1)
    ages.append(queue.oldest_seconds)
    assert queue.take("ns") == B
    ages.append(queue.oldest_seconds)
    queue.done(A)
    clock.advance(2)
    ages.append(queue.oldest_seconds)
    assert ages == [0, 6, 4, 0, 2]
