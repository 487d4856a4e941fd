"""One process from start to end: bounded in time, memory and output, and never left behind.

Knows nothing of helm or Kubernetes. At the deadline, or when the calling task is cancelled, the process group gets
SIGTERM, and SIGKILL if it still runs after a grace period. A second cancellation does not wait for the grace period.

`subprocess` starts it, not the event loop: uvloop forks, which copies the page tables of this process and lets it fault
on each page that it writes afterwards. A process that used all of its 95 MB between two starts took 20 ms of processor
time for each, and takes 2 ms with `vfork`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import threading
import time
from asyncio import StreamReader, StreamReaderProtocol
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Protocol, TypeAlias

from xapp_operator.common.loop_pipe import LoopPipe

READ_BYTES: Final = 64 * 1024
STDERR_HEAD_BYTES: Final = 8 * 1024
STDERR_TAIL_BYTES: Final = 64 * 1024
AFTER_KILL_SECONDS: Final = 5.0
_CPU_SIGNAL_GRACE_SECONDS: Final = 2

_Process: TypeAlias = "subprocess.Popen[bytes]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to start. It does not inherit our environment, and no shell reads the arguments.

    `stdin` is the input itself, or an open file that the process reads from its current position.
    """

    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    working_folder: Path
    stdin: bytes | IO[bytes] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Bounds of one process.

    `cpu_seconds` of processor time end it; None sets no such bound. By default with SIGKILL, because Go ignores
    SIGXCPU; with `cpu_signal`, by SIGXCPU, which tells why it ended. `niceness` lowers its priority, so that this
    process answers in time however many others there are.
    """

    timeout_seconds: float
    grace_seconds: float
    memory_bytes: int
    stdout_bytes: int
    cpu_seconds: int | None = None
    cpu_signal: bool = False
    niceness: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """How a process ended. A negative `exit_code` is the signal that ended it.

    `stderr` has its first 8 KiB and its last 64 KiB. `timed_out` means that the deadline ended the process.
    """

    exit_code: int
    stdout: bytes = field(repr=False)
    stdout_truncated: bool
    stderr: str
    timed_out: bool
    duration_seconds: float


class ProcessStarter(Protocol):
    """Runs a process from start to end; `run_process` does."""

    async def __call__(
        self, command: Command, *, limits: ProcessLimits, on_start: Callable[[int], None] | None = None
    ) -> ProcessResult:
        """Return the result; the process is gone when this returns or raises."""


async def run_process(
    command: Command, *, limits: ProcessLimits, on_start: Callable[[int], None] | None = None
) -> ProcessResult:
    """Run `command` within `limits` and return its result; the process is gone when this returns or raises.

    `on_start` is called with its process id, which is that of its group too.

    Raises:
        OSError: when the program cannot be started.
    """
    started = time.monotonic()
    with _stdin_file(command.stdin) as stdin:
        process: _Process = subprocess.Popen(  # noqa: ASYNC220 - returns when the program has been loaded
            [command.program, *command.arguments],
            bufsize=0,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(command.environment),
            cwd=command.working_folder,
            start_new_session=True,
        )
    output = _OutputBuffer(limit=limits.stdout_bytes)
    communication = asyncio.ensure_future(_communicate(process, output))
    try:
        _set_limits(process.pid, limits)
        if on_start is not None:
            on_start(process.pid)
        await asyncio.wait({communication}, timeout=limits.timeout_seconds)
        timed_out = not communication.done()
    finally:
        if not communication.done():
            await _terminate(process, communication, grace_seconds=limits.grace_seconds)
    return ProcessResult(
        exit_code=-signal.SIGKILL if communication.cancelled() else communication.result(),
        stdout=bytes(output.stdout),
        stdout_truncated=output.stdout_truncated,
        stderr=output.stderr(),
        timed_out=timed_out,
        duration_seconds=time.monotonic() - started,
    )


class _OutputBuffer:
    """The output up to its bounds; the rest is read and dropped, so that the process never blocks on a full pipe."""

    def __init__(self, *, limit: int) -> None:
        self.stdout = bytearray()
        self.stdout_truncated = False
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = False

    def add_stdout(self, chunk: bytes) -> None:
        room = self._limit - len(self.stdout)
        self.stdout += chunk[:room]
        self.stdout_truncated = self.stdout_truncated or len(chunk) > room

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


@contextmanager
def _stdin_file(stdin: bytes | IO[bytes] | None) -> Iterator[int | IO[bytes]]:
    """Give what the process reads: a file in memory for bytes, which nobody has to write while it runs."""
    if not isinstance(stdin, bytes):
        yield subprocess.DEVNULL if stdin is None else stdin
        return
    with os.fdopen(os.memfd_create("stdin"), "r+b", buffering=0) as file:
        view = memoryview(stdin)
        while view:
            view = view[file.write(view) :]
        file.seek(0)
        yield file


async def _communicate(process: _Process, output: _OutputBuffer) -> int:
    async def read(pipe: IO[bytes] | None, add: Callable[[bytes], None]) -> None:
        if pipe is None:
            return
        stream, loop = StreamReader(), asyncio.get_running_loop()
        owned = LoopPipe.taken_from(pipe, loop)
        transport, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(stream), owned)
        with contextlib.closing(transport):
            while chunk := await stream.read(READ_BYTES):
                add(chunk)

    try:
        await asyncio.gather(read(process.stdout, output.add_stdout), read(process.stderr, output.add_stderr))
        return await _exit_code(process)
    finally:
        if process.poll() is None:  # killed, and nobody waits for its end any more: no zombie may stay
            threading.Thread(target=process.wait, daemon=True).start()


async def _exit_code(process: _Process) -> int:
    """Wait for the end of a process whose output has ended."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    try:
        descriptor = os.pidfd_open(process.pid)  # readable when the process has ended
    except OSError:  # no file descriptor is left, or a kernel without
        return await asyncio.to_thread(process.wait)
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return process.wait()


def _set_limits(pid: int, limits: ProcessLimits) -> None:
    # Set after the start, because code between fork and exec is unsafe in a process with threads. RLIMIT_DATA, not
    # RLIMIT_AS: the Go runtime reserves far more address space than it uses.
    _lower_limit(pid, resource.RLIMIT_DATA, limits.memory_bytes)
    _lower_limit(pid, resource.RLIMIT_CORE, 0)
    if limits.niceness:
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PGRP, pid, limits.niceness)  # by group: on Linux, PRIO_PROCESS is one thread
    if limits.cpu_seconds is not None:
        grace = _CPU_SIGNAL_GRACE_SECONDS if limits.cpu_signal else 0
        _lower_limit(pid, resource.RLIMIT_CPU, limits.cpu_seconds, grace=grace)


def _lower_limit(pid: int, limit: int, value: int, *, grace: int = 0) -> None:
    with contextlib.suppress(ProcessLookupError):
        hard = resource.prlimit(pid, limit)[1]
        bound = value + grace if hard == resource.RLIM_INFINITY else min(value + grace, hard)
        resource.prlimit(pid, limit, (min(value, bound), bound))


async def _terminate(process: _Process, communication: asyncio.Future[int], *, grace_seconds: float) -> None:
    _signal_group(process, signal.SIGTERM)
    try:
        await asyncio.wait({communication}, timeout=grace_seconds)
        if not communication.done():
            _signal_group(process, signal.SIGKILL)
            await asyncio.wait({communication}, timeout=AFTER_KILL_SECONDS)
    finally:
        if not communication.done():
            _signal_group(process, signal.SIGKILL)
            communication.cancel()
    await asyncio.wait({communication})


def _signal_group(process: _Process, number: signal.Signals) -> None:
    # The group outlives its leader only while a child holds our pipes, and then `communication` is not done. So the
    # id still belongs to this group.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
