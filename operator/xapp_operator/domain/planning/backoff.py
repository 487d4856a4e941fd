"""Exponential back-off."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays, in seconds, that double with every failure from `initial` up to `maximum`."""

    initial: float = 1.0
    maximum: float = 300.0

    def delay(self, failures: int) -> float:
        """Return the delay after `failures` failures in a row; 1 or less gives `initial`."""
        try:
            return min(math.ldexp(self.initial, max(failures - 1, 0)), self.maximum)
        except OverflowError:
            return self.maximum

    def jittered(self, failures: int) -> float:
        """Return `delay` times a random factor from 0.8 to 1.2, so that clients do not retry in step.

        It is at most `maximum`.
        """
        return min(self.delay(failures) * random.uniform(0.8, 1.2), self.maximum)  # noqa: S311 - jitter
