"""The places of helm processes: running ones and ones that only wait for a hook, each shared fairly by namespace.

A hook may take as long as `spec.timeout`, up to 24 hours. A process that uses no processor time for IDLE_SECONDS gives
its place to others and counts among those that wait. There it takes as many places as it holds memory (WAITING_MEMORY
each). When those places are full too, the longest of them are ended for namespaces that hold fewer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xapp_operator.common.fair_slots import FairSlots, NoFreeSlot
from xapp_operator.helm.processes.limits import WAITING_MEMORY, HelmLimits

POLL_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 5.0
IDLE_CPU_SECONDS: Final = 0.05
"""A process that uses less in POLL_SECONDS does nothing but wait. Measured: 0 for a helm that waits for a hook."""
TERM_SECONDS: Final = 10.0
BUSY_SECONDS: Final = 120.0
"""A process that runs for longer can be ended like one that waits."""
LAST_PLACE_SECONDS: Final = 600.0
"""How long the only process of a key may wait while other keys hold none, if it takes one place."""
NO_ROOM_SECONDS: Final = 30.0
"""The same for a process that holds a running place, because there is no room for it among those that wait."""

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_newest: ContextVar[HelmSlot | None] = ContextVar("the newest place of this task", default=None)


def held_slot() -> HelmSlot | None:
    """Return the place that the current task, or the one that started it, holds for a process it has not started.

    Such a task must not wait for a second place: when all places are held like that, nobody ever gets one.
    """
    slot = _newest.get()
    return None if slot is None or slot.closed or slot.started else slot


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotCounts:
    """How many slots there are and how many are in use, by kind, and how many callers wait for one."""

    total: Mapping[str, int]
    used: Mapping[str, int]
    awaited: int


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """What a process has used: seconds of processor time, and bytes of memory that it shares with no other."""

    cpu_seconds: float
    memory_bytes: int


def process_usage(pid: int) -> ProcessUsage | None:
    """Return the usage of a process, or None when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    _, found, rest = status.partition("RssAnon:")
    if not found:
        return None  # ended, but not yet waited for
    return ProcessUsage(
        cpu_seconds=(int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND, memory_bytes=int(rest.split()[0]) * 1024
    )


class HelmSlots:
    """The places of all helm processes of one engine.

    While somebody waits, helm processes that hold places for long are ended in favour of namespaces that hold fewer
    (`_make_room`). Without that, hooks of a few namespaces would hold all places for 24 hours.
    """

    def __init__(self, limits: HelmLimits, *, usage: Callable[[int], ProcessUsage | None] = process_usage) -> None:
        # They are held for hours, so one key gets half, not all but two.
        self._waiting = FairSlots(limits.waiting, per_key=max(1, limits.waiting // 2))
        self._running = FairSlots(limits.concurrency, held_elsewhere=self._waiting.held_by)
        self._usage = usage
        self._slots: set[HelmSlot] = set()
        self._demand: Counter[tuple[str, bool]] = Counter()  # callers that wait, by key and whether they are urgent
        self._rebalancing: asyncio.Task[None] | None = None

    @property
    def running(self) -> int:
        return self._running.in_use

    @property
    def waiting(self) -> int:
        return self._waiting.in_use

    def counts(self) -> SlotCounts:
        return SlotCounts(
            total={"running": self._running.capacity, "waiting": self._waiting.capacity},
            used={"running": self.running, "waiting": self.waiting},
            awaited=self._demand.total(),
        )

    @asynccontextmanager
    async def slot(self, key: str, *, urgent: bool = False) -> AsyncIterator[HelmSlot]:
        """Wait for a place of `key` and hold it inside the block.

        If none is free, a process is ended that only waits, or has worked for BUSY_SECONDS: one of a key that holds
        more places, and for an `urgent` caller also one of `key`.
        """
        await self._acquire(key, urgent=urgent)
        held = ExitStack()
        held.callback(self._running.release, key)
        slot = HelmSlot(key, held=held, running=self._running, waiting=self._waiting, usage=self._usage)
        self._slots.add(slot)
        _newest.set(slot)
        async with AsyncExitStack() as stack:
            stack.callback(self._slots.discard, slot)
            stack.push_async_callback(slot.close)
            yield slot

    async def _acquire(self, key: str, *, urgent: bool) -> None:
        if self._running.is_free(key):
            await self._running.acquire(key)
            return
        self._demand[key, urgent] += 1
        if self._rebalancing is None or self._rebalancing.done():
            self._rebalancing = asyncio.create_task(self._rebalance(), name="helm places")
        try:
            await self._running.acquire(key)
        finally:
            self._demand[key, urgent] -= 1
            if not self._demand[key, urgent]:
                del self._demand[key, urgent]

    async def _rebalance(self) -> None:
        while self._demand:
            await asyncio.sleep(POLL_SECONDS)  # first, so that an idle process can move to a waiting place
            for key, urgent in list(self._demand):
                self._make_room(key, urgent=urgent)

    def _make_room(self, key: str, *, urgent: bool) -> None:
        """End the process that has been idle longest, of the key that holds most, if the demand of `key` is fair."""
        slots = [slot for slot in self._slots if not slot.closed]
        if any(slot.ended_for == key for slot in slots):
            return  # one at a time: its place will be free soon
        held = Counter(slot.key for slot in slots if not slot.place_taken)
        at_limit = self._running.at_limit(key)

        def can_end(slot: HelmSlot) -> bool:
            if slot.place_taken or slot.held_seconds is None:
                return False
            if slot.key == key:
                return urgent
            last_place = not held[key] and slot.held_seconds >= slot.patience_seconds
            return not at_limit and (held[slot.key] >= held[key] + 2 or last_place)

        stuck = [slot for slot in slots if slot.in_running_place and slot.held_seconds is not None]
        if not stuck or any(slot.can_move for slot in stuck):
            return  # all that run do work, so one of them ends soon; or one of them moves soon
        # Where one that waits is ended, one that holds a running place without need moves to its place.
        chosen = max(
            filter(can_end, slots),
            key=lambda slot: (held[slot.key], slot.in_running_place, slot.held_seconds or 0.0),
            default=None,
        )
        if chosen is not None:
            chosen.end_for(key)


class HelmSlot:
    """The place of one helm process."""

    def __init__(
        self,
        key: str,
        *,
        held: ExitStack,
        running: FairSlots,
        waiting: FairSlots,
        usage: Callable[[int], ProcessUsage | None],
    ) -> None:
        self.key = key
        self._held = held
        self._running = running
        self._waiting = waiting
        self._usage = usage
        self._pid = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._lent = asyncio.Lock()
        self._started = 0.0
        self._idle_since: float | None = None
        self._places = 0  # of those to wait: what it has, and what it would take
        self._places_needed = 1
        self.in_running_place = True
        self.closed = False
        self.memory_exceeded = False
        """Whether the process was ended, because it needed more memory than its places to wait have."""
        self.ended_for: str | None = None
        """The key for which the process was ended."""

    @property
    def started(self) -> bool:
        """Whether the process runs that the place is for."""
        return self._pid != 0

    @property
    def place_taken(self) -> bool:
        """Whether the process was ended for another one."""
        return self.ended_for is not None

    @property
    def held_seconds(self) -> float | None:
        """For how long the process has held its place without need; None while it needs it."""
        now = asyncio.get_running_loop().time()
        if self._idle_since is not None and now - self._idle_since >= IDLE_SECONDS:
            return now - self._idle_since
        if self._started and now - self._started >= BUSY_SECONDS:
            return now - self._started
        return None

    @property
    def patience_seconds(self) -> float:
        """For how long the process may hold the last place of its key while another key has none."""
        return max(LAST_PLACE_SECONDS / self._places, NO_ROOM_SECONDS) if self._places else NO_ROOM_SECONDS

    @property
    def can_move(self) -> bool:
        """Whether there is room for the process among those that wait."""
        places = _take_now(self._waiting, self.key, count=self._places_needed)
        if places is None:
            return False
        places.close()
        return self._idle_since is not None

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[HelmSlot]:
        """Hold the place inside the block for a short process, one at a time, before the process that it is for."""
        async with self._lent:
            yield self

    def watch(self, pid: int) -> None:
        """Watch the process `pid`, the leader of its group, from now on."""
        self._pid, self._started = pid, asyncio.get_running_loop().time()
        self._tasks.append(asyncio.create_task(self._watch_process(pid), name=f"helm {pid}"))

    def end_for(self, key: str) -> None:
        """End the process, because `key` needs its place."""
        self.ended_for = key
        self._tasks.append(asyncio.create_task(self._end(self._pid), name=f"end helm {self._pid}"))

    async def close(self) -> None:
        """Return the place; a second call does nothing."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self.closed = True
        self._held.close()

    async def _watch_process(self, pid: int) -> None:
        while await self._watch_running(pid) and await self._watch_waiting(pid):
            pass

    async def _watch_running(self, pid: int) -> bool:
        """Return True when the process has a place to wait, and False when it has ended."""
        cpu_seconds = 0.0
        while True:
            await asyncio.sleep(POLL_SECONDS)
            usage = self._usage(pid)
            if usage is None:
                return False
            now = asyncio.get_running_loop().time()
            if usage.cpu_seconds - cpu_seconds >= IDLE_CPU_SECONDS:
                self._idle_since = None
            elif self._idle_since is None:
                self._idle_since = now - POLL_SECONDS
            cpu_seconds = usage.cpu_seconds
            idle = self._idle_since is not None and now - self._idle_since >= IDLE_SECONDS
            self._places_needed = _places_for(usage.memory_bytes)
            if idle and self._move_to(self._waiting, count=self._places_needed):
                return True

    async def _watch_waiting(self, pid: int) -> bool:
        """Return True when the process has a running place again, and False when it has ended."""
        while (usage := self._usage(pid)) is not None:
            if not self._has_room(usage.memory_bytes):
                self._idle_since = None
                if self._move_to(self._running):
                    return True
                self.memory_exceeded = True
                await self._end(pid)
                return False
            await asyncio.sleep(POLL_SECONDS)
        return False

    def _has_room(self, memory_bytes: int) -> bool:
        """Return whether so much memory fits the places to wait, after taking more of them if there are any."""
        missing = _places_for(memory_bytes) - self._places
        if missing > 0 and (more := _take_now(self._waiting, self.key, count=missing)) is not None:
            self._held.push(more.__exit__)
            self._places += missing
            return True
        return missing <= 0

    def _move_to(self, slots: FairSlots, *, count: int = 1) -> bool:
        """Exchange the place for `count` places of `slots`, if they are free now."""
        places = _take_now(slots, self.key, count=count)
        if places is None:
            return False
        self._held, former = places, self._held
        self.in_running_place = slots is self._running
        self._places = 0 if self.in_running_place else count
        former.close()
        return True

    async def _end(self, pid: int) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
            await asyncio.sleep(TERM_SECONDS)


def _places_for(memory_bytes: int) -> int:
    """Return how many places a process takes that waits and holds so much memory."""
    return max(1, -(-memory_bytes // WAITING_MEMORY))


def _take_now(slots: FairSlots, key: str, *, count: int) -> ExitStack | None:
    """Take `count` places of `slots`, or none of them."""
    with ExitStack() as places:
        try:
            for _ in range(count):
                places.enter_context(slots.slot_now(key))
        except NoFreeSlot:
            return None
        return places.pop_all()
