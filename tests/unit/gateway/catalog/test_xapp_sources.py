"""Every xApp is in the store once, whichever source reports it first: an XApp or labels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.eventually import eventually
from tests.unit.gateway.xapp_objects import raw_xapp
from tests.unit.kube.conftest import Connect, connect
from tests.unit.monitor.objects import DRAX, NAMESPACE, OURS, LabelledObjects, drax_labels, labelled
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.catalog.xapp_sources import XAppSources
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey

__all__ = ["connect"]


class SourcesUnderTest:
    """Labelled objects on a server, XApps by hand, the store they feed, and its reported changes."""

    def __init__(self) -> None:
        self.server = LabelledObjects()
        self.store = XAppRecordStore()
        self.changes: list[tuple[str, str, str]] = []
        self.store.subscribe(lambda change, entry, _: self.changes.append((change, entry.name, entry.source)))
        self.registered: XAppSources

    def xapp(self, name: str, *, release: str, change: ChangeType = "ADDED") -> None:
        body = raw_xapp(name, namespace=NAMESPACE, spec={"releaseName": release})
        self.registered.on_xapp_change(change, ObjectKey(NAMESPACE, name), build_xapp_entry(body))

    async def service(self, name: str, *, release: str = "", selector: str = DRAX) -> None:
        labels = drax_labels(name) if selector == DRAX else {OURS: name}
        await self.server.put("services", selector, labelled(name, labels, release=release))

    async def known(self, release: str) -> None:
        registry = self.registered.registry
        await eventually(lambda: registry.get(NAMESPACE, release) is not None, what=f"objects of {release}")

    async def until(self, *wanted: tuple[str, str]) -> None:
        await eventually(lambda: self.listed() == sorted(wanted), what=f"{wanted}; there is {self.listed()}")

    async def later(self) -> None:
        """Wait until the earlier changes have been processed."""
        await self.service("last")
        await eventually(lambda: self.store.get(NAMESPACE, "last") is not None, what="the last Service")
        await self.server.drop("services", DRAX, "last")
        await eventually(lambda: self.store.get(NAMESPACE, "last") is None, what="the last Service to go")

    def listed(self) -> list[tuple[str, str]]:
        keys = {(NAMESPACE, name) for _, name, _ in self.changes}
        found = (self.store.get(*key) for key in keys)
        return sorted((entry.name, entry.source) for entry in found if entry is not None)


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[SourcesUnderTest]:
    async with running_sources(connect, removal_seconds=0.05) as one:
        yield one


@asynccontextmanager
async def running_sources(connect: Connect, *, removal_seconds: float) -> AsyncIterator[SourcesUnderTest]:
    """Run both sources, synced and empty."""
    one = SourcesUnderTest()
    one.registered = XAppSources(
        await connect(one.server.handle), Settings(), store=one.store, removal_seconds=removal_seconds
    )
    async with one.registered:
        await asyncio.wait_for(one.registered.registry.synced.wait(), 60)
        yield one


async def test_when_the_registry_is_synced_every_xapp_known_by_labels_is_listed(connect: Connect) -> None:
    one = SourcesUnderTest()
    for name in ("a", "b"):
        await one.service(name)
    one.registered = XAppSources(await connect(one.server.handle), Settings(), store=one.store)
    async with one.registered:
        await asyncio.wait_for(one.registered.registry.synced.wait(), 60)
        assert one.listed() == [("a", "labels"), ("b", "labels")]


async def test_an_xapp_that_arrives_before_its_objects_is_listed_once(setup: SourcesUnderTest) -> None:
    await setup.service("a", release="r")
    await setup.known("r")
    setup.xapp("mine", release="r")
    await setup.later()
    assert setup.listed() == [("mine", "xapp")]


async def test_an_xapp_replaces_its_label_record_in_one_change(setup: SourcesUnderTest) -> None:
    await setup.service("a", release="r")
    await setup.until(("r", "labels"))
    setup.xapp("mine", release="r")
    assert setup.listed() == [("mine", "xapp")]
    assert len(setup.store) == 1


async def test_an_xapp_of_the_same_name_replaces_the_label_record(setup: SourcesUnderTest) -> None:
    await setup.service("a", release="r")
    await setup.until(("r", "labels"))
    setup.xapp("r", release="r")
    assert setup.listed() == [("r", "xapp")]
    assert len(setup.store) == 1
    setup.xapp("r", release="r", change="DELETED")
    assert setup.listed() == []
    await setup.until(("r", "labels"))


async def test_objects_deleted_after_their_xapp_are_never_listed(connect: Connect) -> None:
    async with running_sources(connect, removal_seconds=3600) as setup:
        setup.xapp("mine", release="r")
        await setup.service("a", release="r")
        await setup.service("b", release="r")
        await setup.known("r")
        setup.xapp("mine", release="r", change="DELETED")
        await setup.server.drop("services", DRAX, "a")
        await setup.later()
        assert setup.listed() == []


async def test_xapps_hide_the_labels_of_their_release_until_the_last_is_gone(setup: SourcesUnderTest) -> None:
    await setup.service("a", release="r")
    setup.xapp("one", release="r")
    setup.xapp("two", release="r")
    setup.xapp("one", release="r", change="DELETED")
    await setup.later()
    assert setup.listed() == [("two", "xapp")]
    setup.xapp("two", release="r", change="DELETED")
    await setup.until(("r", "labels"))


async def test_a_release_with_the_name_of_another_releases_xapp_waits_for_the_name(setup: SourcesUnderTest) -> None:
    """A path identifies one xApp."""
    setup.xapp("r", release="another")
    await setup.service("a", release="r")
    await setup.later()
    assert setup.listed() == [("r", "xapp")]
    setup.xapp("r", release="another", change="DELETED")
    await setup.until(("r", "labels"))


async def test_an_object_with_the_operators_label_belongs_to_its_xapp_without_helm(setup: SourcesUnderTest) -> None:
    setup.xapp("mine", release="r")
    await setup.service("mine", selector=OURS)
    await setup.service("other", selector=OURS)
    await setup.until(("mine", "xapp"), ("other", "labels"))
