"""The time of the fakes passes, however short a wait is."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.fakes.clock import FakeClock, run_in_fake_time


def test_a_delay_that_is_too_short_to_change_the_time_is_over() -> None:
    """Whoever waits until a moment would wait again and again: asyncio ends such a delay before time passes."""
    clock = FakeClock(1000.0)

    async def wait_until_later() -> None:
        loop, later = asyncio.get_running_loop(), asyncio.Event()

        def look() -> None:
            if clock.monotonic() > 1000.0:
                later.set()
            else:
                loop.call_later(1e-14, look)

        look()
        await later.wait()

    run_in_fake_time(wait_until_later(), clock)
    assert clock.monotonic() == pytest.approx(1000.0, abs=0.01)
