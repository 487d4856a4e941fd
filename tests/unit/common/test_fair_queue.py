"""Whose items a bounded queue drops, and in which order it returns the others."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.common.fair_queue import FairQueue


async def drain(queue: FairQueue[str]) -> list[str]:
    return [await queue.get() for _ in range(len(queue))]


async def test_keys_take_turns() -> None:
    queue: FairQueue[str] = FairQueue(10)
    for key, item in (("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2")):
        assert queue.put(key, item) is None
    assert await queue.get() == "a1"
    assert queue.put("d", "d1") is None
    assert await drain(queue) == ["b1", "c1", "a2", "d1", "b2", "a3"]


async def test_the_key_with_the_most_items_loses_its_newest() -> None:
    queue: FairQueue[str] = FairQueue(4)
    for item in ("a1", "a2", "a3", "a4"):
        queue.put("a", item)
    assert queue.put("a", "a5") == "a5"
    assert queue.put("b", "b1") == "a4"
    assert queue.put("b", "b2") == "a3"
    assert queue.put("b", "b3") == "b3"
    assert queue.put("c", "c1") == "a2"
    assert await drain(queue) == ["a1", "b1", "c1", "b2"]


async def test_a_key_does_not_take_the_only_item_of_another() -> None:
    queue: FairQueue[str] = FairQueue(2)
    queue.put("a", "a1")
    queue.put("b", "b1")
    assert queue.put("c", "c1") == "c1"
    assert await drain(queue) == ["a1", "b1"]


async def test_an_item_is_waited_for() -> None:
    queue: FairQueue[str] = FairQueue(1)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.put("a", "a1")
    assert await waiting == "a1"
    assert len(queue) == 0


@given(st.lists(st.sampled_from("abcde"), max_size=60), st.integers(1, 10))
def test_only_a_key_with_more_than_its_share_loses_items(keys: list[str], capacity: int) -> None:
    queue: FairQueue[str] = FairQueue(capacity)
    held = dict.fromkeys("abcde", 0)
    for key in keys:
        dropped = queue.put(key, key)
        held[key] += 1
        if dropped is not None:
            assert held[dropped] == max(held.values())
            held[dropped] -= 1
        assert len(queue) == sum(held.values()) <= capacity
