"""Waiting for a condition with a deadline: the only place here that sleeps."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class DeadlineExceeded(Exception):
    """The condition did not come true in time."""


def wait_until(probe: Callable[[], T | None], *, timeout: float, what: str, interval: float = 0.02) -> T:
    """Call ``probe`` every ``interval`` seconds until it gives something true, and return that.

    Raises DeadlineExceeded after ``timeout`` seconds, naming ``what`` was waited for.
    """
    deadline = time.monotonic() + timeout
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() >= deadline:
            raise DeadlineExceeded(f"waited {timeout:g} s in vain for {what}")
        time.sleep(interval)
