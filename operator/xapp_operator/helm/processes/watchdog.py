"""Starts helm only while the operator may act, and has a process beside it that ends helm otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult, run_process
from xapp_operator.errors import HelmError
from xapp_operator.helm.processes import watchdog_process
from xapp_operator.telemetry.logs import get_logger

STOP_SECONDS: Final = 5.0

_log = get_logger(__name__)


class HelmWatchdog:
    """Knows until when the operator may act: the time at which another operator may take over.

    Two helm processes must never work on one release. An operator that loses its Lease ends its helm processes itself,
    but one that is stopped cannot. So a second process does, which is told each deadline (`watchdog_process`).
    """

    def __init__(self, *, grace_seconds: float) -> None:
        """Prepare; helm processes have `grace_seconds` to end after the deadline."""
        self._grace = grace_seconds
        self._deadline = math.inf
        self._folder: Path | None = None
        self._process: Process | None = None
        self._restarting: asyncio.Task[None] | None = None

    def extend(self, deadline: float) -> None:
        """Set until when the operator may act, in seconds of the monotonic clock."""
        self._deadline = deadline
        if self._process is None:
            return
        if self._process.returncode is None and self._process.stdin is not None:
            self._process.stdin.write(f"{deadline!r}\n".encode())
        elif self._restarting is None or self._restarting.done():
            _log.warning("the watchdog of helm has ended and is started again", exit_code=self._process.returncode)
            self._restarting = asyncio.create_task(self._start())

    @contextlib.asynccontextmanager
    async def watching(self, folder: Path) -> AsyncIterator[None]:
        """Watch the processes that work in `folder` during the block."""
        self._folder = folder
        await self._start()
        try:
            yield
        finally:
            await self._stop()

    async def run_process(
        self, command: Command, *, limits: ProcessLimits, on_start: Callable[[int], None] | None = None
    ) -> ProcessResult:
        """Run `command` as `bounded_process.run_process` does.

        Raises:
            HelmError: when the operator may no longer act.
            OSError: when the program cannot be started.
        """
        if time.monotonic() >= self._deadline:
            raise HelmError("helm is not started, because another operator may be leading now")
        return await run_process(command, limits=limits, on_start=on_start)

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", watchdog_process.__file__, str(self._folder), repr(self._deadline), repr(self._grace)),
            stdin=PIPE,
            cwd="/",
            env={},
            start_new_session=True,
        )

    async def _stop(self) -> None:
        if self._restarting is not None:
            await self._restarting
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
