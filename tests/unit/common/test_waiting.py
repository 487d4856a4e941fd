"""A wait for a state looks at once and after each event, and ends with its deadline."""

from __future__ import annotations

import asyncio

from xapp_operator.common.waiting import wait_for_state


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
