"""Deletions of XApps, and what others expect of them."""

from __future__ import annotations

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_records import decode_record, encode_record
from tests.support.fakes.histories import History
from tests.unit.histories.situations.actions import (
    RECORD,
    Play,
    change,
    create_other,
    install,
    remove,
)
from tests.unit.histories.test_kills import UNAVAILABLE
from tests.unit.histories.test_removals import LABELS, OWNER, delete_namespace, delete_records


async def wait_for_a_dependency(history: History) -> None:
    await install(history, dependsOn=[{"name": "other"}, {"name": "third"}])
    create_other(history)
    await history.cluster.wait(20.0)
    create_other(history, "third")
    await history.cluster.wait(20.0)
    history.note("delete other")
    history.cluster.delete("other")
    await history.cluster.wait(20.0)
    history.edit(dependsOn=None)
    await history.cluster.wait(60.0)
    history.cluster.delete("third")
    await history.cluster.wait(60.0)
    history.removed.clear()


async def depend_in_a_cycle(history: History) -> None:
    await install(history, dependsOn=[{"name": "other"}])
    create_other(history, dependsOn=[{"name": "hello"}])
    await history.cluster.wait(20.0)
    history.annotate("force-at")
    await history.cluster.wait(20.0)
    history.edit(dependsOn=None)
    await history.cluster.wait(60.0)
    history.cluster.delete("other")
    await history.cluster.wait(60.0)
    history.removed.clear()


async def delete_what_others_depend_on(history: History) -> None:
    await install(history)
    create_other(history, dependsOn=[{"name": "hello"}])
    await history.cluster.wait(20.0)
    await remove(history)
    history.removed.clear()
    history.cluster.delete("other")
    await history.cluster.wait(60.0)


async def fail_to_uninstall(history: History) -> None:
    await install(history)
    history.cluster.helm.faults = [
        Fault(UNAVAILABLE),
        Fault('secrets "x" is forbidden: User "jane" cannot delete resource "secrets" in API group ""'),
        Fault(UNAVAILABLE, writes=2),
    ]
    await remove(history)


async def uninstall_in_a_namespace_that_goes(history: History) -> None:
    await install(history)
    denied = Fault('secrets "x" is forbidden: User "jane" cannot delete resource "secrets" in API group ""', writes=1)
    history.cluster.helm.refusals["{}"] = denied
    delete_namespace(history)
    assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)
    history.removed.clear()
    delete_records(history)


async def delete_orphans_in_a_namespace_that_goes(history: History) -> None:
    await install(history)
    role = {"metadata": {"name": "ours", "labels": LABELS, "annotations": OWNER}}
    history.cluster.server.create(Target("rbac.authorization.k8s.io", "v1", "clusterroles"), role)
    history.uninstall_by_hand()
    delete_namespace(history)
    assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)


async def delete_with_a_damaged_record(history: History) -> None:
    await install(history)
    change(history, RECORD, {"data": {"release": "bm90IGEgcmVsZWFzZQ=="}})
    await remove(history)


async def delete_objects_of_a_kind_that_is_gone(history: History) -> None:
    await install(history)
    record = decode_record(history.cluster.server.get(RECORD))
    assert record is not None
    record["manifest"] += "---\napiVersion: example.com/v1\nkind: Gone\nmetadata: {name: hello}\n"
    history.cluster.server.patch(RECORD, {"data": {"release": encode_record(record)}})
    gone = Fault('resource mapping not found: no matches for kind "Gone" in version "example.com/v1"')
    history.cluster.helm.faults = [gone]
    await remove(history)


async def share_a_chart(history: History) -> None:
    await install(history)
    create_other(history)
    await history.cluster.wait(20.0)
    await remove(history)
    history.removed.clear()
    history.note("delete other")
    history.cluster.delete("other")
    await history.cluster.wait(60.0)


PLAYS: tuple[Play, ...] = (
    wait_for_a_dependency,
    depend_in_a_cycle,
    delete_what_others_depend_on,
    fail_to_uninstall,
    uninstall_in_a_namespace_that_goes,
    delete_orphans_in_a_namespace_that_goes,
    delete_with_a_damaged_record,
    delete_objects_of_a_kind_that_is_gone,
    share_a_chart,
)
