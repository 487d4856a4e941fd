"""When a watch cache asks again, in simulated time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import orjson
import pytest

from tests.unit.kube.fake_cluster import FakeCluster, Transport, fake_credentials
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.errors import AccessDenied, ApiUnavailable, Invalid, KubeError, NotReady, WatchExpired
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.transport import ApiRequest, RequestIdentity
from xapp_operator.kube.watch import watch_cache
from xapp_operator.kube.watch.watch_cache import WatchCache
from xapp_operator.telemetry.metrics import METRICS

Line = bytes | float
"""A line of a watch, or a pause in seconds."""

LISTED = orjson.dumps(
    {
        "type": "BOOKMARK",
        "object": {"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}},
    }
)
BOOKMARK = orjson.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}})


class Streams(Transport):
    """Watches that end at once: with an error, or after some lines. The last one stands for all that follow."""

    def __init__(self, cluster: FakeCluster, *answers: Exception | Sequence[Line]) -> None:
        super().__init__(cluster.server, fake_credentials("http://127.0.0.1:6443"))
        self.opened: list[ApiRequest] = []
        self.times: list[float] = []
        self._answers = [*answers]
        self._clock = cluster.clock

    @asynccontextmanager
    async def stream(
        self, request: ApiRequest, *, identity: RequestIdentity, read_timeout: float | None
    ) -> AsyncIterator[AsyncGenerator[bytes]]:
        self.times.append(self._clock.monotonic())
        self.opened.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)
        yield _lines(answer)

    def pauses(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.times, self.times[1:], strict=False)]


async def _lines(lines: Sequence[Line]) -> AsyncGenerator[bytes]:
    for line in lines:
        if isinstance(line, bytes):
            yield line + b"\n"
        else:
            await asyncio.sleep(line)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = FakeCluster()
    monkeypatch.setattr(watch_cache, "time", made.clock)
    return made


def run_cache(
    cluster: FakeCluster,
    streams: Streams,
    test: Callable[[WatchCache[str]], Awaitable[None]],
    *,
    on_status: Callable[[], None] = lambda: None,
) -> None:
    async def main() -> None:
        def name_of(body: JsonObject) -> str:
            return text(obj(body, "metadata"), "name")

        async with WatchCache(KubeClient(streams), XAPPS, transform=name_of, on_status=on_status) as cache:
            await test(cache)

    cluster.run(main())


@pytest.mark.parametrize(
    ("error", "initial", "maximum"),
    [(ApiUnavailable("down"), 0.25, 15), (AccessDenied("no"), 1, 30), (RuntimeError("a bug"), 0.25, 15)],
)
def test_a_watch_that_fails_is_opened_again_after_growing_pauses(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, error: Exception, initial: float, maximum: float
) -> None:
    monkeypatch.setattr(random, "uniform", random.Random(1).uniform)  # one run of 400 has no pause near the maximum
    streams = Streams(cluster, error)

    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(300)
        pauses = streams.pauses()
        for number, pause in enumerate(pauses):
            due = min(initial * 2**number, maximum)
            assert min(due * 0.8, maximum) - 0.001 <= pause <= min(due * 1.2, maximum) + 0.001
        assert len(pauses) > 10
        assert any(pause > maximum * 0.99 for pause in pauses[-8:])

    run_cache(cluster, streams, test)


def test_an_event_ends_the_growth_of_the_pauses(cluster: FakeCluster) -> None:
    down = ApiUnavailable("down")
    streams = Streams(cluster, *[down] * 5, [LISTED], *[down] * 2, [BOOKMARK])

    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(20)
        pauses = streams.pauses()
        assert pauses[4] >= 0.8 * 4
        assert pauses[5] <= 1.2 * 0.25
        assert pauses[6] <= 1.2 * 0.25
        assert 0.8 * 0.5 <= pauses[7] <= 1.2 * 0.5

    run_cache(cluster, streams, test)


def test_a_watch_continues_from_the_last_version(cluster: FakeCluster) -> None:
    streams = Streams(cluster, [LISTED], [BOOKMARK], ApiUnavailable("down"), [BOOKMARK])

    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(3)
        assert [each.params.get("resourceVersion") for each in streams.opened[:4]] == [None, "7", "9", "9"]
        assert [each.params.get("sendInitialEvents") for each in streams.opened[:2]] == ["true", None]
        assert [each.headers for each in streams.opened[:2]] == [{}, {}]  # whole objects

    run_cache(cluster, streams, test)


@pytest.mark.parametrize("answer", [WatchExpired("too old"), RuntimeError("a bug"), []])
def test_a_watch_that_cannot_continue_lists_again(cluster: FakeCluster, answer: Exception | Sequence[bytes]) -> None:
    streams = Streams(cluster, [LISTED], answer, [LISTED])

    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(3)
        assert [each.params.get("sendInitialEvents") for each in streams.opened[:3]] == ["true", None, "true"]
        assert cache.failure is None

    run_cache(cluster, streams, test)


def test_only_watches_that_break_are_counted(cluster: FakeCluster) -> None:
    def restarts() -> float:
        found = [line for line in METRICS.render().decode().splitlines() if "watch_restarts_total{" in line]
        return sum(float(line.rpartition(" ")[2]) for line in found if "xapps" in line)

    before = restarts()
    streams = Streams(cluster, [LISTED], ApiUnavailable("down"), WatchExpired("old"), RuntimeError("a bug"), [LISTED])

    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(10)
        assert restarts() - before == 3

    run_cache(cluster, streams, test)


def test_a_refused_watch_has_contact_and_a_broken_one_has_not(cluster: FakeCluster) -> None:
    async def refused(cache: WatchCache[str]) -> None:
        await asyncio.sleep(100)
        assert cluster.clock.monotonic() - cache.last_contact <= 30

    async def broken(cache: WatchCache[str]) -> None:
        await asyncio.sleep(100)
        assert cache.last_contact == -float("inf")

    run_cache(cluster, Streams(cluster, AccessDenied("no")), refused)
    run_cache(cluster, Streams(cluster, ApiUnavailable("down")), broken)


def test_each_event_is_contact(cluster: FakeCluster) -> None:
    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(50)
        assert cache.last_contact == 40

    run_cache(cluster, Streams(cluster, [LISTED, 40.0, BOOKMARK, 60.0]), test)


def test_each_page_of_a_list_is_contact(cluster: FakeCluster) -> None:
    streams = Streams(cluster, Invalid("no such parameter"), ApiUnavailable("down"))

    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(1)
        assert cache.last_contact == streams.times[1]  # when it was listed

    run_cache(cluster, streams, test)


def test_others_run_while_many_events_are_read(cluster: FakeCluster) -> None:
    event = orjson.dumps({"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "5"}}})
    turns: list[bool] = []

    async def test(cache: WatchCache[str]) -> None:
        while not cache.synced.is_set():
            turns.append(True)
            await asyncio.sleep(0)
        assert 5 <= len(turns) <= 20
        assert cluster.clock.monotonic() == 0

    run_cache(cluster, Streams(cluster, [*[event] * 1000, LISTED, 60.0]), test)


def test_each_kind_of_failure_is_reported_once(cluster: FakeCluster) -> None:
    reported: list[KubeError | None] = []
    errors = [ApiUnavailable("a"), ApiUnavailable("b"), AccessDenied("c"), AccessDenied("d")]
    streams = Streams(cluster, *errors, [LISTED])
    caches: list[WatchCache[str]] = []

    async def test(cache: WatchCache[str]) -> None:
        caches.append(cache)
        await cache.wait_synced(timeout_seconds=60)
        await asyncio.sleep(5)
        assert reported == [errors[0], errors[2], None, None]
        assert cache.failure is None

    run_cache(cluster, streams, test, on_status=lambda: reported.append(caches[0].failure))


def test_the_last_error_is_the_failure(cluster: FakeCluster) -> None:
    last = ApiUnavailable("b")
    streams = Streams(cluster, ApiUnavailable("a"), last)

    async def test(cache: WatchCache[str]) -> None:
        with pytest.raises(NotReady, match="could not be listed within 3 seconds: b") as caught:
            await cache.wait_synced(timeout_seconds=3)
        assert cluster.clock.monotonic() == 3
        assert caught.value.__cause__ is last
        assert cache.failure is last

    run_cache(cluster, streams, test)


def test_without_streaming_lists_pages_are_read(cluster: FakeCluster) -> None:
    streams = Streams(cluster, Invalid("no such parameter"), [BOOKMARK], WatchExpired("old"), [BOOKMARK])

    async def test(cache: WatchCache[str]) -> None:
        await cluster.create(XAPPS, "one", namespace="ric", spec={})
        await cache.wait_synced(timeout_seconds=10)
        assert cache.get(namespace="ric", name="one") == "one"
        lists = len(streams.requests)
        await asyncio.sleep(10)
        assert len(streams.times) >= 4
        assert len(streams.requests) == lists + 1
        assert all("sendInitialEvents" not in each.params for each in streams.opened[1:])

    run_cache(cluster, streams, test)


def test_a_watch_that_is_invalid_for_another_reason_has_failed(cluster: FakeCluster) -> None:
    streams = Streams(cluster, [LISTED], Invalid("no"))

    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(5)
        assert isinstance(cache.failure, Invalid)
        assert len(streams.requests) == 0

    run_cache(cluster, streams, test)


def test_a_cache_is_started_once(cluster: FakeCluster) -> None:
    async def test(cache: WatchCache[str]) -> None:
        with pytest.raises(RuntimeError, match="already started"):
            cache.start()
        await cache.stop()
        cache.start()

    run_cache(cluster, Streams(cluster, [LISTED]), test)


def test_a_cache_has_synced_once_when_each_namespace_was_listed(cluster: FakeCluster) -> None:
    statuses: list[bool] = []
    streams = Streams(cluster, [LISTED], WatchExpired("old"), [LISTED])
    half = Streams(cluster, [LISTED], ApiUnavailable("down"))

    async def test(cache: WatchCache[str]) -> None:
        await asyncio.sleep(10)
        assert cache.synced.is_set()
        assert len(statuses) == 1

    run_cache(cluster, streams, test, on_status=lambda: statuses.append(True))

    async def test_half() -> None:
        async with WatchCache(KubeClient(half), XAPPS, transform=lambda _: "", namespaces=("a", "b")) as cache:
            await asyncio.sleep(1)
            assert not cache.synced.is_set()

    cluster.run(test_half())
