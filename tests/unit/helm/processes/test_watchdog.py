"""The watchdog ends what works in helm's folder when the operator may no longer act; with real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from xapp_operator.common.bounded_process import Command, ProcessLimits
from xapp_operator.errors import HelmError
from xapp_operator.helm.processes import watchdog_process
from xapp_operator.helm.processes.watchdog import HelmWatchdog

SECONDS = 30.0
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"


@contextmanager
def working_in(folder: Path, *, program: tuple[str, ...] = ("sleep", "600")) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in `folder` during the block."""
    folder.mkdir(exist_ok=True)
    with subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


async def ends_by(process: subprocess.Popen[bytes]) -> int:
    return await asyncio.to_thread(process.wait, SECONDS)


def watchdogs_of(folder: Path) -> list[int]:
    """Return the watchdog processes of `folder`. One that has just been started has no command line yet."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
            if watchdog_process.__file__.encode() in arguments and str(folder).encode() in arguments:
                found.append(int(entry.name))
    return found


async def test_processes_end_when_the_deadline_has_passed_and_others_stay(tmp_path: Path) -> None:
    watchdog = HelmWatchdog(grace_seconds=SECONDS)
    watchdog.extend(time.monotonic() + 600)
    async with watchdog.watching(tmp_path / "helm"):
        with working_in(tmp_path / "helm") as inside, working_in(tmp_path / "other") as outside:
            watchdog.extend(time.monotonic() + 900)
            assert inside.poll() is None
            watchdog.extend(time.monotonic())
            assert await ends_by(inside) == -signal.SIGTERM
            with working_in(tmp_path / "helm") as later:
                assert await ends_by(later) == -signal.SIGTERM
            assert outside.poll() is None


async def test_a_process_that_ignores_sigterm_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    watchdog = HelmWatchdog(grace_seconds=0.2)
    async with watchdog.watching(tmp_path / "helm"):
        with working_in(tmp_path / "helm", program=(sys.executable, "-c", DEAF)) as deaf:
            assert deaf.stdout is not None
            assert await asyncio.to_thread(deaf.stdout.readline) == b"ready\n"
            watchdog.extend(time.monotonic())
            assert await ends_by(deaf) == -signal.SIGKILL


async def test_a_watchdog_that_was_killed_is_started_again(tmp_path: Path) -> None:
    folder = tmp_path / "helm"
    watchdog = HelmWatchdog(grace_seconds=SECONDS)
    async with watchdog.watching(folder):
        (first,) = await eventually(lambda: watchdogs_of(folder), what="the watchdog")
        os.kill(first, signal.SIGKILL)
        with working_in(folder) as process:
            async with asyncio.timeout(SECONDS):
                while process.poll() is None:
                    watchdog.extend(time.monotonic())
                    await asyncio.sleep(0.05)
            assert process.returncode == -signal.SIGTERM


async def test_no_process_is_started_after_the_deadline(tmp_path: Path) -> None:
    watchdog = HelmWatchdog(grace_seconds=1)
    limits = ProcessLimits(timeout_seconds=10, grace_seconds=1, memory_bytes=2**28, stdout_bytes=100)
    command = Command(program="/bin/echo", arguments=("hello",), environment={}, working_folder=tmp_path)
    watchdog.extend(time.monotonic() + 600)
    assert (await watchdog.run_process(command, limits=limits)).stdout == b"hello\n"
    watchdog.extend(time.monotonic())
    with pytest.raises(HelmError, match="another operator may be leading"):
        await watchdog.run_process(command, limits=limits)
