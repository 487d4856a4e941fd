"""Cached data of a repository is reloaded, and used while the repository is unavailable."""

from __future__ import annotations

import pytest

from tests.unit.charts.clock import Clock
from xapp_operator.charts.download_slots import DownloadSlots
from xapp_operator.charts.sources.refreshing_cache import Freshness, RefreshingCache
from xapp_operator.errors import ChartNotFound, SourceTimeout, SourceUnavailable


class Source:
    """Returns the next number at each load, or fails after `seconds`."""

    def __init__(self, clock: Clock) -> None:
        self.loads = 0
        self.given: list[int | None] = []
        self.error: Exception | None = None
        self.seconds = 0.0
        self._clock = clock

    async def load(self, known: int | None) -> int:
        self.loads += 1
        self.given.append(known)
        self._clock.now += self.seconds
        if self.error:
            raise self.error
        return self.loads


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source(clock: Clock) -> Source:
    return Source(clock)


@pytest.fixture
def values(clock: Clock) -> RefreshingCache[str, int]:
    return RefreshingCache(DownloadSlots(16, timeout_seconds=20), capacity=2, clock=clock)


async def test_a_value_older_than_max_age_is_loaded_again(
    values: RefreshingCache[str, int], source: Source, clock: Clock
) -> None:
    assert await values.get("a", source.load, Freshness(max_age=10), namespace="apps") == 1
    clock.now += 10
    assert await values.get("a", source.load, Freshness(max_age=10), namespace="apps") == 1
    assert await values.get("a", source.load, Freshness(max_age=9), namespace="apps") == 2
    assert source.given == [None, 1]


async def test_revalidation_ignores_the_age(values: RefreshingCache[str, int], source: Source) -> None:
    await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    assert await values.get("a", source.load, Freshness(max_age=10, revalidate=True), namespace="apps") == 2


async def test_a_cached_value_is_returned_while_the_source_is_unavailable(
    values: RefreshingCache[str, int], source: Source, clock: Clock
) -> None:
    await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    clock.now += 11
    source.error = SourceUnavailable("away")
    assert await values.get("a", source.load, Freshness(max_age=10), namespace="apps") == 1
    with pytest.raises(SourceUnavailable):
        await values.get("a", source.load, Freshness(max_age=10, stale_ok=False), namespace="apps")
    with pytest.raises(SourceUnavailable):
        await values.get("a", source.load, Freshness(max_age=10, revalidate=True), namespace="apps")


async def test_a_cached_value_is_not_returned_once_the_source_says_not_found(
    values: RefreshingCache[str, int], source: Source, clock: Clock
) -> None:
    await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    clock.now += 11
    source.error = ChartNotFound("gone")
    with pytest.raises(ChartNotFound):
        await values.get("a", source.load, Freshness(max_age=10), namespace="apps")


async def test_a_slow_failure_is_not_retried_for_as_long_as_it_took(
    values: RefreshingCache[str, int], source: Source, clock: Clock
) -> None:
    source.error, source.seconds = SourceUnavailable("did not answer"), 60.0
    for _ in range(3):
        with pytest.raises(SourceUnavailable, match="did not answer"):
            await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    assert source.loads == 1
    source.error = None
    assert await values.get("b", source.load, Freshness(max_age=10), namespace="apps") == 2
    clock.now += 60
    assert await values.get("a", source.load, Freshness(max_age=10), namespace="apps") == 3


async def test_a_cached_failure_keeps_its_type(values: RefreshingCache[str, int], source: Source) -> None:
    source.error, source.seconds = SourceTimeout("did not deliver"), 60.0
    for _ in range(2):
        with pytest.raises(SourceTimeout):
            await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    assert source.loads == 1


async def test_revalidation_retries_at_once(values: RefreshingCache[str, int], source: Source) -> None:
    source.error, source.seconds = SourceUnavailable("did not answer"), 60.0
    with pytest.raises(SourceUnavailable):
        await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    source.error = None
    assert await values.get("a", source.load, Freshness(max_age=10, revalidate=True), namespace="apps") == 2


async def test_a_failure_that_is_forgotten_is_retried_at_once(
    values: RefreshingCache[str, int], source: Source
) -> None:
    source.error, source.seconds = SourceUnavailable("did not answer"), 60.0
    with pytest.raises(SourceUnavailable):
        await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    source.error = None
    values.forget_failures(lambda key: key == "b")
    with pytest.raises(SourceUnavailable):
        await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    values.forget_failures(lambda key: key == "a")
    assert await values.get("a", source.load, Freshness(max_age=10), namespace="apps") == 2


async def test_a_cached_failure_is_dropped_when_the_source_recovers(
    values: RefreshingCache[str, int], source: Source, clock: Clock
) -> None:
    source.error, source.seconds = SourceUnavailable("did not answer"), 60.0
    with pytest.raises(SourceUnavailable):
        await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    source.error, source.seconds = None, 0.0
    await values.get("a", source.load, Freshness(max_age=10, revalidate=True), namespace="apps")
    clock.now += 11
    assert await values.get("a", source.load, Freshness(max_age=10, stale_ok=False), namespace="apps") == 3


async def test_a_quick_failure_is_retried_at_once(values: RefreshingCache[str, int], source: Source) -> None:
    source.error = SourceUnavailable("connection refused")
    for _ in range(2):
        with pytest.raises(SourceUnavailable):
            await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    assert source.loads == 2


async def test_the_least_recently_used_value_is_evicted_first(
    values: RefreshingCache[str, int], source: Source
) -> None:
    for key in ("a", "b", "a", "c"):
        await values.get(key, source.load, Freshness(max_age=10), namespace="apps")
    assert source.loads == 3
    await values.get("a", source.load, Freshness(max_age=10), namespace="apps")
    assert source.loads == 3
    await values.get("b", source.load, Freshness(max_age=10), namespace="apps")
    assert source.loads == 4
