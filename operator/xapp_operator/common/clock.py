"""The clock of the operator: what time it is, and how much time has passed.

Waiting is the event loop's. Who decides by the time gets a `Clock`, so that a test can decide what time it is.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Final, Protocol

JUMP_SECONDS: Final = 1.0
"""A smaller difference between the two clocks is no jump."""
PERIODS_KEPT: Final = 100
"""So many periods between jumps are remembered."""


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


@dataclass(slots=True)
class _ClockPeriod:
    """What the wall clock showed between two jumps: at the earliest and at the latest, as far as it is known."""

    offset: float  # wall clock minus monotonic clock
    earliest: float
    latest: float


class JumpAwareClock:
    """A clock that remembers its jumps, so that waits last as long as they should.

    A time that the wall clock told before a jump cannot be compared with what it tells now. `corrected` makes it
    comparable. Of the time before the process began, nothing but the wall clock is known.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen_at = clock.monotonic()
        now = clock.now()
        self._periods = deque([_ClockPeriod(now - self._seen_at, -math.inf, now)], maxlen=PERIODS_KEPT)

    def now(self) -> float:
        """Return the seconds since the epoch, and notice a jump."""
        now, monotonic, period = self._clock.now(), self._clock.monotonic(), self._periods[-1]
        offset = now - monotonic
        period.latest = monotonic + period.offset
        if abs(offset - period.offset) > JUMP_SECONDS:
            earliest = math.floor(self._seen_at + offset)  # stored times are in whole seconds
            self._periods.append(_ClockPeriod(offset, earliest, now))
        self._seen_at = monotonic
        return now

    def monotonic(self) -> float:
        return self._clock.monotonic()

    @property
    def has_jumped(self) -> bool:
        """Return whether `corrected` may return another time than the one told."""
        return len(self._periods) > 1

    def corrected(self, told: float) -> float:
        """Return what the clock as set at the last `now()` would have told when it told this time."""
        offset = self._periods[-1].offset
        for period in reversed(self._periods):
            if period.earliest <= told <= period.latest:
                return told + (offset - period.offset)
        return told
