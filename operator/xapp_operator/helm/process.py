"""One process from start to end: bounded in time, memory and output, and never left behind.

Knows nothing of helm or Kubernetes. Lives in `helm` because this package is the only one that starts processes. A
deadline or the cancellation of the calling task ends the process group with SIGTERM, and with SIGKILL when it is still
there after a grace; a second cancellation does not wait for the grace.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

READ_BYTES: Final = 64 * 1024
STDERR_HEAD_BYTES: Final = 8 * 1024
STDERR_TAIL_BYTES: Final = 64 * 1024
AFTER_KILL_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to start: nothing of our own environment is inherited, and no shell reads the arguments."""

    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    stdin: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one process: `seconds` of time, then `grace` seconds for SIGTERM; `memory` and `output` in bytes.

    `cpu_seconds` of processor time end it with SIGKILL; None sets no such bound.
    """

    seconds: float
    grace: float
    memory: int
    output: int
    cpu_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a process ended. A negative `code` is the signal that ended it.

    `stdout` has at most the bytes that the limits allow, `overflowed` tells that there were more. `stderr` has its
    first 8 KiB and its last 64 KiB. `expired` tells that the deadline ended it.
    """

    code: int
    stdout: bytes = field(repr=False)
    overflowed: bool
    stderr: str
    expired: bool
    seconds: float


async def run(command: Command, *, limits: Limits) -> Outcome:
    """Run `command` within `limits` and return how it ended; when this returns or raises, the process is gone.

    Raises:
        OSError: when the program cannot be started.
    """
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        command.program,
        *command.arguments,
        stdin=DEVNULL if command.stdin is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=dict(command.environment),
        cwd=command.folder,
        start_new_session=True,
    )
    kept = _Kept(limit=limits.output)
    talk = asyncio.ensure_future(_talk(process, stdin=command.stdin, kept=kept))
    try:
        _set_limits(process.pid, limits)
        await asyncio.wait({talk}, timeout=limits.seconds)
        expired = not talk.done()
    finally:
        if not talk.done():
            await _end(process, talk, grace=limits.grace)
    return Outcome(
        code=-signal.SIGKILL if talk.cancelled() else talk.result(),
        stdout=bytes(kept.stdout),
        overflowed=kept.overflowed,
        stderr=kept.stderr(),
        expired=expired,
        seconds=time.monotonic() - started,
    )


class _Kept:
    """What is kept of the output; the rest is read and dropped, so that the process never blocks on a full pipe."""

    def __init__(self, *, limit: int) -> None:
        self.stdout = bytearray()
        self.overflowed = False
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = False

    def add_stdout(self, chunk: bytes) -> None:
        room = self._limit - len(self.stdout)
        self.stdout += chunk[:room]
        self.overflowed = self.overflowed or len(chunk) > room

    def add_stderr(self, chunk: bytes) -> None:
        room = STDERR_HEAD_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > STDERR_TAIL_BYTES:
            del self._tail[:-STDERR_TAIL_BYTES]
            self._dropped = True

    def stderr(self) -> str:
        middle = b"\n[...]\n" if self._dropped else b""
        return (self._head + middle + self._tail).decode("utf-8", "replace")


async def _talk(process: Process, *, stdin: bytes | None, kept: _Kept) -> int:
    async def feed() -> None:
        if process.stdin is None or stdin is None:
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(stdin)
            await process.stdin.drain()
        process.stdin.close()

    async def read_stdout() -> None:
        while process.stdout is not None and (chunk := await process.stdout.read(READ_BYTES)):
            kept.add_stdout(chunk)

    async def read_stderr() -> None:
        while process.stderr is not None and (chunk := await process.stderr.read(READ_BYTES)):
            kept.add_stderr(chunk)

    await asyncio.gather(feed(), read_stdout(), read_stderr())
    return await process.wait()


def _set_limits(pid: int, limits: Limits) -> None:
    # Set from outside, after the start: a function run between fork and exec is unsafe in a process with threads.
    # RLIMIT_DATA, not RLIMIT_AS: the Go runtime reserves far more address space than it uses. Soft and hard CPU limit
    # are the same, because Go ignores the signal of the soft one.
    _lower(pid, resource.RLIMIT_DATA, limits.memory)
    _lower(pid, resource.RLIMIT_CORE, 0)
    if limits.cpu_seconds is not None:
        _lower(pid, resource.RLIMIT_CPU, limits.cpu_seconds)


def _lower(pid: int, what: int, value: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        hard = resource.prlimit(pid, what)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.prlimit(pid, what, (bound, bound))


async def _end(process: Process, talk: asyncio.Future[int], *, grace: float) -> None:
    _signal_group(process, signal.SIGTERM)
    try:
        await asyncio.wait({talk}, timeout=grace)
    finally:
        if not talk.done():
            _signal_group(process, signal.SIGKILL)
    await asyncio.wait({talk}, timeout=AFTER_KILL_SECONDS)
    if talk.cancel():
        await asyncio.wait({talk})


def _signal_group(process: Process, number: signal.Signals) -> None:
    # The group outlives its leader only while a child holds our pipes, and `talk` then is not done: its number is
    # still taken and names no other process.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
