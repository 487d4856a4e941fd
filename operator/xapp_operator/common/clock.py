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
AGREEMENT_SECONDS: Final = 5.0
"""A smaller difference to the clock of a server is none: its times are in whole seconds, and responses take a while."""
DISAGREEMENT_SECONDS: Final = 10.0
"""The clock of a server is followed after it has disagreed for so long: one late response proves nothing."""


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


class ServerClock:
    """The clock of a server, as its responses tell it; until the first one, that of this machine.

    What others have written is as old as the server's clock says, however wrong the clock of this machine is. While
    both agree, it is that of this machine. From the first response on, nobody can set it but the server.

    Servers behind one address may disagree. Then the first one is followed, as long as any response agrees with it, or
    the one that agrees with this machine.
    """

    def __init__(self, machine: Clock) -> None:
        self._machine = machine
        self._offset: float | None = None  # of the server's clock to the monotonic clock; None: not known yet
        self._disagrees_since: float | None = None

    def now(self) -> float:
        return self._machine.now() if self._offset is None else self._machine.monotonic() + self._offset

    def monotonic(self) -> float:
        return self._machine.monotonic()

    def learn(self, told: float) -> None:
        """Take note of what the server has told just now: the time in whole seconds since the epoch."""
        server_now, machine_now, monotonic = told + 0.5, self._machine.now(), self.monotonic()
        if self._offset is not None and abs(server_now - self.now()) <= AGREEMENT_SECONDS:
            self._disagrees_since = None
            return
        agrees = abs(server_now - machine_now) <= AGREEMENT_SECONDS
        if self._offset is not None and not agrees:
            if self._disagrees_since is None:
                self._disagrees_since = monotonic
            if monotonic - self._disagrees_since < DISAGREEMENT_SECONDS:
                return
        self._offset = (machine_now if agrees else server_now) - monotonic
        self._disagrees_since = None


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
