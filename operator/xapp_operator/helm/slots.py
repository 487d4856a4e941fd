"""The places of helm processes: running ones and ones that only wait for a hook, each shared fairly by namespace.

A hook may take as long as `spec.timeout`, up to 24 hours. A process that uses no processor time for IDLE_SECONDS, and
holds little memory, gives its place to others and counts among those that wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xapp_operator.common.fair_slots import FairSlots, NoFreeSlot
from xapp_operator.helm.limits import WAITING_MEMORY, HelmLimits

POLL_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 5.0
IDLE_CPU_SECONDS: Final = 0.05
"""A process that uses less in POLL_SECONDS does nothing but wait. Measured: 0 for a helm that waits for a hook."""
TERM_SECONDS: Final = 10.0

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")


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
    """The places of all helm processes of one engine."""

    def __init__(self, limits: HelmLimits, *, usage: Callable[[int], ProcessUsage | None] = process_usage) -> None:
        self._running = FairSlots(limits.concurrency)
        # They are held for hours, so one key gets half, not all but two.
        self._waiting = FairSlots(limits.waiting, per_key=max(1, limits.waiting // 2))
        self._usage = usage

    @property
    def running(self) -> int:
        return self._running.in_use

    @property
    def waiting(self) -> int:
        return self._waiting.in_use

    @asynccontextmanager
    async def slot(self, key: str) -> AsyncIterator[HelmSlot]:
        """Wait for a place of `key` and hold it inside the block."""
        await self._running.acquire(key)
        held = ExitStack()
        held.callback(self._running.release, key)
        slot = HelmSlot(key, held=held, running=self._running, waiting=self._waiting, usage=self._usage)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(slot.close)
            yield slot


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
        self._key = key
        self._held = held
        self._running = running
        self._waiting = waiting
        self._usage = usage
        self._watch: asyncio.Task[None] | None = None
        self.memory_exceeded = False
        """Whether the process was ended, because it needed more than WAITING_MEMORY without a running place."""

    def watch(self, pid: int) -> None:
        """Watch the process `pid`, the leader of its group, from now on."""
        self._watch = asyncio.create_task(self._watch_process(pid), name=f"helm {pid}")

    async def close(self) -> None:
        """Return the place."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        self._held.close()

    async def _watch_process(self, pid: int) -> None:
        idle_seconds, cpu_seconds = 0.0, 0.0
        while True:
            await asyncio.sleep(POLL_SECONDS)
            usage = self._usage(pid)
            if usage is None:
                return
            idle = usage.cpu_seconds - cpu_seconds < IDLE_CPU_SECONDS and usage.memory_bytes <= WAITING_MEMORY
            idle_seconds, cpu_seconds = idle_seconds + POLL_SECONDS if idle else 0.0, usage.cpu_seconds
            if idle_seconds >= IDLE_SECONDS and self._move_to(self._waiting):
                break
        while (usage := self._usage(pid)) is not None:
            if usage.memory_bytes > WAITING_MEMORY:
                if not self._move_to(self._running):
                    await self._end(pid)
                return
            await asyncio.sleep(POLL_SECONDS)

    def _move_to(self, slots: FairSlots) -> bool:
        """Exchange the place for one of `slots`, if one is free now."""
        place = ExitStack()
        try:
            place.enter_context(slots.slot_now(self._key))
        except NoFreeSlot:
            return False
        self._held, former = place, self._held
        former.close()
        return True

    async def _end(self, pid: int) -> None:
        self.memory_exceeded = True
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
            await asyncio.sleep(TERM_SECONDS)
