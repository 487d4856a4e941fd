"""A cache of what repositories return, that reloads old values and survives an outage of the repository.

An unavailable repository must not make deployed xApps fail, and must not delay the work on other xApps. So a cached
value stays in use while it cannot be reloaded, and a load that failed slowly is not repeated for as long as it took.
cachetools bounds the values and the failures; it has neither of these two rules.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from cachetools import LRUCache, TLRUCache

from xapp_operator.charts.download_slots import DownloadSlots, SharedDownloads
from xapp_operator.errors import SourceUnavailable
from xapp_operator.telemetry.logs import get_logger

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_MAX_FAILURES: Final = 1024
_MIN_CACHED_FAILURE_SECONDS: Final = 1.0
"""A load that failed in less time is cheap enough to repeat at once."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old a value may be.

    `max_age` is in seconds. `revalidate` demands a value that is loaded after the call. `stale_ok` allows any age while
    the source is unavailable, but not together with `revalidate`.
    """

    max_age: float
    revalidate: bool = False
    stale_ok: bool = True


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
    """Values by key; the least recently used ones go when the sum of their weights exceeds `capacity`."""

    def __init__(
        self,
        downloads: DownloadSlots,
        *,
        capacity: int,
        weight_of: Callable[[T], int] = lambda _: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; no value may weigh more than `capacity`."""
        self._values: LRUCache[K, _CachedValue[T]] = LRUCache(
            capacity, getsizeof=lambda cached: weight_of(cached.value)
        )
        self._failures: TLRUCache[K, _CachedFailure] = TLRUCache(
            _MAX_FAILURES, ttu=lambda _key, failure, _now: failure.until, timer=clock
        )
        self._loads: SharedDownloads[K, T] = SharedDownloads(downloads)
        self._clock = clock

    async def get(
        self,
        key: K,
        load: Callable[[T | None], Awaitable[T]],
        freshness: Freshness,
        *,
        namespace: str,
    ) -> T:
        """Return the value, loaded in the share of `namespace`.

        `load` gets the cached value, for a conditional request. Raises what `load` and `DownloadSlots.slot` raise.
        """
        cached = self._values.get(key)
        if cached is not None and not freshness.revalidate and self._clock() - cached.loaded_at <= freshness.max_age:
            return cached.value
        try:
            if not freshness.revalidate and (failure := self._failures.get(key)):
                raise failure.error_type(failure.message)
            return await self._loads.run(
                key,
                lambda: self._load(key, load, cached, freshness),
                namespace=namespace,
                require_new=freshness.revalidate,
            )
        except SourceUnavailable as error:
            if cached is None or freshness.revalidate or not freshness.stale_ok:
                raise
            _log.warning("chart source unavailable, using cached data", error=error.message)
            return cached.value

    async def _load(
        self, key: K, load: Callable[[T | None], Awaitable[T]], before: _CachedValue[T] | None, freshness: Freshness
    ) -> T:
        cached = self._values.get(key)
        if cached is not None and cached is not before and not freshness.revalidate:
            return cached.value  # loaded for another namespace while this one waited for a slot
        started = self._clock()
        try:
            value = await load(cached.value if cached else None)
        except SourceUnavailable as error:
            now = self._clock()
            if now - started >= _MIN_CACHED_FAILURE_SECONDS:
                self._failures[key] = _CachedFailure(type(error), error.message, until=now + (now - started))
            raise
        self._failures.pop(key, None)
        self._values[key] = _CachedValue(value, loaded_at=started)
        return value

    def forget_failures(self, is_meant: Callable[[K], bool]) -> None:
        """Let the next `get` load what failed, however long that took. A load that runs is joined, not repeated."""
        for key in [key for key in self._failures if is_meant(key)]:
            self._failures.pop(key, None)

    async def close(self) -> None:
        await self._loads.close()
