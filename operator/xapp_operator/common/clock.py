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
SETTINGS_KEPT: Final = 100
"""So many jumps are remembered."""


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
class _Setting:
    """What the wall clock showed between two jumps: at the earliest and at the latest, as far as it is known."""

    offset: float  # wall clock minus monotonic clock
    earliest: float
    latest: float


class TrackedClock:
    """A clock that remembers its jumps, so that waits last as long as they should.

    A time that the wall clock told before a jump cannot be compared with what it tells now. `corrected` makes it
    comparable. Of the time before the process began, nothing but the wall clock is known.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen_at = clock.monotonic()
        now = clock.now()
        self._settings = deque([_Setting(now - self._seen_at, -math.inf, now)], maxlen=SETTINGS_KEPT)

    def now(self) -> float:
        """Return the seconds since the epoch, and notice a jump."""
        now, monotonic, setting = self._clock.now(), self._clock.monotonic(), self._settings[-1]
        offset = now - monotonic
        setting.latest = monotonic + setting.offset
        if abs(offset - setting.offset) > JUMP_SECONDS:
            earliest = math.floor(self._seen_at + offset)  # stored times are in whole seconds
            self._settings.append(_Setting(offset, earliest, now))
        self._seen_at = monotonic
        return now

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def corrected(self, told: float) -> float:
        """Return what the clock as set at the last `now()` would have told when it told this time."""
        offset = self._settings[-1].offset
        for setting in reversed(self._settings):
            if setting.earliest <= told <= setting.latest:
                return told + (offset - setting.offset)
        return told
