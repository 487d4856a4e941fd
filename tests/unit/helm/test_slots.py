"""A process that only waits gives its place back; one that works, or holds much memory, keeps it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from xapp_operator.config import MIB
from xapp_operator.helm import slots
from xapp_operator.helm.limits import WAITING_MEMORY, HelmLimits
from xapp_operator.helm.slots import HelmSlots, ProcessUsage, process_usage

WAITING = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(slots, "IDLE_SECONDS", 0.25)
    monkeypatch.setattr(slots, "IDLE_CPU_SECONDS", 0.015)  # one tick of the clock is 0.01


@pytest.fixture
def programs() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def start(programs: list[subprocess.Popen[bytes]]) -> int:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    programs.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process.pid


def limits(*, concurrency: int = 4, waiting: int = 4) -> HelmLimits:
    return HelmLimits(
        concurrency=concurrency, memory_bytes=300 * MIB, waiting=waiting, memory_variable="XAPP_HELM_MEMORY"
    )


async def test_a_process_that_waits_gives_its_place_to_others(programs: list[subprocess.Popen[bytes]]) -> None:
    places = HelmSlots(limits(concurrency=1))
    async with places.slot("ns") as slot:
        slot.watch(start(programs))
        await eventually(lambda: places.waiting == 1, what="the process to count as waiting")
        assert places.running == 0
        async with asyncio.timeout(60), places.slot("ns"):
            assert (places.running, places.waiting) == (1, 1)
    assert (places.running, places.waiting) == (0, 0)


@pytest.mark.parametrize(("cpu_seconds", "memory"), [(1.0, 0), (0.0, WAITING_MEMORY + 1)])
async def test_a_process_that_works_or_holds_much_memory_keeps_its_place(cpu_seconds: float, memory: int) -> None:
    polls = 0

    def usage(_: int) -> ProcessUsage:
        nonlocal polls
        polls += 1
        return ProcessUsage(polls * cpu_seconds, memory)

    places = HelmSlots(limits(), usage=usage)
    async with places.slot("ns") as slot:
        slot.watch(1)
        await eventually(lambda: polls > 20, what="many looks at the process")
        assert (places.running, places.waiting) == (1, 0)


async def test_one_namespace_gets_half_of_the_places_to_wait(programs: list[subprocess.Popen[bytes]]) -> None:
    places = HelmSlots(limits(concurrency=10, waiting=4))
    async with AsyncExitStack() as stack:
        for _ in range(3):
            slot = await stack.enter_async_context(places.slot("flood"))
            slot.watch(start(programs))
        await eventually(lambda: places.waiting == 2, what="two processes to count as waiting")
        slot = await stack.enter_async_context(places.slot("quiet"))
        slot.watch(start(programs))
        await eventually(lambda: places.waiting == 3, what="the process of the other namespace to count as waiting")
        assert places.running == 1


async def test_a_waiting_process_that_needs_memory_runs_again_or_is_ended() -> None:
    usage = {1: ProcessUsage(0, 0), 2: ProcessUsage(0, 0)}
    places = HelmSlots(limits(concurrency=1, waiting=4), usage=lambda pid: usage[pid])
    async with AsyncExitStack() as stack:
        for pid in usage:
            slot = await stack.enter_async_context(places.slot("ns"))
            slot.watch(pid)
            await eventually(lambda: places.running == 0, what="the process to count as waiting")
        usage[1] = ProcessUsage(0, WAITING_MEMORY + 1)
        await eventually(lambda: places.running == 1, what="the process to count as running")
        assert places.waiting == 1
        assert not slot.memory_exceeded


async def test_a_waiting_process_that_needs_memory_is_ended_when_no_place_is_free(
    programs: list[subprocess.Popen[bytes]],
) -> None:
    grown = False

    def usage(pid: int) -> ProcessUsage | None:
        found = process_usage(pid)
        return ProcessUsage(0, WAITING_MEMORY + 1) if grown and found is not None else found

    places = HelmSlots(limits(concurrency=1), usage=usage)
    async with places.slot("ns") as slot:
        pid = start(programs)
        slot.watch(pid)
        await eventually(lambda: places.waiting == 1, what="the process to count as waiting")
        async with places.slot("other"):
            grown = True
            await eventually(lambda: slot.memory_exceeded, what="the process to be ended")
            assert await asyncio.to_thread(programs[0].wait, 60) < 0


def test_the_usage_of_a_process_that_has_ended_is_unknown(programs: list[subprocess.Popen[bytes]]) -> None:
    pid = start(programs)
    found = process_usage(pid)
    assert found is not None
    assert 0 < found.memory_bytes < 1024 * MIB
    programs[0].kill()
    programs[0].wait()
    assert process_usage(pid) is None
    assert not Path(f"/proc/{pid}").exists()
