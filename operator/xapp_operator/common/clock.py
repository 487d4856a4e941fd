"""The clock of the operator: what time it is, and how much time has passed.

Waiting is the event loop's. Who decides by the time gets a `Clock`, so that a test can decide what time it is.
"""

from __future__ import annotations

import time
from typing import Final, Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Return the seconds since the epoch; it jumps when the clock of the machine is set."""

    def monotonic(self) -> float:
        """Return the seconds of a clock that never jumps."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


SYSTEM_CLOCK: Final = SystemClock()
