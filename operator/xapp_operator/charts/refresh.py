"""What a repository said, kept for a while: looked at again when it is old, by one caller for all.

A repository that is away must neither make deployed xApps fail nor hold up the work on others. So what is known stays
in use while it cannot be refreshed, and a failure that took long is not tried again for as long as it took.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from xapp_operator.charts.flight import SingleFlight
from xapp_operator.errors import SourceUnavailable
from xapp_operator.telemetry.logs import get_logger

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_MAX_FAILURES: Final = 1024
_WORTH_KEEPING: Final = 1.0
"""A failure that took fewer seconds is cheap enough to be tried again at once."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Known(Generic[T]):
    value: T
    at: float


@dataclass(frozen=True, slots=True)
class _Failure:
    kind: type[SourceUnavailable]
    message: str
    until: float


class Refreshed(Generic[K, T]):
    """Values by key, of which the least recently used go when `weigh` adds up to more than `capacity`."""

    def __init__(
        self,
        *,
        capacity: int,
        weigh: Callable[[T], int] = lambda _: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._known: OrderedDict[K, _Known[T]] = OrderedDict()
        self._failures: OrderedDict[K, _Failure] = OrderedDict()
        self._flights: SingleFlight[K, T] = SingleFlight()
        self._capacity = capacity
        self._weigh = weigh
        self._clock = clock

    async def get(
        self,
        key: K,
        load: Callable[[T | None], Awaitable[T]],
        *,
        max_age: float,
        revalidate: bool = False,
        stale_ok: bool = True,
    ) -> T:
        """Return the value, at most `max_age` seconds old, or loaded after this call with `revalidate`.

        `load` is given what is known, for a conditional request. When it raises SourceUnavailable, an older value is
        returned with `stale_ok` (never with `revalidate`). Raises what `load` raises.
        """
        known = self._known.get(key)
        if known is not None and not revalidate and self._clock() - known.at <= max_age:
            self._known.move_to_end(key)
            return known.value
        try:
            if not revalidate:
                self._check_failure(key)
            return await self._flights.run(key, lambda: self._load(key, load), fresh=revalidate)
        except SourceUnavailable as error:
            if known is None or revalidate or not stale_ok:
                raise
            _log.warning("chart source unavailable, using what is known", error=error.message)
            return known.value

    async def _load(self, key: K, load: Callable[[T | None], Awaitable[T]]) -> T:
        known = self._known.get(key)
        begun = self._clock()
        try:
            value = await load(known.value if known else None)
        except SourceUnavailable as error:
            now = self._clock()
            if now - begun >= _WORTH_KEEPING:
                self._failures[key] = _Failure(type(error), error.message, until=now + (now - begun))
                if len(self._failures) > _MAX_FAILURES:
                    self._failures.popitem(last=False)
            raise
        self._failures.pop(key, None)
        self._known[key] = _Known(value, at=begun)
        self._known.move_to_end(key)
        self._trim()
        return value

    def _check_failure(self, key: K) -> None:
        failure = self._failures.get(key)
        if failure and self._clock() < failure.until:
            raise failure.kind(failure.message)

    def _trim(self) -> None:
        weight = sum(self._weigh(known.value) for known in self._known.values())
        while weight > self._capacity and len(self._known) > 1:
            _, known = self._known.popitem(last=False)
            weight -= self._weigh(known.value)

    async def close(self) -> None:
        """End what is under way."""
        await self._flights.close()
