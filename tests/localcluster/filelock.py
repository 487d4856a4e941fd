"""Locks between processes: advisory file locks, which the kernel releases when their holder dies."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.localcluster.waiting import wait_until


class Locked(Exception):
    """Another process holds the lock."""


def try_lock(path: Path) -> IO[str]:
    """Take the lock and return the open file that holds it. Closing the file releases the lock.

    Raises Locked if another process, or another open file of this process, holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise Locked(path.name) from error
    return file


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock."""
    if not path.exists():
        return False
    try:
        try_lock(path).close()
    except Locked:
        return True
    return False


@contextmanager
def lock(path: Path, *, timeout: float, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock for the block, after waiting for it at most ``timeout`` seconds.

    Calls ``on_wait`` once if it has to wait. Raises DeadlineExceeded.
    """
    try:
        file = try_lock(path)
    except Locked:
        on_wait()
        file = wait_until(lambda: _lock_or_none(path), timeout=timeout, what=f"the lock {path.name}", interval=0.1)
    with file:
        yield


def _lock_or_none(path: Path) -> IO[str] | None:
    try:
        return try_lock(path)
    except Locked:
        return None
