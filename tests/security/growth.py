"""Measures how the time of a function grows with its input."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from xapp_operator.errors import XAppError

T = TypeVar("T")

LENGTHS: Final = (1024, 4096, 16_384)
"""Four times as long each: in linear time, each step takes four times as long, in quadratic time sixteen times."""
FACTOR_MAX: Final = 9.0
NOISE_SECONDS: Final = 1e-3
"""Added to each time, so that the noise of short ones does not count. Quadratic time is far above it at the end."""
_RUNS: Final = 3


def assert_linear(
    work: Callable[[T], object],
    make_input: Callable[[int], T],
    *,
    what: str,
    lengths: Sequence[int] = LENGTHS,
    enough_seconds: float = 0.0,
) -> None:
    """Fail unless `work` takes linear time in the length of its input; an XAppError is a valid result.

    When a length takes less than `enough_seconds`, the longer ones are left out.
    """
    before = None
    for length in lengths:
        seconds = _seconds(work, make_input(length)) + NOISE_SECONDS
        if seconds < NOISE_SECONDS + enough_seconds:
            return
        if before is not None:
            assert seconds <= before * FACTOR_MAX, (
                f"{what}: {length} characters take {seconds:.4f} s, a quarter of them {before:.4f} s"
            )
        before = seconds


def _seconds(work: Callable[[T], object], argument: T) -> float:
    best = float("inf")
    for _ in range(_RUNS):
        start = time.process_time()
        with contextlib.suppress(XAppError):
            work(argument)
        best = min(best, time.process_time() - start)
        if best < NOISE_SECONDS / 10:
            break
    return best


def repeat(prefix: str, unit: str, suffix: str = "") -> Callable[[int], str]:
    """Return a function that makes a text of a length: `prefix`, `unit` again and again, `suffix`."""
    return lambda length: prefix + (unit * (length // len(unit) + 1))[:length] + suffix
