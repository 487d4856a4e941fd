"""A cache follows the cluster whatever happens to its watch, and reports exactly the changes to its subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol

import pytest

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.kube.list_watch_server import ListWatchServer, xapp
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.errors import AccessDenied, NotReady
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.watch import watch_cache
from xapp_operator.kube.watch.watch_cache import WatchCache

Change = tuple[str, str, str]


def color(body: JsonObject) -> str | None:
    return text(obj(body, "spec"), "color") or None


class Setup:
    """A server, a cache of it, and the changes that a subscriber received."""

    def __init__(self, server: ListWatchServer, cache: WatchCache[str]) -> None:
        self.server = server
        self.cache = cache
        self.received: list[Change] = []
        cache.subscribe(lambda change, key, kept: self.received.append((change, key.name, kept)))

    def known(self) -> dict[str, str]:
        return {key.name: kept for key, kept in self.cache.items()}

    async def until_changes(self, *changes: Change) -> None:
        """Wait for these changes, in this order, and remove them."""
        await eventually(lambda: len(self.received) >= len(changes), what=f"{changes}; received {self.received}")
        assert self.received == list(changes)
        self.received.clear()

    async def until_requested(self, request: str, *, times: int = 1) -> None:
        await eventually(lambda: self.server.requests.count(request) >= times, what=request)


@dataclass(frozen=True)
class RecordedBackoff(Backoff):
    """Does not delay; `failures` are the failures in a row before each attempt."""

    failures: list[int] = field(default_factory=list)

    def jittered(self, failures: int) -> float:
        self.failures.append(failures)
        return 0.0


class Begin(Protocol):
    """Serves objects a, b and c, all red, and returns a synced cache with a new subscriber."""

    async def __call__(
        self,
        *,
        streams_lists: bool = True,
        namespaces: tuple[str, ...] = (),
        keep: Callable[[JsonObject], str | None] = color,
    ) -> Setup: ...


@pytest.fixture
async def begin(connect: Connect) -> AsyncIterator[Begin]:
    async with AsyncExitStack() as stack:

        async def start(
            *,
            streams_lists: bool = True,
            namespaces: tuple[str, ...] = (),
            keep: Callable[[JsonObject], str | None] = color,
        ) -> Setup:
            server = ListWatchServer(streams_lists=streams_lists)
            for name in ("a", "b", "c"):
                server.add_object(name)
            client = await connect(server.handle)
            setup = Setup(server, WatchCache(client, XAPPS, transform=keep, namespaces=namespaces))
            await stack.enter_async_context(setup.cache)
            await setup.cache.wait_synced(timeout_seconds=60)
            setup.received.clear()
            return setup

        yield start


@pytest.mark.parametrize("streams_lists", [True, False])
async def test_the_cache_starts_with_the_list_and_follows_the_watch(begin: Begin, *, streams_lists: bool) -> None:
    setup = await begin(streams_lists=streams_lists)
    assert setup.known() == {"a": "red", "b": "red", "c": "red"}
    await setup.server.apply("d")
    await setup.server.apply("a", color="blue")
    await setup.server.delete("b")
    await setup.until_changes(("ADDED", "d", "red"), ("MODIFIED", "a", "blue"), ("DELETED", "b", "red"))
    assert setup.known() == {"a": "blue", "c": "red", "d": "red"}
    assert setup.cache.get(namespace="ric", name="a") == "blue"
    assert setup.cache.get(namespace="ric", name="b") is None
    assert len(setup.cache) == 3


async def test_a_list_is_streamed_where_the_server_supports_it(begin: Begin) -> None:
    setup = await begin()
    assert setup.server.requests == ["list as events"]


async def test_a_list_is_paginated_where_the_server_cannot_stream_it(begin: Begin) -> None:
    setup = await begin(streams_lists=False)
    await setup.until_requested("watch from 103")
    assert setup.server.requests == ["list as events refused", "page 0", "page 2", "watch from 103"]


async def test_a_watch_resumes_at_its_last_resource_version(begin: Begin) -> None:
    setup = await begin()
    await setup.server.apply("a", color="blue")
    await setup.until_changes(("MODIFIED", "a", "blue"))
    await setup.server.end_watches()
    await setup.until_requested("watch from 104")
    await setup.server.apply("b", color="blue")
    await setup.until_changes(("MODIFIED", "b", "blue"))
    assert setup.server.requests == ["list as events", "watch from 104"]


async def test_a_bookmark_advances_the_resource_version_of_a_watch(begin: Begin) -> None:
    setup = await begin()
    setup.server.version = 500
    await setup.server.bookmark()
    await setup.server.end_watches()
    await setup.until_requested("watch from 500")
    assert setup.received == []


@pytest.mark.parametrize("streams_lists", [True, False])
async def test_after_an_expired_version_only_the_differences_are_reported(begin: Begin, *, streams_lists: bool) -> None:
    setup = await begin(streams_lists=streams_lists)
    setup.server.add_object("a", color="blue")
    setup.server.add_object("d")
    del setup.server.objects[("ric", "b")]
    setup.server.version += 1
    setup.server.expire_history()
    await setup.server.end_watches()
    await setup.until_changes(("MODIFIED", "a", "blue"), ("ADDED", "d", "red"), ("DELETED", "b", "red"))
    assert setup.known() == {"a": "blue", "c": "red", "d": "red"}


async def test_an_object_recreated_during_a_gap_is_deleted_and_added(begin: Begin) -> None:
    setup = await begin()
    setup.server.add_object("a", uid="another", color="blue")
    setup.server.expire_history()
    await setup.server.end_watches()
    await setup.until_changes(("DELETED", "a", "red"), ("ADDED", "a", "blue"))


async def test_the_last_known_state_survives_an_outage(begin: Begin) -> None:
    setup = await begin()
    setup.server.refusal = (503, "apiserver is shutting down")
    await setup.server.end_watches()
    await setup.until_requested("refused", times=2)
    assert setup.known() == {"a": "red", "b": "red", "c": "red"}
    assert "shutting down" in str(setup.cache.failure)
    contact = setup.cache.last_contact
    await setup.server.apply("a", color="blue")
    setup.server.refusal = None
    await setup.until_changes(("MODIFIED", "a", "blue"))
    assert not setup.cache.failure
    assert setup.cache.last_contact > contact
    assert setup.server.requests[-1] == "watch from 103"


@pytest.mark.parametrize(
    ("status", "seconds", "expected"), [(503, 600.0, True), (503, 0.0, False), (403, 600.0, False)]
)
async def test_an_interruption_is_a_failure_that_passes(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, *, status: int, seconds: float, expected: bool
) -> None:
    monkeypatch.setattr(watch_cache, "INTERRUPTION_SECONDS", seconds)
    setup = await begin()
    assert setup.cache.interruption is None
    setup.server.refusal = (status, "the watch is refused")
    await setup.server.end_watches()
    await eventually(lambda: setup.cache.failure, what="the failure to be noticed")
    assert (setup.cache.interruption is setup.cache.failure) is expected


async def test_an_outage_ends_when_the_watch_is_accepted(begin: Begin) -> None:
    setup = await begin()
    setup.server.refusal = (503, "apiserver is shutting down")
    await setup.server.end_watches()
    await eventually(lambda: setup.cache.failure, what="the outage to be noticed")
    setup.server.refusal = None
    await eventually(lambda: setup.cache.failure is None, what="the outage to be over")


async def test_the_back_off_grows_with_every_failure_and_ends_with_the_outage(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    backoff = RecordedBackoff()
    monkeypatch.setattr(watch_cache, "WATCH_BACKOFF", backoff)
    setup = await begin()
    setup.server.refusal = (503, "apiserver is shutting down")
    await setup.server.end_watches()
    await setup.until_requested("refused", times=3)
    setup.server.refusal = None
    await eventually(lambda: setup.cache.failure is None, what="the outage to be over")
    refused = setup.server.requests.count("refused")
    assert backoff.failures == list(range(refused + 1))
    await setup.server.end_watches()
    await eventually(lambda: len(backoff.failures) > refused + 1, what="the watch to end")
    assert backoff.failures[refused + 1] == 0


async def test_a_watch_without_permission_has_a_back_off_of_its_own_and_is_contact(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    backoff = RecordedBackoff()
    monkeypatch.setattr(watch_cache, "DENIED_BACKOFF", backoff)
    setup = await begin()
    contact = setup.cache.last_contact
    setup.server.refusal = (403, 'User "x" cannot watch resource "xapps"')
    await setup.server.end_watches()
    await eventually(lambda: len(backoff.failures) >= 3, what="three refusals")
    assert backoff.failures[:3] == [1, 2, 3]
    assert setup.cache.last_contact > contact


async def test_after_an_event_that_cannot_be_read_the_objects_are_listed_again(begin: Begin) -> None:
    setup = await begin()
    setup.server.add_object("a", color="blue")
    unreadable = b'{"type":"MODIFIED","object":{"metadata":{"namespace":"ric","resourceVersion":"?"}}}\n'
    setup.server.history.append((setup.server.version, unreadable))
    await setup.server.bookmark()
    await setup.until_changes(("MODIFIED", "a", "blue"))
    assert setup.server.requests == ["list as events"] * 2


async def test_an_own_write_is_cached_at_once_and_reported_once(begin: Begin) -> None:
    setup = await begin()
    setup.cache.store_written(setup.server.add_object("a", color="blue"))
    assert setup.known()["a"] == "blue"
    await setup.server.send_event("MODIFIED", setup.server.objects[("ric", "a")])
    await setup.server.apply("b", color="blue")
    await setup.until_changes(("MODIFIED", "a", "blue"), ("MODIFIED", "b", "blue"))


async def test_an_older_event_never_overwrites_a_newer_own_write(begin: Begin) -> None:
    setup = await begin()
    older = setup.server.add_object("a", color="old")
    newer = setup.server.add_object("a", color="new")
    setup.cache.store_written(newer)
    await setup.server.send_event("MODIFIED", older)
    await setup.server.send_event("DELETED", xapp("a", version=104))
    await setup.server.send_event("MODIFIED", newer)
    await setup.server.apply("b", color="blue")
    await setup.until_changes(("MODIFIED", "a", "new"), ("MODIFIED", "b", "blue"))
    assert setup.known()["a"] == "new"


async def test_an_own_write_older_than_the_watch_is_ignored(begin: Begin) -> None:
    setup = await begin()
    written = setup.server.add_object("d")
    await setup.server.send_event("ADDED", written)
    await setup.server.delete("d")
    await setup.until_changes(("ADDED", "d", "red"), ("DELETED", "d", "red"))
    setup.cache.store_written(xapp("d", version=104))
    assert "d" not in setup.known()
    assert setup.received == []


async def test_an_own_write_that_the_watch_has_reported_is_not_reported_again(begin: Begin) -> None:
    setup = await begin()
    written = await setup.server.apply("a", color="blue")
    await setup.until_changes(("MODIFIED", "a", "blue"))
    setup.cache.store_written(written)
    assert setup.received == []


async def test_an_own_write_that_removed_the_object_is_followed_by_its_deletion(begin: Begin) -> None:
    setup = await begin()
    removed = xapp("a", version=104, color="blue")
    setup.cache.store_written(removed)
    await setup.server.send_event("DELETED", removed)
    await setup.until_changes(("MODIFIED", "a", "blue"), ("DELETED", "a", "blue"))


async def test_an_own_write_is_cached_before_the_list(connect: Connect) -> None:
    cache = WatchCache(await connect(ListWatchServer().handle), XAPPS, transform=color)
    cache.store_written(xapp("a", version=1))
    assert cache.get(namespace="ric", name="a") == "red"


async def test_a_list_older_than_an_own_write_does_not_undo_it(begin: Begin) -> None:
    setup = await begin()
    setup.cache.store_written(xapp("new", version=110))
    setup.cache.store_written(xapp("a", version=111, color="blue"))
    setup.server.add_object("b", color="blue")
    setup.server.expire_history()
    await setup.server.end_watches()
    await setup.until_changes(("ADDED", "new", "red"), ("MODIFIED", "a", "blue"), ("MODIFIED", "b", "blue"))
    assert setup.known() == {"a": "blue", "b": "blue", "c": "red", "new": "red"}


@pytest.mark.parametrize("newest", ["a", "d"])
async def test_a_cluster_restored_from_a_backup_replaces_the_cache(begin: Begin, newest: str) -> None:
    setup = await begin()
    changes: list[Change] = [("MODIFIED", "a", "blue"), ("ADDED", "d", "blue")]
    for change in changes if newest == "d" else changes[::-1]:
        await setup.server.apply(change[1], color="blue")
        await setup.until_changes(change)
    setup.server.objects = {("ric", name): xapp(name, version=50) for name in ("a", "b", "c")}
    setup.server.version = 51
    setup.server.history.clear()
    await setup.server.end_watches()
    await setup.until_requested("watch from 105")
    await setup.server.end_watches()
    await eventually(lambda: "d" not in setup.known(), what="the list to be believed")
    assert setup.received == [*(("MODIFIED", name, "red") for name in ("a", "b", "c")), ("DELETED", "d", "blue")]
    setup.received.clear()
    await setup.server.apply("b", color="blue")
    await setup.until_changes(("MODIFIED", "b", "blue"))


async def test_objects_filtered_by_the_projection_are_absent(begin: Begin) -> None:
    setup = await begin(keep=lambda body: color(body) if color(body) != "grey" else None)
    await setup.server.apply("d", color="grey")
    await setup.server.apply("a", color="grey")
    await setup.until_changes(("DELETED", "a", "red"))
    await setup.server.apply("a", color="blue")
    await setup.until_changes(("ADDED", "a", "blue"))
    assert setup.known() == {"a": "blue", "b": "red", "c": "red"}


async def test_an_invalid_object_does_not_end_the_watch(begin: Begin) -> None:
    def strict(body: JsonObject) -> str | None:
        if color(body) == "grey":
            raise ValueError("grey")
        return color(body)

    setup = await begin(keep=strict)
    await setup.server.apply("a", color="grey")
    await setup.server.apply("b", color="blue")
    await setup.until_changes(("DELETED", "a", "red"), ("MODIFIED", "b", "blue"))


async def test_a_failing_subscriber_does_not_affect_the_others(begin: Begin) -> None:
    setup = await begin()

    def fail(*_: object) -> None:
        raise RuntimeError("a bug of a subscriber")

    later: list[str] = []
    setup.cache.subscribe(fail)
    end = setup.cache.subscribe(lambda _, key, __: later.append(key.name))
    await setup.server.apply("a", color="blue")
    await setup.until_changes(("MODIFIED", "a", "blue"))
    end()
    await setup.server.apply("b", color="blue")
    await setup.until_changes(("MODIFIED", "b", "blue"))
    assert later == ["a"]


async def test_each_namespace_is_watched_separately(begin: Begin) -> None:
    setup = await begin(namespaces=("ric", "other", "ric"))
    assert sorted(setup.server.requests) == ["list as events"] * 2
    await setup.server.apply("x", namespace="elsewhere")
    await setup.server.apply("y", namespace="other")
    await setup.server.apply("a", color="blue")
    await eventually(lambda: len(setup.received) >= 2, what="two changes")
    assert sorted(setup.received) == [("ADDED", "y", "red"), ("MODIFIED", "a", "blue")]
    assert setup.cache.get(namespace="other", name="y") == "red"
    setup.cache.store_written(setup.server.add_object("z", namespace="elsewhere"))
    assert "z" not in setup.known()
    setup.cache.store_written(setup.server.add_object("z", namespace="other"))
    assert "z" in setup.known()


async def test_a_relist_of_one_namespace_leaves_the_others_alone(begin: Begin) -> None:
    setup = await begin(namespaces=("ric", "other"))
    await setup.server.apply("y", namespace="other")
    await setup.until_changes(("ADDED", "y", "red"))
    del setup.server.objects[("ric", "b")]
    setup.server.expire_history()
    setup.server.forgotten = 104
    await setup.server.end_watches()
    await setup.until_requested("list as events", times=3)
    await setup.server.apply("a", color="blue")
    await setup.until_changes(("DELETED", "b", "red"), ("MODIFIED", "a", "blue"))
    assert setup.known() == {"a": "blue", "c": "red", "y": "red"}


async def test_a_sync_timeout_quotes_the_error_of_the_server(connect: Connect) -> None:
    server = ListWatchServer()
    server.refusal = (403, 'User "x" cannot list resource "xapps"')
    client = await connect(server.handle)
    async with WatchCache(client, XAPPS, transform=color) as cache:
        await eventually(lambda: cache.failure, what="the refusal")
        with pytest.raises(NotReady, match=r'xapps\.xapp-operator\.io could not be listed .*: User "x" cannot list'):
            await cache.wait_synced(timeout_seconds=0.01)
        assert isinstance(cache.failure, AccessDenied)
        assert not cache.synced.is_set()
        server.refusal = None
        await cache.wait_synced(timeout_seconds=60)


async def test_a_stopped_cache_keeps_its_objects_and_leaves_no_task(begin: Begin) -> None:
    before = asyncio.all_tasks()
    setup = await begin()
    await setup.cache.stop()
    assert setup.known() == {"a": "red", "b": "red", "c": "red"}
    left = {task.get_name() for task in asyncio.all_tasks() - before}
    assert not [name for name in left if name.startswith("watch ")]
