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
from xapp_operator.config.settings import MIB
from xapp_operator.helm.processes import slots
from xapp_operator.helm.processes.limits import WAITING_MEMORY, HelmLimits
from xapp_operator.helm.processes.slots import HelmSlot, HelmSlots, ProcessUsage, SlotCounts, process_usage

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


@pytest.mark.parametrize(("cpu_seconds", "memory"), [(1.0, 0), (0.0, 2 * WAITING_MEMORY + 1)])
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


async def test_a_process_that_waits_takes_as_many_places_as_it_holds_memory() -> None:
    memory = WAITING_MEMORY + 1
    places = HelmSlots(limits(waiting=8), usage=lambda _: ProcessUsage(0, memory))
    async with places.slot("ns") as slot:
        slot.watch(1)
        await eventually(lambda: (places.running, places.waiting) == (0, 2), what="the process to wait in two places")
        memory = 3 * WAITING_MEMORY
        await eventually(lambda: (places.running, places.waiting) == (0, 3), what="the process to take a third place")
    assert (places.running, places.waiting) == (0, 0)


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
        usage[1] = ProcessUsage(0, 3 * WAITING_MEMORY)  # one place more than half of them
        await eventually(lambda: places.running == 1, what="the process to count as running")
        assert places.waiting == 1
        assert not slot.memory_exceeded


async def test_a_waiting_process_that_needs_memory_is_ended_when_no_place_is_free(
    programs: list[subprocess.Popen[bytes]],
) -> None:
    grown = False

    def usage(pid: int) -> ProcessUsage | None:
        found = process_usage(pid)
        return ProcessUsage(0, 3 * WAITING_MEMORY) if grown and found is not None else found

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


async def hold_idle(
    places: HelmSlots, stack: AsyncExitStack, programs: list[subprocess.Popen[bytes]], *, keys: str
) -> list[HelmSlot]:
    """Hold a place of each of `keys` with a process that only waits; it is returned when the process ends."""
    found = []
    for key in keys:
        async with asyncio.timeout(60):
            slot = await stack.enter_async_context(places.slot(key))
        slot.watch(start(programs))
        stack.callback(asyncio.create_task(_close_at_end(slot, programs[-1])).cancel)
        found.append(slot)
    return found


async def _close_at_end(slot: HelmSlot, process: subprocess.Popen[bytes]) -> None:
    await eventually(lambda: process.poll() is not None, what="the process to end")
    await slot.close()


@pytest.mark.parametrize(("hostile", "loses"), [("ab" * 6, "ab"), ("bcdeabcdeaaa", "a")])
async def test_several_namespaces_that_hold_all_places_give_one_to_another(
    programs: list[subprocess.Popen[bytes]], hostile: str, loses: str
) -> None:
    places = HelmSlots(limits(concurrency=6, waiting=6))
    async with AsyncExitStack() as stack:
        held = await hold_idle(places, stack, programs, keys=hostile)
        await eventually(lambda: (places.running, places.waiting) == (6, 6), what="all places to be taken")
        for count in (1, 2):
            async with asyncio.timeout(60):
                await stack.enter_async_context(places.slot("quiet"))
            ended = [slot.key for slot in held if slot.place_taken]
            assert len(ended) == count
        assert set(ended) == set(loses)  # each time the one that held the most


async def test_a_namespace_that_holds_almost_as_many_places_as_others_takes_none(
    programs: list[subprocess.Popen[bytes]],
) -> None:
    places = HelmSlots(limits(concurrency=5, waiting=0))
    async with AsyncExitStack() as stack:
        held = await hold_idle(places, stack, programs, keys="ababa")
        waiter = asyncio.create_task(places.slot("b").__aenter__())
        await eventually(lambda: all(slot.held_seconds for slot in held), what="all processes to be idle")
        for key in ("quiet", "other"):  # each needs a place, which is found: the loop has looked at "b" too
            async with asyncio.timeout(60):
                await stack.enter_async_context(places.slot(key))
        assert not waiter.done()
        assert [slot.ended_for for slot in held].count("b") == 0
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)


async def test_an_urgent_call_takes_a_place_of_its_own_namespace(programs: list[subprocess.Popen[bytes]]) -> None:
    places = HelmSlots(limits(concurrency=3, waiting=0))
    async with AsyncExitStack() as stack:
        held = await hold_idle(places, stack, programs, keys="n")
        async with asyncio.timeout(60), places.slot("n", urgent=True):
            assert held[0].ended_for == "n"


async def test_the_only_place_of_a_namespace_is_kept_for_a_while(
    programs: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = HelmSlots(limits(concurrency=1, waiting=0))
    async with AsyncExitStack() as stack:
        (held,) = await hold_idle(places, stack, programs, keys="o")
        waiter = asyncio.create_task(places.slot("two").__aenter__())
        await eventually(lambda: (held.held_seconds or 0.0) > 1.0, what="the process to be idle for a while")
        assert not held.place_taken
        monkeypatch.setattr(slots, "NO_ROOM_SECONDS", 0.5)
        async with asyncio.timeout(60):
            await (await waiter).close()


async def test_the_only_process_of_a_namespace_may_wait_longer_in_a_place_to_wait(
    programs: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = HelmSlots(limits(concurrency=1, waiting=2))
    async with AsyncExitStack() as stack:
        held = await hold_idle(places, stack, programs, keys="opq")
        waiter = asyncio.create_task(places.slot("two").__aenter__())
        await eventually(lambda: all((slot.held_seconds or 0.0) > 1.0 for slot in held), what="all to be idle")
        monkeypatch.setattr(slots, "LAST_PLACE_SECONDS", 0.5)
        monkeypatch.setattr(slots, "NO_ROOM_SECONDS", 0.5)
        async with asyncio.timeout(60):
            await (await waiter).close()
        assert sum(slot.place_taken for slot in held) == 1


@pytest.mark.parametrize(("memory", "seconds"), [(1, 600.0), (4 * WAITING_MEMORY, 150.0), (30 * WAITING_MEMORY, 30.0)])
async def test_a_process_that_holds_more_memory_may_wait_less_long(memory: int, seconds: float) -> None:
    places = HelmSlots(limits(waiting=60), usage=lambda _: ProcessUsage(0, memory))
    async with places.slot("ns") as slot:
        assert slot.patience_seconds == 30.0
        slot.watch(1)
        await eventually(lambda: places.waiting > 0, what="the process to wait")
        assert slot.patience_seconds == seconds


async def test_a_process_that_works_is_ended_only_after_a_while(
    programs: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    polls = 0

    def usage(_: int) -> ProcessUsage:
        nonlocal polls
        polls += 1
        return ProcessUsage(polls * 1.0, 0)

    places = HelmSlots(limits(concurrency=4, waiting=4), usage=usage)
    async with AsyncExitStack() as stack:
        held = await hold_idle(places, stack, programs, keys="abab")
        waiter = asyncio.create_task(places.slot("c").__aenter__())
        await eventually(lambda: polls > 60, what="many looks at the processes")
        assert not any(slot.place_taken for slot in held)
        monkeypatch.setattr(slots, "BUSY_SECONDS", 0.2)
        async with asyncio.timeout(60):
            await (await waiter).close()
        assert sum(slot.place_taken for slot in held) == 1


async def test_a_caller_that_is_cancelled_while_it_waits_leaves_nothing_behind() -> None:
    places = HelmSlots(limits(concurrency=1))
    async with places.slot("a"):
        waiter = asyncio.create_task(places.slot("b").__aenter__())
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
    async with asyncio.timeout(60), places.slot("c"):
        assert places.running == 1


async def test_places_are_counted_by_kind_with_those_who_wait_for_one() -> None:
    places = HelmSlots(limits(concurrency=2, waiting=4))
    async with places.slot("a"), places.slot("b"):
        waiter = asyncio.create_task(places.slot("c").__aenter__())
        await asyncio.sleep(0)
        assert places.counts() == SlotCounts(
            total={"running": 2, "waiting": 4}, used={"running": 2, "waiting": 0}, awaited=1
        )
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
    assert places.counts() == SlotCounts(
        total={"running": 2, "waiting": 4}, used={"running": 0, "waiting": 0}, awaited=0
    )
