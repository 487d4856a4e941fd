"""Exponential back-off."""

from __future__ import annotations

import math
import random
import zlib
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays, in seconds, that double with every failure from `initial` up to `maximum`."""

    initial: float = 1.0
    maximum: float = 300.0
    share: float = 1.0  # the part of each delay that is waited

    def spread_by(self, uid: str) -> Self:
        """Return the delays of one object: 80 to 100 % of these, always the same part for the same `uid`.

        So objects that failed together, in an outage, are not tried again together. The delays are whole seconds if
        these are: a status, which has no others, tells the same time before it is stored and after.
        """
        return replace(self, share=1.0 - 0.2 * zlib.crc32(uid.encode()) / 2**32)

    def delay(self, failures: int) -> float:
        """Return the delay after `failures` failures in a row; 1 or less gives `initial`."""
        try:
            whole = min(math.ldexp(self.initial, max(failures - 1, 0)), self.maximum)
        except OverflowError:
            whole = self.maximum
        return whole * self.share if whole % 1 else float(math.ceil(whole * self.share))

    def jittered(self, failures: int) -> float:
        """Return `delay` times a random factor from 0.8 to 1.2, so that clients do not retry in step.

        It is at most `maximum`.
        """
        return min(self.delay(failures) * random.uniform(0.8, 1.2), self.maximum)  # noqa: S311 - jitter
