"""A step can be ended by us, and only then is it called interrupted."""

from __future__ import annotations

import asyncio

import pytest

from xapp_operator.reconcile.running import RunningSteps, StepInterrupted

KEY = ("ns", "a")


async def test_result_of_the_step_is_returned() -> None:
    async def step() -> int:
        return 7

    running = RunningSteps()
    assert await running.run(KEY, step()) == 7
    assert not running.is_running(KEY)


async def test_interrupted_step_is_ended_and_named() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = RunningSteps()
    work = asyncio.create_task(running.run(KEY, step()))
    await begun.wait()
    running.interrupt(KEY)
    with pytest.raises(StepInterrupted):
        await work
    assert ended.is_set()
    assert not running.is_running(KEY)


async def test_cancellation_from_outside_is_no_interruption_and_ends_the_step() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def step() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = RunningSteps()
    work = asyncio.create_task(running.run(KEY, step()))
    await begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert ended.is_set()


async def test_interrupting_what_does_not_run_changes_nothing() -> None:
    async def step() -> str:
        return "done"

    running = RunningSteps()
    running.interrupt(KEY)
    assert await running.run(KEY, step()) == "done"
