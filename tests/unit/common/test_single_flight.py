"""Concurrent calls for the same key share one run."""

from __future__ import annotations

import asyncio

import pytest

from xapp_operator.common.single_flight import SingleFlight


class Work:
    """Counts its runs; each run ends when `gate` is set."""

    def __init__(self) -> None:
        self.runs = 0
        self.gate = asyncio.Event()

    async def __call__(self) -> int:
        self.runs += 1
        run = self.runs
        await self.gate.wait()
        return run


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_callers_at_the_same_time_share_one_run() -> None:
    flights, work = SingleFlight[str, int](), Work()
    callers = [asyncio.create_task(flights.run("a", work)) for _ in range(3)]
    await settle()
    work.gate.set()
    assert await asyncio.gather(*callers) == [1, 1, 1]
    assert await flights.run("a", work) == 2


async def test_keys_do_not_wait_for_each_other() -> None:
    flights, slow, fast = SingleFlight[str, int](), Work(), Work()
    fast.gate.set()
    waiting = asyncio.create_task(flights.run("slow", slow))
    assert await flights.run("fast", fast) == 1
    slow.gate.set()
    await waiting


async def test_a_cancelled_caller_leaves_the_run_to_the_others() -> None:
    flights, work = SingleFlight[str, int](), Work()
    first, second = (asyncio.create_task(flights.run("a", work)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    work.gate.set()
    assert await second == 1
    assert first.cancelled()


async def test_a_failure_reaches_every_caller_and_is_not_cached() -> None:
    flights = SingleFlight[str, int]()

    async def fail() -> int:
        raise LookupError("gone")

    outcomes = await asyncio.gather(*(flights.run("a", fail) for _ in range(2)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [LookupError, LookupError]
    work = Work()
    work.gate.set()
    assert await flights.run("a", work) == 1


async def test_a_fresh_call_does_not_join_a_running_one() -> None:
    flights, work = SingleFlight[str, int](), Work()
    earlier = asyncio.create_task(flights.run("a", work))
    await settle()
    fresh = [asyncio.create_task(flights.run("a", work, require_new=True)) for _ in range(3)]
    await settle()
    work.gate.set()
    assert await earlier == 1
    assert await asyncio.gather(*fresh) == [2, 2, 2]


async def test_closing_cancels_running_calls() -> None:
    flights, work = SingleFlight[str, int](), Work()
    caller = asyncio.create_task(flights.run("a", work))
    await settle()
    await flights.close()
    with pytest.raises(asyncio.CancelledError):
        await caller
