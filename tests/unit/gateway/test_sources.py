"""Two sources, XApps and labels, and every xApp once in the store, whichever speaks first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.eventually import eventually
from tests.unit.gateway.xapps import raw_xapp
from tests.unit.kube.conftest import Connect, connect
from tests.unit.monitor.objects import DRAX, NAMESPACE, OURS, LabelledObjects, drax_labels, labelled
from xapp_operator.config import Settings
from xapp_operator.gateway.records import entry_of
from xapp_operator.gateway.registered import Registered
from xapp_operator.gateway.store import RecordStore
from xapp_operator.kube.cache import ChangeType, Key

__all__ = ["connect"]


class Setup:
    """Labelled objects on a server, XApps by hand, the store they feed, and what it told."""

    def __init__(self) -> None:
        self.server = LabelledObjects()
        self.store = RecordStore()
        self.told: list[tuple[str, str, str]] = []
        self.store.subscribe(lambda change, entry: self.told.append((change, entry.name, entry.source)))
        self.registered: Registered

    def xapp(self, name: str, *, release: str, change: ChangeType = "ADDED") -> None:
        body = raw_xapp(name, namespace=NAMESPACE, spec={"releaseName": release})
        self.registered.xapp_changed(change, Key(NAMESPACE, name), entry_of(body))

    async def service(self, name: str, *, release: str = "", selector: str = DRAX) -> None:
        labels = drax_labels(name) if selector == DRAX else {OURS: name}
        await self.server.put("services", selector, labelled(name, labels, release=release))

    async def known(self, release: str) -> None:
        registry = self.registered.registry
        await eventually(lambda: registry.get(NAMESPACE, release) is not None, what=f"objects of {release}")

    async def until(self, *wanted: tuple[str, str]) -> None:
        await eventually(lambda: self.listed() == sorted(wanted), what=f"{wanted}; there is {self.listed()}")

    async def later(self) -> None:
        """Wait until whatever was told before has been looked at."""
        await self.service("last")
        await eventually(lambda: self.store.get(NAMESPACE, "last") is not None, what="the last Service")
        await self.server.drop("services", DRAX, "last")
        await eventually(lambda: self.store.get(NAMESPACE, "last") is None, what="the last Service to go")

    def listed(self) -> list[tuple[str, str]]:
        keys = {(NAMESPACE, name) for _, name, _ in self.told}
        found = (self.store.get(*key) for key in keys)
        return sorted((entry.name, entry.source) for entry in found if entry is not None)


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[Setup]:
    async with running(connect, aftermath=0.05) as one:
        yield one


@asynccontextmanager
async def running(connect: Connect, *, aftermath: float) -> AsyncIterator[Setup]:
    """Hold both sources in sync with nothing."""
    one = Setup()
    one.registered = Registered(await connect(one.server.handle), Settings(), store=one.store, aftermath=aftermath)
    async with one.registered:
        await asyncio.wait_for(one.registered.registry.synced.wait(), 60)
        yield one


async def test_an_xapp_that_comes_before_its_objects_are_looked_at_is_the_only_one(setup: Setup) -> None:
    await setup.service("a", release="r")
    await setup.known("r")
    setup.xapp("mine", release="r")
    await setup.later()
    assert setup.listed() == [("mine", "xapp")]


async def test_labels_give_way_in_the_same_step_as_the_xapp_comes(setup: Setup) -> None:
    await setup.service("a", release="r")
    await setup.until(("r", "labels"))
    setup.xapp("mine", release="r")
    assert setup.listed() == [("mine", "xapp")]
    assert len(setup.store) == 1


async def test_an_xapp_of_the_same_name_takes_the_place_of_the_labels(setup: Setup) -> None:
    await setup.service("a", release="r")
    await setup.until(("r", "labels"))
    setup.xapp("r", release="r")
    assert setup.listed() == [("r", "xapp")]
    assert len(setup.store) == 1
    setup.xapp("r", release="r", change="DELETED")
    assert setup.listed() == []
    await setup.until(("r", "labels"))


async def test_objects_that_go_after_their_xapp_never_show(connect: Connect) -> None:
    async with running(connect, aftermath=3600) as setup:
        setup.xapp("mine", release="r")
        await setup.service("a", release="r")
        await setup.service("b", release="r")
        await setup.known("r")
        setup.xapp("mine", release="r", change="DELETED")
        await setup.server.drop("services", DRAX, "a")
        await setup.later()
        assert setup.listed() == []


async def test_two_xapps_of_one_release_silence_its_labels_until_both_are_gone(setup: Setup) -> None:
    await setup.service("a", release="r")
    setup.xapp("one", release="r")
    setup.xapp("two", release="r")
    setup.xapp("one", release="r", change="DELETED")
    await setup.later()
    assert setup.listed() == [("two", "xapp")]
    setup.xapp("two", release="r", change="DELETED")
    await setup.until(("r", "labels"))


async def test_a_release_named_like_an_xapp_of_another_release_waits_for_the_name(setup: Setup) -> None:
    """A path names one xApp."""
    setup.xapp("r", release="another")
    await setup.service("a", release="r")
    await setup.later()
    assert setup.listed() == [("r", "xapp")]
    setup.xapp("r", release="another", change="DELETED")
    await setup.until(("r", "labels"))


async def test_what_carries_our_label_without_helm_belongs_to_the_xapp_that_it_names(setup: Setup) -> None:
    setup.xapp("mine", release="r")
    await setup.service("mine", selector=OURS)
    await setup.service("other", selector=OURS)
    await setup.until(("mine", "xapp"), ("other", "labels"))
