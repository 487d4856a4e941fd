"""A key is processed once at a time, repeated adds collapse, and delays are respected."""

from __future__ import annotations

import asyncio

from xapp_operator.reconcile.work_queue import WorkQueue

A, B = ("ns", "a"), ("ns", "b")


async def _taken(queue: WorkQueue) -> tuple[str, str]:
    async with asyncio.timeout(60):
        return await queue.get()


async def test_repeated_adds_collapse() -> None:
    queue = WorkQueue()
    queue.add(A)
    queue.add(A)
    queue.add(B)
    assert [await _taken(queue), await _taken(queue)] == [A, B]
    assert len(queue) == 0


async def test_key_is_not_returned_again_until_it_is_done() -> None:
    queue = WorkQueue()
    queue.add(A)
    assert await _taken(queue) == A
    queue.add(A)
    queue.add(B)
    assert await _taken(queue) == B
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.done(A)
    assert await asyncio.wait_for(waiting, 60) == A


async def test_adds_during_the_processing_collapse() -> None:
    queue = WorkQueue()
    queue.add(A)
    await _taken(queue)
    queue.add(A)
    queue.add(A)
    queue.done(A)
    assert await _taken(queue) == A
    queue.done(A)
    assert len(queue) == 0


async def test_delayed_key_comes_after_its_delay_and_the_earliest_delay_counts() -> None:
    queue = WorkQueue()
    loop = asyncio.get_running_loop()
    began = loop.time()
    queue.add_after(A, 3600)
    queue.add_after(A, 0.05)
    queue.add_after(A, 1800)
    assert await _taken(queue) == A
    assert loop.time() - began >= 0.05


async def test_later_add_wakes_a_waiting_worker_before_the_delay_of_another_key() -> None:
    queue = WorkQueue()
    queue.add_after(A, 3600)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add(B)
    assert await asyncio.wait_for(waiting, 60) == B


async def test_cancelled_delay_adds_nothing() -> None:
    queue = WorkQueue()
    queue.add_after(A, 0)
    queue.cancel_delayed(A)
    queue.add_after(B, 0)
    assert await _taken(queue) == B
    assert len(queue) == 0


async def test_all_waiting_workers_are_woken() -> None:
    queue = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    keys = [("ns", str(number)) for number in range(3)]
    for key in keys:
        queue.add(key)
    assert sorted(await asyncio.wait_for(asyncio.gather(*workers), 60)) == keys
