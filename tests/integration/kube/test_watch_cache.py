"""A cache of real objects is complete and ordered, and correct again after every interruption."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.integration.kube.conftest import config_map
from tests.integration.kube.tcp_relay import TcpRelay
from tests.localcluster import Cluster, LocalCluster
from tests.support.eventually import eventually
from tests.support.xapp_manifest import xapp_manifest
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.errors import NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS, XAPPS
from xapp_operator.kube.watch.watch_cache import WatchCache

pytestmark = pytest.mark.integration

Heard = list[tuple[str, str, str]]
LARGE_CHARACTERS = 1_400_000


def value(body: JsonObject) -> str | None:
    """Return one value of a ConfigMap of these tests."""
    return text(obj(body, "data"), "k") or None


def follow(client: KubeClient, namespace: str) -> tuple[WatchCache[str], Heard]:
    """Return a cache of the ConfigMaps of a namespace, and the changes that its subscriber receives."""
    cache = WatchCache(client, CONFIGMAPS, transform=value, namespaces=(namespace,), label_selector="watched")
    heard: Heard = []
    cache.subscribe(lambda change, key, kept: heard.append((change, key.name, kept)))
    return cache, heard


async def make(client: KubeClient, namespace: str, name: str, text: str = "1") -> JsonObject:
    body = config_map(name, data={"k": text}, labels={"watched": "yes"})
    try:
        return await client.replace(CONFIGMAPS, body, namespace=namespace)
    except NotFound:
        return await client.create(CONFIGMAPS, body, namespace=namespace)


async def change_all(client: KubeClient, namespace: str) -> None:
    """Of a, b and c: change a, delete b, leave c, and add d."""
    await make(client, namespace, "a", "2")
    await client.delete(CONFIGMAPS, "b", namespace=namespace)
    await make(client, namespace, "d")


DIFFERENCES = [("ADDED", "d", "1"), ("DELETED", "b", "1"), ("MODIFIED", "a", "2")]


async def test_only_selected_changes_arrive_and_in_order(kube: KubeClient, namespace: str) -> None:
    await make(kube, namespace, "a")
    await kube.create(CONFIGMAPS, config_map("unwatched", data={"k": "1"}), namespace=namespace)
    cache, heard = follow(kube, namespace)
    async with cache:
        await cache.wait_synced(timeout_seconds=60)
        assert [(key.namespace, key.name, kept) for key, kept in cache.items()] == [(namespace, "a", "1")]
        heard.clear()
        for text in ("2", "3", "4"):
            await make(kube, namespace, "a", text)
        await kube.delete(CONFIGMAPS, "a", namespace=namespace)
        await eventually(lambda: len(heard) >= 4, what="four changes")
        assert heard == [*(("MODIFIED", "a", text) for text in ("2", "3", "4")), ("DELETED", "a", "4")]


async def test_an_object_that_no_longer_matches_the_selector_is_deleted(kube: KubeClient, namespace: str) -> None:
    await make(kube, namespace, "a")
    cache, heard = follow(kube, namespace)
    async with cache:
        await cache.wait_synced(timeout_seconds=60)
        heard.clear()
        await kube.patch(CONFIGMAPS, "a", {"metadata": {"labels": {"watched": None}}}, namespace=namespace)
        await eventually(lambda: heard, what="a change")
        assert heard == [("DELETED", "a", "1")]


async def test_an_own_write_causes_one_event(kube: KubeClient, namespace: str) -> None:
    cache, heard = follow(kube, namespace)
    async with cache:
        await cache.wait_synced(timeout_seconds=60)
        cache.store_written(await make(kube, namespace, "a"))
        assert cache.get(namespace=namespace, name="a") == "1"
        await make(kube, namespace, "z")
        await eventually(lambda: cache.get(namespace=namespace, name="z"), what="a later change")
        assert heard == [("ADDED", "a", "1"), ("ADDED", "z", "1")]


async def test_an_object_over_a_megabyte_is_listed_and_watched(kube: KubeClient, namespace: str, crds: None) -> None:
    async def create(name: str) -> None:
        await kube.create(XAPPS, xapp_manifest(name, namespace=namespace, values={"text": "x" * LARGE_CHARACTERS}))

    def size(body: JsonObject) -> int:
        return len(text(obj(obj(body, "spec"), "values"), "text"))

    await create("listed")
    async with WatchCache(kube, XAPPS, transform=size, namespaces=(namespace,)) as cache:
        await cache.wait_synced(timeout_seconds=60)
        await create("watched")
        await eventually(lambda: len(cache) == 2, what="the second object")
        assert {key.name: kept for key, kept in cache.items()} == dict.fromkeys(("listed", "watched"), LARGE_CHARACTERS)
    for name in ("listed", "watched"):
        await kube.delete(XAPPS, name, namespace=namespace)


async def test_no_event_is_lost_when_a_connection_breaks(
    kube: KubeClient, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        await make(kube, namespace, name)
    async with (
        TcpRelay(cluster.kubeconfig, folder=tmp_path) as relay,
        await KubeClient.connect(Settings(KUBECONFIG=str(relay.kubeconfig))) as relayed,
    ):
        cache, heard = follow(relayed, namespace)
        async with cache:
            await cache.wait_synced(timeout_seconds=60)
            heard.clear()
            await relay.cut()
            await eventually(lambda: cache.failure, what="the cut to be noticed")
            await change_all(kube, namespace)
            assert {key.name: kept for key, kept in cache.items()} == {"a": "1", "b": "1", "c": "1"}
            relay.restore()
            await eventually(lambda: len(heard) >= len(DIFFERENCES), what="the changes")
            assert sorted(heard) == DIFFERENCES
            assert not cache.failure


async def test_the_watch_continues_after_the_api_server_restarts(
    private_cluster: Callable[[], LocalCluster], tmp_path: Path
) -> None:
    local = await asyncio.to_thread(private_cluster)
    cluster = local.connect()
    async with (
        await KubeClient.connect(Settings(KUBECONFIG=str(cluster.kubeconfig))) as client,
        TcpRelay(cluster.kubeconfig, folder=tmp_path) as relay,
        await KubeClient.connect(Settings(KUBECONFIG=str(relay.kubeconfig))) as relayed,
    ):
        for name in ("a", "b", "c"):
            await make(client, "default", name)
        straight, heard_straight = follow(client, "default")
        behind, heard_behind = follow(relayed, "default")
        async with straight, behind:
            for cache in (straight, behind):
                await cache.wait_synced(timeout_seconds=60)
            heard_straight.clear()
            heard_behind.clear()
            # One cache misses the changes; after the restart the server no longer knows the version it stopped at.
            await relay.cut()
            await change_all(client, "default")
            await eventually(lambda: len(heard_straight) >= len(DIFFERENCES), what="the changes")
            await asyncio.to_thread(local.stop_process, "kube-apiserver")
            await eventually(lambda: straight.failure, what="the outage to be noticed")
            assert {key.name: kept for key, kept in straight.items()} == {"a": "2", "c": "1", "d": "1"}
            await asyncio.to_thread(local.start_process, "kube-apiserver")
            relay.restore()
            await eventually(lambda: len(heard_behind) >= len(DIFFERENCES), what="the differences", seconds=60)
            assert sorted(heard_behind) == DIFFERENCES
            await make(client, "default", "e")
            for heard in (heard_straight, heard_behind):
                await eventually(partial(_any_after, heard, len(DIFFERENCES)), what="a later change", seconds=60)
                assert sorted(heard[: len(DIFFERENCES)]) == DIFFERENCES
                assert heard[len(DIFFERENCES) :] == [("ADDED", "e", "1")]
            assert not straight.failure
            assert not behind.failure


def _any_after(heard: Heard, number: int) -> bool:
    return len(heard) > number
