"""Times as ages, as kubectl shows them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_TWO_DIGITS: Final = 2
"""A unit is used from twice its length, so that `90m` does not become `1h`."""


def age(time: str, *, now: datetime | None = None) -> str:
    """Return how long ago an RFC 3339 time is, such as `5m`; `-` for none."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return "-"
    if then.tzinfo is None:
        return "-"
    seconds = max(int(((now or datetime.now(UTC)) - then).total_seconds()), 0)
    for unit, length in _UNITS:
        if seconds >= _TWO_DIGITS * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
