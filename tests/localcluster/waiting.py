"""Waits for a condition with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class DeadlineExceeded(Exception):
    """The condition was not true before the deadline."""


def wait_until(probe: Callable[[], T | None], *, timeout: float, what: str, interval: float = 0.02) -> T:
    """Call ``probe`` every ``interval`` seconds until its result is true, and return the result.

    Raises DeadlineExceeded after ``timeout`` seconds, with ``what`` in the message.
    """
    deadline = time.monotonic() + timeout
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() >= deadline:
            raise DeadlineExceeded(f"timed out after {timeout:g} s while waiting for {what}")
        time.sleep(interval)
