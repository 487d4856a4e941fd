"""Exponential back-off."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

_DOUBLINGS_MAX: Final = 16  # keeps the power within the range of a float


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays, in seconds, that double with every failure from `initial` up to `maximum`."""

    initial: float = 1.0
    maximum: float = 300.0

    def delay(self, failures: int) -> float:
        """Return the delay after `failures` failures in a row; 1 or less gives `initial`."""
        return min(self.initial * 2.0 ** min(max(failures - 1, 0), _DOUBLINGS_MAX), self.maximum)

    def jittered(self, failures: int) -> float:
        """Return `delay` times a random factor from 0.8 to 1.2, so that clients do not retry in step.

        It is at most `maximum`.
        """
        return min(self.delay(failures) * random.uniform(0.8, 1.2), self.maximum)  # noqa: S311 - jitter
