"""Chart Secrets are owned by the XApps that use them; the watch knows the owners, also right after a write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.monitor.objects import LabelledObjects, labelled
from tests.unit.reconcile.xapps import xapp
from xapp_operator.config import Settings
from xapp_operator.reconcile.referenced_objects import (
    UNOWNED_GRACE,
    ArchiveOwnerChanges,
    ChartSecretOwners,
    ReferencedObjects,
)

NOT_HELM = "owner!=helm"
FIRST, SECOND = "chart-0000000000000001", "chart-0000000000000002"
US = {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "XApp", "name": "hello", "uid": "u1"}
OTHER = {**US, "name": "other", "uid": "u2"}


class Setup:
    """A server with Secrets, the watch of them, and the writer of owners."""

    def __init__(self) -> None:
        self.server = LabelledObjects()
        self.references: ReferencedObjects
        self.owners: ChartSecretOwners
        self.changed: list[tuple[str, str, str]] = []

    async def put(self, name: str, *owners: dict[str, str], **metadata: Any) -> None:
        metadata = {"namespace": "ns", "ownerReferences": list(owners), **metadata}
        await self.server.put("secrets", NOT_HELM, labelled(name, {}, metadata=metadata))

    def secret(self, name: str) -> Any:
        return self.server.of("secrets", NOT_HELM).objects["ns", name]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/")[2]
        if "/secrets/" not in request.path:
            return await self.server.handle(request)
        if ("ns", name) not in self.server.of("secrets", NOT_HELM).objects:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        if request.method == "PATCH":
            change = (await request.json())["metadata"]
            metadata = {**self.secret(name)["metadata"], **change}
            await self.server.put("secrets", NOT_HELM, {**self.secret(name), "metadata": metadata})
        return web.json_response(self.secret(name))


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[Setup]:
    one = Setup()
    kube = await connect(one.handle)
    one.references = ReferencedObjects(kube, Settings(), on_change=lambda *change: one.changed.append(change))
    one.owners = ChartSecretOwners(kube, one.references)
    await one.references.start()
    yield one
    await one.references.stop()


async def test_owned_chart_secrets_follow_the_owner_references(setup: Setup) -> None:
    await setup.put(FIRST, US, OTHER)
    await setup.put(SECOND, US)
    await setup.put("not-a-chart", US)
    await eventually(lambda: ("Secret", "ns", "not-a-chart") in setup.changed, what="all three")
    assert setup.references.owned_chart_secrets("u1", namespace="ns") == (FIRST, SECOND)
    assert setup.references.owned_chart_secrets("u2", namespace="ns") == (FIRST,)
    await setup.put(FIRST, OTHER)
    await setup.server.of("secrets", NOT_HELM).delete(SECOND, namespace="ns")
    await eventually(lambda: setup.references.owned_chart_secrets("u1", namespace="ns") == (), what="both to be left")
    assert setup.references.owned_chart_secrets("u2", namespace="ns") == (FIRST,)


async def test_a_change_of_owners_is_cached_at_once_and_keeps_other_owners(setup: Setup) -> None:
    await setup.put(FIRST, OTHER)
    await setup.put(SECOND, US)
    await eventually(lambda: setup.references.owned_chart_secrets("u1", namespace="ns") == (SECOND,), what="the second")
    await setup.owners.update(xapp(), ArchiveOwnerChanges(add=FIRST, remove=(SECOND,)))
    assert setup.references.owned_chart_secrets("u1", namespace="ns") == (FIRST,)
    assert setup.secret(FIRST)["metadata"]["ownerReferences"] == [OTHER, US]
    assert setup.secret(FIRST)["metadata"]["annotations"]["xapp-operator.io/released-at"] is None
    assert setup.secret(SECOND)["metadata"]["ownerReferences"] == []
    assert setup.secret(SECOND)["metadata"]["annotations"]["xapp-operator.io/released-at"]
    await setup.owners.update(xapp(), ArchiveOwnerChanges(add=FIRST))
    assert setup.secret(FIRST)["metadata"]["ownerReferences"] == [OTHER, US]


async def test_owner_references_in_another_namespace_do_not_count(setup: Setup) -> None:
    await setup.put(FIRST, US, namespace="hostile")
    await setup.put(SECOND, US)
    await eventually(lambda: setup.references.owned_chart_secrets("u1", namespace="ns") == (SECOND,), what="ours")
    await eventually(lambda: ("Secret", "hostile", FIRST) in setup.changed, what="theirs")
    assert setup.references.owned_chart_secrets("u1", namespace="ns") == (SECOND,)


async def test_a_chart_secret_that_was_just_deleted_stops_nothing(setup: Setup) -> None:
    await setup.put(SECOND)
    await eventually(lambda: ("Secret", "ns", SECOND) in setup.changed, what="the second")
    await setup.owners.update(xapp(), ArchiveOwnerChanges(add=SECOND, remove=(FIRST,)))
    assert setup.secret(SECOND)["metadata"]["ownerReferences"] == [US]


async def test_chart_secrets_without_owner_for_an_hour_are_unowned(setup: Setup) -> None:
    def ago(time: timedelta) -> str:
        return (datetime.now(UTC) - time).strftime("%Y-%m-%dT%H:%M:%SZ")

    old, recent = ago(UNOWNED_GRACE + timedelta(minutes=1)), ago(UNOWNED_GRACE - timedelta(minutes=1))
    released = {"annotations": {"xapp-operator.io/released-at": recent}}
    await setup.put("chart-000000000000000a", creationTimestamp=old)
    await setup.put("chart-000000000000000b", creationTimestamp=recent)
    await setup.put("chart-000000000000000c", US, creationTimestamp=old)
    await setup.put("chart-000000000000000d", creationTimestamp=old, **released)
    await setup.put("not-a-chart", creationTimestamp=old)
    await eventually(lambda: ("Secret", "ns", "not-a-chart") in setup.changed, what="all")
    assert [name for _, name, _ in setup.references.unowned_chart_secrets()] == ["chart-000000000000000a"]


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        (ArchiveOwnerChanges(), False),
        (ArchiveOwnerChanges(add=FIRST), True),
        (ArchiveOwnerChanges(remove=(FIRST,)), True),
    ],
)
def test_an_empty_change_set_is_false(changes: ArchiveOwnerChanges, differ: bool) -> None:
    assert bool(changes) is differ
