"""The private folders of helm processes, and the cleanup after an operator that was killed.

Each engine owns one folder and holds a lock on the file beside it. The kernel releases the lock however the owner ends,
even in another container with its own process ids. Every helm process has its working directory inside that folder, and
the directory exists before the process starts. So a process whose working directory is in an unlocked folder is an
orphan of an earlier engine. No list of process ids is needed, which could be out of date.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from cachetools import TTLCache

from xapp_operator.errors import HelmError
from xapp_operator.helm.processes.watchdog_process import processes_in, signal_process_in

PRIVATE_MODE: Final = 0o700
POLL_SECONDS: Final = 0.05
AFTER_KILL_SECONDS: Final = 5.0
LOCK_SUFFIX: Final = ".lock"
FORGOTTEN_MAX: Final = 1000
FORGOTTEN_SECONDS: Final = 60.0


class Workspace:
    """The folder of one engine, with one folder inside for each process."""

    def __init__(self, base: Path) -> None:
        base.mkdir(mode=PRIVATE_MODE, parents=True, exist_ok=True)
        if base.stat().st_uid != os.getuid():
            raise HelmError(
                "the folder for helm belongs to another user, who could change what helm reads: "
                "set XAPP_WORK_DIR to a folder of the operator's own",
                permanent=True,
            )
        self._lock_path, self._lock = _lock_new_file(base)
        self.folder = self._lock_path.with_suffix("")
        try:
            self.folder.mkdir(mode=PRIVATE_MODE)
        except OSError:
            self.close()
            raise
        self.discovery = self.folder / "discovery"
        """What helm remembers of the kinds that the API server serves, for hours."""
        self._forgotten: TTLCache[tuple[str, str], bool] = TTLCache(FORGOTTEN_MAX, FORGOTTEN_SECONDS)
        self._calls = 0

    @contextlib.contextmanager
    def call_folder(self) -> Iterator[Path]:
        """Provide an empty folder, which is removed afterwards."""
        self._calls += 1
        folder = self.folder / str(self._calls)
        folder.mkdir(mode=PRIVATE_MODE)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def forget_kinds(self, unserved: Collection[tuple[str, str]]) -> None:
        """Let helm ask again which kinds are served, at most once a minute for each of `unserved`.

        Each helm that follows asks, until one has stored the answer. Processes that run may go on.
        """
        new = [each for each in unserved if each not in self._forgotten]
        self._forgotten.update(dict.fromkeys(new, True))
        for path in self.discovery.rglob("*") if new else ():
            with contextlib.suppress(OSError):  # a folder, or somebody else has removed it
                path.unlink()

    def close(self) -> None:
        """Remove the folder and release the lock; a second call does nothing."""
        if self._lock < 0:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = -1


async def reap_orphans(base: Path, *, grace: float) -> int:
    """End the processes that dead engines left in `base` and remove their folders; return the number of processes.

    Each gets SIGTERM, and SIGKILL after `grace` seconds. They are gone when this returns. Helm fails to write to its
    dead reader and ends before it marks the release, which stays pending.
    """
    ended = 0
    for lock_path in _lock_files(base):
        lock = _try_lock(lock_path)
        if lock is None:
            continue
        try:
            folder = lock_path.with_suffix("")
            ended += await _terminate_processes_in(folder, grace=grace)
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            lock_path.unlink(missing_ok=True)
        finally:
            os.close(lock)
    return ended


def _lock_files(base: Path) -> list[Path]:
    return sorted(base.glob(f"*{LOCK_SUFFIX}"))


def _lock_new_file(base: Path) -> tuple[Path, int]:
    while True:
        path = base / f"{secrets.token_hex(8)}{LOCK_SUFFIX}"
        lock = _try_lock(path, create=True)
        if lock is not None:
            return path, lock


def _try_lock(path: Path, *, create: bool = False) -> int | None:
    """Return a descriptor that holds the lock on `path`, or None if another process holds it."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
    try:
        lock = os.open(path, flags, 0o600)
    except (FileNotFoundError, FileExistsError):
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


async def _terminate_processes_in(folder: Path, *, grace: float) -> int:
    found = _signal_all_in(folder, signal.SIGTERM)
    if not await _wait_until_gone(folder, seconds=grace):
        _signal_all_in(folder, signal.SIGKILL)
        await _wait_until_gone(folder, seconds=AFTER_KILL_SECONDS)
    return found


async def _wait_until_gone(folder: Path, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while processes_in(folder):
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


def _signal_all_in(folder: Path, number: signal.Signals) -> int:
    return sum(signal_process_in(folder, pid, number) for pid in processes_in(folder))
