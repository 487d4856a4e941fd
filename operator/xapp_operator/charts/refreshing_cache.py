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

from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.errors import SourceUnavailable
from xapp_operator.telemetry.logs import get_logger

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_MAX_FAILURES: Final = 1024
_MIN_CACHED_FAILURE_SECONDS: Final = 1.0
"""A failure that took fewer seconds is cheap enough to be tried again at once."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _CachedValue(Generic[T]):
    value: T
    loaded_at: float


@dataclass(frozen=True, slots=True)
class _CachedFailure:
    error_type: type[SourceUnavailable]
    message: str
    until: float


class RefreshingCache(Generic[K, T]):
    """Values by key, of which the least recently used go when `weigh` adds up to more than `capacity`."""

    def __init__(
        self,
        *,
        capacity: int,
        weight_of: Callable[[T], int] = lambda _: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._values: OrderedDict[K, _CachedValue[T]] = OrderedDict()
        self._failures: OrderedDict[K, _CachedFailure] = OrderedDict()
        self._single_flight: SingleFlight[K, T] = SingleFlight()
        self._capacity = capacity
        self._weight_of = weight_of
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
        cached = self._values.get(key)
        if cached is not None and not revalidate and self._clock() - cached.loaded_at <= max_age:
            self._values.move_to_end(key)
            return cached.value
        try:
            if not revalidate:
                self._raise_cached_failure(key)
            return await self._single_flight.run(key, lambda: self._load(key, load), require_new=revalidate)
        except SourceUnavailable as error:
            if cached is None or revalidate or not stale_ok:
                raise
            _log.warning("chart source unavailable, using what is known", error=error.message)
            return cached.value

    async def _load(self, key: K, load: Callable[[T | None], Awaitable[T]]) -> T:
        cached = self._values.get(key)
        started = self._clock()
        try:
            value = await load(cached.value if cached else None)
        except SourceUnavailable as error:
            now = self._clock()
            if now - started >= _MIN_CACHED_FAILURE_SECONDS:
                self._failures[key] = _CachedFailure(type(error), error.message, until=now + (now - started))
                if len(self._failures) > _MAX_FAILURES:
                    self._failures.popitem(last=False)
            raise
        self._failures.pop(key, None)
        self._values[key] = _CachedValue(value, loaded_at=started)
        self._values.move_to_end(key)
        self._evict()
        return value

    def _raise_cached_failure(self, key: K) -> None:
        failure = self._failures.get(key)
        if failure and self._clock() < failure.until:
            raise failure.error_type(failure.message)

    def _evict(self) -> None:
        weight = sum(self._weight_of(known.value) for known in self._values.values())
        while weight > self._capacity and len(self._values) > 1:
            _, known = self._values.popitem(last=False)
            weight -= self._weight_of(known.value)

    async def close(self) -> None:
        """End what is under way."""
        await self._single_flight.close()
