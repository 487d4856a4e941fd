"""ChartArchives are owned by the XApps that use them; the watch knows the owners, also right after a write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.monitor.objects import LabelledObjects, labelled
from tests.unit.reconcile.xapps import xapp
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.inputs.chart_archives import (
    ArchiveOwnerChanges,
    ChartArchiveOwners,
    ChartArchives,
)

FIRST, SECOND = "hello-0.1.0-000000000001", "hello-0.1.0-000000000002"
US = {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "XApp", "name": "hello", "uid": "u1"}
OTHER = {**US, "name": "other", "uid": "u2"}


UNOWNED_GRACE = timedelta(hours=1)
KEEP = {"annotations": {"xapp-operator.io/keep": "true"}}


class Setup:
    """A server with ChartArchives, the watch of them, and the writer of owners."""

    def __init__(self) -> None:
        self.server = LabelledObjects()
        self.archives: ChartArchives
        self.owners: ChartArchiveOwners
        self.changed: list[tuple[str, str, str]] = []
        self.used: set[tuple[str, str]] = set()
        self.staying: set[tuple[str, str, str]] = set()
        self.deleted: list[str] = []
        self.changes_after_read: dict[str, dict[str, str]] = {}
        """By name: changes of metadata that somebody makes right after the operator has read the ChartArchive."""

    async def put(self, name: str, *owners: dict[str, str], **metadata: Any) -> None:
        metadata = {"namespace": "ns", "ownerReferences": list(owners), **metadata}
        await self.server.put("chartarchives", "", labelled(name, {}, metadata=metadata))

    def archive(self, name: str) -> Any:
        return self.server.of("chartarchives", "").objects["ns", name]

    def owned_by_us(self) -> tuple[str, ...]:
        """Return what an XApp that uses nothing would leave."""
        return self.archives.owner_changes(xapp(), used=None, add=False, leave_others=True).remove

    async def handle(self, request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/")[2]
        if "/chartarchives/" not in request.path:
            return await self.server.handle(request)
        if ("ns", name) not in self.server.of("chartarchives", "").objects:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        if request.method == "PATCH":
            change = (await request.json())["metadata"]
            metadata = {**self.archive(name)["metadata"], **change}
            await self.server.put("chartarchives", "", {**self.archive(name), "metadata": metadata})
        found = self.archive(name)
        if request.method == "DELETE":
            preconditions = (await request.json())["preconditions"]
            if any(found["metadata"][field] != expected for field, expected in preconditions.items()):
                return web.json_response({"kind": "Status", "code": 409, "reason": "Conflict"}, status=409)
            self.deleted.append(name)
        if name in self.changes_after_read:
            metadata = {**found["metadata"], **self.changes_after_read.pop(name)}
            self.server.of("chartarchives", "").objects["ns", name] = {**found, "metadata": metadata}
        return web.json_response(found)


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[Setup]:
    one = Setup()
    kube = await connect(one.handle)
    one.archives = ChartArchives(kube, Settings(), on_change=lambda *change: one.changed.append(change))
    one.owners = ChartArchiveOwners(
        kube, one.archives, is_used=lambda *key: key in one.used, is_staying=lambda *key: key in one.staying
    )
    await one.archives.start()
    yield one
    await one.archives.stop()


def changes(setup: Setup, *, used: str | None, add: bool = True, leave_others: bool = True) -> ArchiveOwnerChanges:
    return setup.archives.owner_changes(xapp(), used=used, add=add, leave_others=leave_others)


async def test_owned_archives_follow_the_owner_references(setup: Setup) -> None:
    await setup.put(FIRST, US, OTHER)
    await setup.put(SECOND, US)
    await eventually(lambda: ("ChartArchive", "ns", SECOND) in setup.changed, what="both")
    assert setup.owned_by_us() == (FIRST, SECOND)
    await setup.put(FIRST, OTHER)
    await setup.server.of("chartarchives", "").delete(SECOND, namespace="ns")
    await eventually(lambda: setup.owned_by_us() == (), what="both to be left")


async def test_an_xapp_owns_what_it_uses_and_leaves_the_others_when_complete(setup: Setup) -> None:
    await setup.put(FIRST, US)
    await setup.put(SECOND)
    await eventually(lambda: ("ChartArchive", "ns", SECOND) in setup.changed, what="both")
    assert changes(setup, used=SECOND) == ArchiveOwnerChanges(add=SECOND, remove=(FIRST,))
    assert changes(setup, used=SECOND, leave_others=False) == ArchiveOwnerChanges(add=SECOND)
    assert changes(setup, used=SECOND, add=False, leave_others=False) == ArchiveOwnerChanges()
    assert changes(setup, used=FIRST) == ArchiveOwnerChanges()
    assert changes(setup, used="missing-0.1.0-000000000003") == ArchiveOwnerChanges(remove=(FIRST,))


async def test_an_archive_that_is_kept_gets_no_owner_and_loses_those_it_has(setup: Setup) -> None:
    await setup.put(FIRST, US, **KEEP)
    await setup.put(SECOND, **KEEP)
    await eventually(lambda: ("ChartArchive", "ns", SECOND) in setup.changed, what="both")
    assert changes(setup, used=SECOND, leave_others=False) == ArchiveOwnerChanges()
    assert changes(setup, used=FIRST, leave_others=False) == ArchiveOwnerChanges(remove=(FIRST,))


async def test_a_write_of_owners_that_met_keep_adds_none(setup: Setup) -> None:
    await setup.put(FIRST)
    await eventually(lambda: ("ChartArchive", "ns", FIRST) in setup.changed, what="it")
    setup.archive(FIRST)["metadata"]["annotations"] = KEEP["annotations"]  # the watch has not told yet
    await setup.owners.update(xapp(), changes(setup, used=FIRST))
    assert setup.archive(FIRST)["metadata"]["ownerReferences"] == []


async def test_a_change_of_owners_is_cached_at_once_and_keeps_other_owners(setup: Setup) -> None:
    await setup.put(FIRST, OTHER)
    await setup.put(SECOND, US)
    await eventually(lambda: setup.owned_by_us() == (SECOND,), what="the second")
    await setup.owners.update(xapp(), ArchiveOwnerChanges(add=FIRST, remove=(SECOND,)))
    assert setup.owned_by_us() == (FIRST,)
    assert setup.archive(FIRST)["metadata"]["ownerReferences"] == [OTHER, US]
    assert setup.archive(FIRST)["metadata"]["annotations"]["xapp-operator.io/released-at"] is None
    assert setup.archive(SECOND)["metadata"]["ownerReferences"] == []
    assert setup.archive(SECOND)["metadata"]["annotations"]["xapp-operator.io/released-at"]
    await setup.owners.update(xapp(), ArchiveOwnerChanges(add=FIRST))
    assert setup.archive(FIRST)["metadata"]["ownerReferences"] == [OTHER, US]


async def test_writes_of_owners_in_one_namespace_wait_for_each_other(setup: Setup) -> None:
    await setup.put(FIRST)
    await eventually(lambda: ("ChartArchive", "ns", FIRST) in setup.changed, what="it")
    second = xapp()
    second = second.model_copy(update={"metadata": second.metadata.model_copy(update={"uid": "u2", "name": "other"})})
    change = ArchiveOwnerChanges(add=FIRST)
    await asyncio.gather(*(setup.owners.update(each, change) for each in (xapp(), second)))
    assert [each["uid"] for each in setup.archive(FIRST)["metadata"]["ownerReferences"]] == ["u1", "u2"]


async def test_owner_references_in_another_namespace_do_not_count(setup: Setup) -> None:
    await setup.put(FIRST, US, namespace="hostile")
    await setup.put(SECOND, US)
    await eventually(lambda: ("ChartArchive", "hostile", FIRST) in setup.changed, what="theirs")
    await eventually(lambda: setup.owned_by_us() == (SECOND,), what="ours")


async def test_an_archive_that_was_just_deleted_stops_nothing(setup: Setup) -> None:
    await setup.put(SECOND)
    await eventually(lambda: ("ChartArchive", "ns", SECOND) in setup.changed, what="the second")
    await setup.owners.update(xapp(), ArchiveOwnerChanges(add=SECOND, remove=(FIRST,)))
    assert setup.archive(SECOND)["metadata"]["ownerReferences"] == [US]


async def test_archives_without_owner_for_an_hour_are_deleted(setup: Setup) -> None:
    def ago(time: timedelta) -> str:
        return (datetime.now(UTC) - time).strftime("%Y-%m-%dT%H:%M:%SZ")

    minute = timedelta(minutes=1)
    old, recent, future = ago(UNOWNED_GRACE + minute), ago(UNOWNED_GRACE - minute), ago(-UNOWNED_GRACE)
    released = {"annotations": {"xapp-operator.io/released-at": recent}}
    await setup.put("old", creationTimestamp=old)
    await setup.put("recent", creationTimestamp=recent)
    await setup.put("owned", US, creationTimestamp=old)
    await setup.put("released", creationTimestamp=old, **released)
    await setup.put("ahead", creationTimestamp=old, annotations={"xapp-operator.io/released-at": future})
    await setup.put("kept", creationTimestamp=old, **KEEP)
    await setup.put("used", creationTimestamp=old)  # by a suspended XApp, which owns nothing new
    await setup.put("odd", creationTimestamp="never")
    await setup.put("changed", creationTimestamp=old)
    await eventually(lambda: ("ChartArchive", "ns", "changed") in setup.changed, what="all")
    setup.used.add(("ns", "used"))
    setup.archive("changed")["metadata"]["ownerReferences"] = [US]  # the watch has not told yet
    await setup.owners.delete_unowned()
    assert setup.deleted == ["old"]


async def test_an_archive_that_changes_before_it_is_deleted_stays_and_the_others_are_deleted(setup: Setup) -> None:
    old = (datetime.now(UTC) - 2 * UNOWNED_GRACE).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name in ("replaced", "changed", "gone", "old"):
        await setup.put(name, creationTimestamp=old)
    await eventually(lambda: ("ChartArchive", "ns", "old") in setup.changed, what="all")
    setup.changes_after_read = {"replaced": {"uid": "another"}, "changed": {"resourceVersion": "999"}}
    del setup.server.of("chartarchives", "").objects["ns", "gone"]
    await setup.owners.delete_unowned()
    assert setup.deleted == ["old"]


async def test_an_xapp_that_goes_takes_only_archives_along_that_nobody_else_needs(setup: Setup) -> None:
    names = ("own", "gone-too", "shared", "used", "kept", "changed", "gone")
    for name in names:
        await setup.put(name, US, *([OTHER] if name in ("shared", "gone-too") else ()), creationTimestamp="")
    await eventually(lambda: len(setup.owned_by_us()) == len(names), what="all")
    setup.used.add(("ns", "used"))  # by a suspended XApp, which owns nothing new
    setup.archive("kept")["metadata"]["annotations"] = KEEP["annotations"]  # the watch has not told yet
    setup.changes_after_read = {"changed": {"resourceVersion": "999"}}
    del setup.server.of("chartarchives", "").objects["ns", "gone"]

    setup.staying.add(("ns", "other", "another uid"))
    setup.archive("shared")["metadata"]["ownerReferences"][1] = {**OTHER, "uid": "u3"}
    setup.staying.add(("ns", "other", "u3"))
    await setup.owners.leave(xapp())
    assert sorted(setup.deleted) == ["gone-too", "own"]
    assert [len(setup.archive(name)["metadata"]["ownerReferences"]) for name in ("shared", "used", "kept")] == [2, 0, 0]


async def test_an_xapp_goes_although_the_cluster_refuses_to_delete_its_archive(setup: Setup, connect: Connect) -> None:
    await setup.put(FIRST, US)
    await eventually(lambda: setup.owned_by_us() == (FIRST,), what="the archive")

    async def refuse(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}, status=403)

    owners = ChartArchiveOwners(
        await connect(refuse), setup.archives, is_used=lambda *_: False, is_staying=lambda *_: False
    )
    await owners.leave(xapp())
    assert setup.owned_by_us() == (FIRST,)


@pytest.mark.parametrize(
    ("found", "differ"),
    [
        (ArchiveOwnerChanges(), False),
        (ArchiveOwnerChanges(add=FIRST), True),
        (ArchiveOwnerChanges(remove=(FIRST,)), True),
    ],
)
def test_an_empty_change_set_is_false(found: ArchiveOwnerChanges, differ: bool) -> None:
    assert bool(found) is differ
