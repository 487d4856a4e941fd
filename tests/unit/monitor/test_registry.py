"""Labelled objects are grouped by their release, each one once, as they are added and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.monitor.objects import DRAX, NAMESPACE, OURS, LabelledObjects, drax_labels, labelled
from xapp_operator.config.settings import Settings
from xapp_operator.monitor.object_labels import ReleaseKey
from xapp_operator.monitor.registry import XAppRegistry


class Setup:
    """A server, a registry of it, and the releases that it has reported as changed."""

    def __init__(self) -> None:
        self.server = LabelledObjects()
        self.changed: list[ReleaseKey] = []
        self.releases: set[ReleaseKey] = set()
        self.registry: XAppRegistry

    def on_change(self, release: ReleaseKey) -> None:
        self.changed.append(release)
        self.releases.add(release)

    def groups(self) -> dict[str, list[str]]:
        return {
            one.release: [f"{live.health.kind}/{live.health.name}" for live in one.objects]
            for release in self.releases
            if (one := self.registry.get(*release)) is not None
        }

    async def until(self, **wanted: list[str]) -> None:
        shown = {release.replace("_", "-"): objects for release, objects in wanted.items()}
        await eventually(lambda: self.groups() == shown, what=f"{shown}; there is {self.groups()}")


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[Setup]:
    """A registry that is synced with an empty server."""
    one = Setup()
    kube = await connect(one.server.handle)
    one.registry = XAppRegistry(kube, Settings(), on_change=one.on_change)
    one.registry.start()
    await asyncio.wait_for(one.registry.synced.wait(), 60)
    yield one
    await one.registry.stop()


async def test_objects_of_one_release_are_one_xapp_despite_other_names_in_labels(setup: Setup) -> None:
    await setup.server.put("services", DRAX, labelled("a", drax_labels("one"), release="r"))
    await setup.server.put("deployments", DRAX, labelled("b", drax_labels("two"), release="r"))
    await setup.server.put("configmaps", OURS, labelled("c", {OURS: "three"}, release="r"))
    await setup.until(r=["ConfigMap/c", "Deployment/b", "Service/a"])
    found = setup.registry.get(NAMESPACE, "r")
    assert found is not None
    assert found.made_by_helm
    assert found.has_workload_or_service


async def test_without_helm_the_name_of_the_labels_is_the_key(setup: Setup) -> None:
    await setup.server.put("services", DRAX, labelled("a", drax_labels("one")))
    await setup.server.put("services", DRAX, labelled("b", drax_labels("one")))
    await setup.server.put("services", DRAX, labelled("c", drax_labels("two")))
    await setup.until(one=["Service/a", "Service/b"], two=["Service/c"])
    found = setup.registry.get(NAMESPACE, "one")
    assert found is not None
    assert not found.made_by_helm


async def test_a_role_without_a_name_needs_a_release(setup: Setup) -> None:
    await setup.server.put("services", DRAX, labelled("nobody's", drax_labels("")))
    await setup.server.put("services", DRAX, labelled("a", drax_labels(""), release="r"))
    await setup.until(r=["Service/a"])


async def test_an_object_in_two_sets_counts_once_until_it_leaves_both(setup: Setup) -> None:
    both = labelled("a", {**drax_labels("one"), OURS: "one"})
    for selector in (DRAX, OURS):
        await setup.server.put("services", selector, both)
    await setup.until(one=["Service/a"])
    await setup.server.drop("services", OURS, "a")
    await setup.server.put("services", DRAX, labelled("later", drax_labels("one")))
    await setup.until(one=["Service/a", "Service/later"])
    await setup.server.drop("services", DRAX, "a")
    await setup.until(one=["Service/later"])


async def test_an_object_that_names_another_release_moves_to_it(setup: Setup) -> None:
    await setup.server.put("services", DRAX, labelled("a", drax_labels("one"), release="first"))
    await setup.until(first=["Service/a"])
    setup.changed.clear()
    await setup.server.put("services", DRAX, labelled("a", drax_labels("one"), release="second"))
    await setup.until(second=["Service/a"])
    assert setup.changed == [(NAMESPACE, "first"), (NAMESPACE, "second")]


async def test_controlled_objects_do_not_count(setup: Setup) -> None:
    """The pods and ReplicaSets of a Deployment have the labels of its template."""
    owner = {"ownerReferences": [{"kind": "ReplicaSet", "name": "b-1", "controller": True}]}
    await setup.server.put("pods", DRAX, labelled("b-1-x", drax_labels("one"), metadata=owner))
    await setup.server.put("replicasets", DRAX, labelled("b-1", drax_labels("one"), metadata=owner))
    await setup.server.put("pods", DRAX, labelled("alone", drax_labels("one")))
    await setup.until(one=["Pod/alone"])


async def test_claims_alone_are_no_xapp(setup: Setup) -> None:
    await setup.server.put("persistentvolumeclaims", DRAX, labelled("data-a-0", drax_labels("one")))
    await setup.until(one=["PersistentVolumeClaim/data-a-0"])
    found = setup.registry.get(NAMESPACE, "one")
    assert found is not None
    assert not found.has_workload_or_service


async def test_labels_register_an_object_in_its_own_namespace_only(setup: Setup) -> None:
    body = labelled("a", drax_labels("one"), release="r", release_namespace="somebody-else")
    await setup.server.put("services", DRAX, body)
    await setup.server.put("services", DRAX, labelled("b", drax_labels("two")))
    await setup.until(two=["Service/b"])


async def test_a_change_outside_the_stored_fields_is_not_reported(setup: Setup) -> None:
    await setup.server.put("services", DRAX, labelled("a", drax_labels("one")))
    await setup.until(one=["Service/a"])
    setup.changed.clear()
    annotated = labelled("a", drax_labels("one"), annotations={"somebody.io/seen": "now"})
    await setup.server.put("services", DRAX, annotated)
    await setup.server.put("services", DRAX, labelled("last", drax_labels("last")))
    await eventually(lambda: (NAMESPACE, "last") in setup.changed, what="the last object")
    assert setup.changed == [(NAMESPACE, "last")]


async def test_a_recreated_object_stays(setup: Setup) -> None:
    await setup.server.put("services", DRAX, labelled("a", drax_labels("one")))
    await setup.until(one=["Service/a"])
    again = labelled("a", drax_labels("two"), metadata={"uid": "another"})
    await setup.server.put("services", DRAX, again)
    await setup.until(two=["Service/a"])


async def test_an_unreadable_kind_does_not_block_the_others(connect: Connect) -> None:
    setup = Setup()
    setup.server.refused = {"horizontalpodautoscalers", "jobs"}
    await setup.server.put("services", DRAX, labelled("a", drax_labels("one")))
    registry = setup.registry = XAppRegistry(await connect(setup.server.handle), Settings(), on_change=setup.on_change)
    registry.start()
    try:
        await asyncio.wait_for(registry.synced.wait(), 60)
        assert setup.groups() == {"one": ["Service/a"]}
    finally:
        await registry.stop()


async def test_recognised_label_sets_come_from_the_settings(connect: Connect) -> None:
    setup = Setup()
    settings = Settings(label_sets='[{"selector": "acme.io/xapp", "name": "acme.io/xapp"}]')
    await setup.server.put("services", "acme.io/xapp", labelled("a", {"acme.io/xapp": "one"}))
    registry = setup.registry = XAppRegistry(await connect(setup.server.handle), settings, on_change=setup.on_change)
    registry.start()
    try:
        await asyncio.wait_for(registry.synced.wait(), 60)
        assert setup.groups() == {"one": ["Service/a"]}
        assert {selector for _, selector in setup.server.servers} == {OURS, "acme.io/xapp"}
    finally:
        await registry.stop()
