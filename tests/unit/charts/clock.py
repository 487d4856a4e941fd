"""A clock that tests set."""

from __future__ import annotations


class Clock:
    """Returns seconds that pass only when a test changes `now`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
