"""One watch for each namespace: a namespace that is refused or slow does not affect the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.kube.list_watch_server import ListWatchServer
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.errors import AccessDenied
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.watch.namespaced_watch import NamespacedWatch
from xapp_operator.kube.watch.watch_cache import WatchCache


class Setup:
    """A server with permissions, a watch of it, and what the watch reported."""

    def __init__(self) -> None:
        self.server = ListWatchServer()
        self.refused: set[str] = set()
        self.silent: set[str] = set()
        self.watched: list[str] = []  # the namespace of each request; empty for all
        self.changes: list[tuple[str, str, str]] = []
        self.statuses: list[str | None] = []
        self.caches: list[WatchCache[str]] = []
        self.watch: NamespacedWatch[str]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.split("/")
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        self.watched.append(namespace)
        if namespace in self.silent:
            await asyncio.sleep(60)
        if namespace in self.refused:
            status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "you may not"}
            return web.json_response(status, status=403)
        return await self.server.handle(request)

    def make(self, kube: KubeClient, *, cluster_wide: bool) -> None:
        def make_cache(namespaces: tuple[str, ...], on_status: Callable[[], None]) -> WatchCache[str]:
            cache = WatchCache(
                kube,
                XAPPS,
                transform=lambda body: text(obj(body, "spec"), "color"),
                namespaces=namespaces,
                on_status=on_status,
            )
            self.caches.append(cache)
            return cache

        self.watch = NamespacedWatch(make_cache, cluster_wide=cluster_wide, on_status=self.statuses.append)
        self.watch.subscribe(lambda change, key, _: self.changes.append((change, key.namespace, key.name)))


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[Setup]:
    one = Setup()
    for namespace in ("first", "second"):
        one.server.add_object("a", namespace=namespace)
    one.make(await connect(one.handle), cluster_wide=False)
    yield one
    await one.watch.stop()


async def synced(setup: Setup, namespace: str) -> None:
    await eventually(lambda: setup.watch.is_synced(namespace), what=namespace)


async def test_only_added_namespaces_are_watched_once_each(setup: Setup) -> None:
    setup.watch.add_namespace("first")
    setup.watch.add_namespace("first")
    await synced(setup, "first")
    assert setup.watched == ["first"]
    assert setup.watch.get(namespace="first", name="a") == "red"
    assert setup.watch.get(namespace="second", name="a") is None
    assert setup.changes == [("ADDED", "first", "a")]
    assert setup.statuses == ["first"]


async def test_a_removed_namespace_is_reported_as_deleted_and_can_come_back(setup: Setup) -> None:
    setup.watch.add_namespace("first")
    await synced(setup, "first")
    setup.changes.clear()

    assert setup.watch.remove_namespace("first")
    assert not setup.watch.remove_namespace("first")
    assert setup.changes == [("DELETED", "first", "a")]
    assert not setup.watch.is_synced("first")

    setup.watch.add_namespace("first")
    await synced(setup, "first")
    assert setup.changes[1:] == [("ADDED", "first", "a")]


@pytest.mark.parametrize("is_back", [False, True])
async def test_what_a_watch_still_stores_after_its_end_is_not_reported(setup: Setup, is_back: bool) -> None:
    setup.watch.add_namespace("first")
    await synced(setup, "first")
    setup.watch.remove_namespace("first")
    if is_back:
        setup.watch.add_namespace("first")
        await synced(setup, "first")
    setup.changes.clear()

    metadata: JsonObject = {"namespace": "first", "name": "late", "uid": "late", "resourceVersion": "1000"}
    setup.caches[0].store_written({"metadata": metadata, "spec": {"color": "blue"}})
    assert setup.caches[0].get(namespace="first", name="late") == "blue"
    assert setup.changes == []


async def test_a_refused_and_a_silent_namespace_do_not_affect_the_others(setup: Setup) -> None:
    setup.refused.add("refused")
    setup.silent.add("silent")
    for namespace in ("refused", "silent", "first"):
        setup.watch.add_namespace(namespace)

    await synced(setup, "first")
    await eventually(lambda: setup.watch.failure("refused") is not None, what="the refusal")

    assert isinstance(setup.watch.failure("refused"), AccessDenied)
    assert setup.watch.failure("first") is None
    assert not setup.watch.is_synced("silent")
    assert setup.watch.failure("silent") is None


async def test_a_refused_namespace_is_watched_when_the_permission_is_there(setup: Setup) -> None:
    setup.refused.add("first")
    setup.watch.add_namespace("first")
    await eventually(lambda: setup.watched.count("first") >= 2, what="a second attempt")
    assert setup.statuses == ["first"], "the same refusal is reported once"

    setup.refused.clear()
    await synced(setup, "first")
    assert setup.watch.failure("first") is None
    assert setup.watch.get(namespace="first", name="a") == "red"


async def test_a_refusal_is_contact_with_the_api_server(setup: Setup) -> None:
    setup.refused.add("first")
    before = setup.watch.last_contact
    setup.watch.add_namespace("first")
    started = setup.watch.last_contact
    assert started >= before
    await eventually(lambda: setup.watch.last_contact > started, what="the answer of the server")


async def test_one_watch_serves_all_namespaces(connect: Connect) -> None:
    one = Setup()
    for namespace in ("first", "second"):
        one.server.add_object("a", namespace=namespace)
    one.make(await connect(one.handle), cluster_wide=True)

    for namespace in ("first", "second"):
        one.watch.add_namespace(namespace)
    await synced(one, "first")
    one.watch.remove_namespace("first")

    assert one.watched == [""]
    assert one.watch.get(namespace="first", name="a") == "red"
    assert one.watch.get(namespace="second", name="a") == "red"
    assert one.statuses == [None]
    await one.watch.stop()


async def test_the_end_of_a_watch_waits_for_the_end_of_each_namespace(setup: Setup) -> None:
    before = asyncio.all_tasks()
    for namespace in ("first", "second", "third"):
        setup.watch.add_namespace(namespace)
        await synced(setup, namespace)
    setup.watch.remove_namespace("third")
    await setup.watch.stop()
    names = {task.get_name() for task in asyncio.all_tasks() - before}
    assert not {name for name in names if name.startswith("watch ")}
    assert not setup.watch._stopping  # nothing is kept of a namespace that was removed
    assert not setup.watch.is_synced("first")
