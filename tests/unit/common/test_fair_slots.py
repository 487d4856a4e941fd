"""Slots that are shared fairly between keys."""

import asyncio
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.common.fair_slots import FairSlots, NoFreeSlot


async def _settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_one_key_never_gets_the_last_two_slots() -> None:
    slots = FairSlots(4)
    await slots.acquire("flood")
    await slots.acquire("flood")
    third = asyncio.ensure_future(slots.acquire("flood"))
    await _settle()
    assert not third.done()
    await asyncio.wait_for(slots.acquire("other"), 1)
    third.cancel()


async def test_a_slot_is_taken_now_if_one_is_free_and_nobody_with_that_key_waits() -> None:
    slots = FairSlots(3)
    assert slots.acquire_now("a")
    waiting = asyncio.ensure_future(slots.acquire("a"))
    await _settle()
    assert not slots.acquire_now("a"), "one key never gets the last two slots"
    slots.release("a")
    assert not slots.acquire_now("a"), "who waits comes first"
    await waiting
    assert slots.acquire_now("b")
    assert (slots.held_by("a"), slots.held_by("b")) == (1, 1)


async def test_a_free_slot_goes_to_the_key_that_holds_the_fewest() -> None:
    slots = FairSlots(2, per_key=2)
    await slots.acquire("flood")
    await slots.acquire("flood")
    order: list[str] = []

    async def take(key: str) -> None:
        await slots.acquire(key)
        order.append(key)

    tasks = [asyncio.create_task(take(key)) for key in ("flood", "flood", "other")]
    await _settle()
    slots.release("flood")
    await _settle()
    assert order == ["other"]
    for task in tasks:
        task.cancel()


async def test_what_a_key_holds_elsewhere_counts_when_a_slot_becomes_free() -> None:
    slots = FairSlots(1, held_elsewhere={"greedy": 1, "modest": 0, "first": 0}.__getitem__)
    await slots.acquire("first")
    greedy, modest = (asyncio.create_task(slots.acquire(key)) for key in ("greedy", "modest"))
    await _settle()
    slots.release("first")
    await asyncio.wait_for(modest, 1)
    assert not greedy.done()
    slots.release("modest")
    await asyncio.wait_for(greedy, 1)


async def test_a_cancelled_waiter_gives_its_slot_to_the_next() -> None:
    slots = FairSlots(1)
    await slots.acquire("a")
    cancelled, next_one = (asyncio.create_task(slots.acquire(key)) for key in ("b", "c"))
    await _settle()
    slots.release("a")  # grants the slot to b, which is cancelled before it runs
    cancelled.cancel()
    await asyncio.wait_for(next_one, 1)
    assert slots.in_use == 1


async def test_a_slot_of_a_flood_is_refused_now_and_one_of_another_key_is_not() -> None:
    slots = FairSlots(10, per_key=3)
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(slots.slot_now("flood"))
        with pytest.raises(NoFreeSlot), slots.slot_now("flood"):
            pass
        held.enter_context(slots.slot_now("other"))
    assert slots.in_use == 0


@given(
    capacity=st.integers(1, 6),
    keys=st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
)
def test_every_waiter_gets_a_slot_and_no_bound_is_exceeded(capacity: int, keys: list[str]) -> None:
    slots = FairSlots(capacity)
    per_key = max(1, capacity - 2)
    running: list[str] = []

    async def work(key: str) -> None:
        async with slots.slot(key):
            running.append(key)
            assert len(running) <= capacity
            assert running.count(key) <= per_key
            await asyncio.sleep(0)
            running.remove(key)

    async def run() -> None:
        await asyncio.wait_for(asyncio.gather(*(work(key) for key in keys)), 10)

    asyncio.run(run())
    assert slots.in_use == 0


async def test_a_slot_is_not_granted_to_a_waiter_that_was_cancelled_a_moment_ago() -> None:
    slots = FairSlots(1)
    await slots.acquire("a")
    cancelled, next_one = (asyncio.create_task(slots.acquire(key)) for key in ("b", "c"))
    await asyncio.sleep(0)
    cancelled.cancel()
    slots.release("a")  # before b knows that it is cancelled
    await asyncio.wait_for(next_one, 60)
    await asyncio.gather(cancelled, return_exceptions=True)
    assert cancelled.cancelled()
    slots.release("c")
    assert slots.in_use == 0


async def test_a_waiter_that_is_cancelled_leaves_no_trace_where_another_of_its_key_waits() -> None:
    slots = FairSlots(1)
    await slots.acquire("a")
    cancelled, next_one = (asyncio.create_task(slots.acquire("b")) for _ in range(2))
    await asyncio.sleep(0)
    cancelled.cancel()
    slots.release("a")
    await asyncio.wait_for(next_one, 60)
    await asyncio.gather(cancelled, return_exceptions=True)
    slots.release("b")
    assert slots.in_use == 0


def test_reserved_slots_are_for_keys_that_hold_none() -> None:
    slots = FairSlots(4, per_key=4, reserved=2)
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(slots.slot_now("flood"))
        with pytest.raises(NoFreeSlot):
            held.enter_context(slots.slot_now("flood"))
        for key in ("one", "two"):
            held.enter_context(slots.slot_now(key))
        with pytest.raises(NoFreeSlot):
            held.enter_context(slots.slot_now("three"))
