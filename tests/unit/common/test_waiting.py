"""A wait for a state looks at once and after each event, and ends with its deadline."""

from __future__ import annotations

import asyncio

import pytest

from xapp_operator.common.waiting import run_unless_stopped, wait_for_state


async def test_a_state_that_is_reached_needs_no_event() -> None:
    assert await wait_for_state(asyncio.Event(), lambda: True, seconds=5)


async def test_each_event_makes_it_look_again() -> None:
    changed, looks = asyncio.Event(), list[int]()

    def is_reached() -> bool:
        looks.append(len(looks))
        asyncio.get_running_loop().call_soon(changed.set)
        return len(looks) == 3

    assert await wait_for_state(changed, is_reached, seconds=5)
    assert looks == [0, 1, 2]


async def test_a_state_that_is_not_reached_in_time_is_false() -> None:
    assert not await wait_for_state(asyncio.Event(), lambda: False, seconds=0.01)


async def test_a_step_that_ends_before_the_stop_counts() -> None:
    assert await run_unless_stopped(asyncio.Event(), asyncio.sleep(0))
    with pytest.raises(RuntimeError, match="refused"):
        await run_unless_stopped(asyncio.Event(), fail())


async def test_a_stop_cancels_the_step() -> None:
    stop, cancelled = asyncio.Event(), asyncio.Event()

    async def wait_for_ever() -> None:
        stop.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    assert not await run_unless_stopped(stop, wait_for_ever())
    assert cancelled.is_set()


async def test_a_step_that_fails_while_it_is_stopped_does_not_matter() -> None:
    stop = asyncio.Event()

    async def fail_because_of_the_stop() -> None:
        stop.set()
        await fail()

    assert not await run_unless_stopped(stop, fail_because_of_the_stop())


async def fail() -> None:
    raise RuntimeError("refused")
