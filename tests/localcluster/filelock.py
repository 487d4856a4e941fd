"""Locks between processes: an advisory lock on a file, which the kernel drops when its holder dies."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.localcluster.waiting import wait_until


class Locked(Exception):
    """Somebody else holds the lock."""


def try_lock(path: Path) -> IO[str]:
    """Take the lock and return the open file that holds it: closing the file, or dying, drops the lock.

    Raises Locked when another process (or another open file of this one) holds it.
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
    """Tell whether some process holds the lock now."""
    if not path.exists():
        return False
    try:
        try_lock(path).close()
    except Locked:
        return True
    return False


@contextmanager
def lock(path: Path, *, timeout: float, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock for the block, waiting at most ``timeout`` seconds for it.

    ``on_wait`` is called once when the lock is not free. Raises DeadlineExceeded.
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
