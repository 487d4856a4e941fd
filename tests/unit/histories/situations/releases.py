"""Installs, upgrades and rollbacks, and what is taken over."""

from __future__ import annotations

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_records import decode_record, encode_record
from tests.support.fakes.histories import CONFIGMAP, History
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.support.helm_tests import TEST
from tests.unit.histories.situations.actions import (
    RECORD,
    Play,
    allow,
    change,
    create_other,
    install,
    refuse,
    remove,
    store,
)
from tests.unit.histories.test_kills import REFUSED, UNAVAILABLE


async def suspend_and_resume(history: History) -> None:
    history.create(tag="one", suspend=True)
    await history.cluster.wait(10.0)
    history.annotate("force-at")
    history.annotate("test-at")
    await history.cluster.wait(10.0)
    history.edit(suspend=False)
    await history.cluster.wait(20.0)
    history.edit(suspend=True, values={"tag": "two"})
    await history.cluster.wait(20.0)
    history.cluster.restart()
    await history.cluster.wait(20.0)
    history.edit(suspend=False)
    await history.cluster.wait(20.0)
    history.edit(suspend=True)
    await remove(history)


async def hold_a_revision(history: History) -> None:
    await install(history, maxHistory=2)
    for tag in ("two", "three"):
        history.set_tag(tag)
        await history.cluster.wait(20.0)
    for value in ("9", "latest", "3", "2"):
        history.annotate("rollback-to", value)
        await history.cluster.wait(20.0)
    history.annotate("force-at")
    await history.cluster.wait(20.0)
    history.annotate("retry-at")
    await history.cluster.wait(20.0)
    history.set_tag("one")
    await history.cluster.wait(20.0)


async def fail_to_roll_back(history: History) -> None:
    await install(history, maxHistory=2)
    history.set_tag("two")
    await history.cluster.wait(20.0)
    history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=2)] * 3
    history.annotate("rollback-to", "1")
    await history.cluster.wait(60.0)
    history.cluster.helm.faults = [Fault(REFUSED, writes=1)]
    history.annotate("rollback-to", "9")
    await history.cluster.wait(60.0)
    history.set_tag("three")
    await history.cluster.wait(20.0)


async def fail_to_roll_back_by_itself(history: History) -> None:
    await install(history)
    history.cluster.helm.faults = [None, *[Fault(UNAVAILABLE, writes=2)] * 3]
    history.set_tag(BROKEN)
    await history.cluster.wait(120.0)


async def fail_to_roll_back_for_good(history: History) -> None:
    await install(history)
    history.set_tag("two")
    await history.cluster.wait(20.0)
    history.cluster.helm.faults = [Fault(REFUSED, writes=1)]
    history.annotate("rollback-to", "1")
    await history.cluster.wait(60.0)
    history.annotate("rollback-to", "1")
    await history.cluster.wait(60.0)
    history.annotate("rollback-to", "0001")
    await history.cluster.wait(20.0)
    history.edit(timeout="40s")
    await history.cluster.wait(20.0)


async def fail_to_install(history: History) -> None:
    history.cluster.helm.refusals['{"tag": "one"}'] = Fault(REFUSED, writes=1)
    await install(history, 30.0, maxHistory=2)
    for _ in range(3):
        history.annotate("retry-at")
        await history.cluster.wait(10.0)
    history.annotate("test-at")
    await history.cluster.wait(10.0)
    history.cluster.helm.faults = [Fault("ConfigMap: exceeded quota: small", writes=1)] * 2
    history.set_tag("two")
    await history.cluster.wait(60.0)
    history.set_tag("three")
    await history.cluster.wait(20.0)


async def fail_to_install_until_the_timeout(history: History) -> None:
    history.cluster.helm.refusals['{"tag": "one"}'] = Fault(UNAVAILABLE, writes=1)
    await install(history, 150.0)
    history.cluster.helm.refusals.clear()
    history.annotate("retry-at")
    await history.cluster.wait(20.0)
    history.set_tag("two")
    await history.cluster.wait(20.0)


async def upgrade_with_a_damaged_record(history: History) -> None:
    await install(history)
    change(history, RECORD, {"data": {"release": "Z2FyYmFnZQ=="}})
    history.cluster.restart()
    await history.cluster.wait(20.0)
    history.cluster.helm.faults = [Fault("release: already exists")]
    history.set_tag("two")
    await history.cluster.wait(20.0)
    history.cluster.server.delete(RECORD, {})
    history.uninstall_by_hand()
    history.annotate("retry-at")
    await history.cluster.wait(60.0)


async def adopt_what_another_xapp_has(history: History) -> None:
    common = store(history, name="common", common=CONFIGMAP.replace("{{ .Release.Name }}", "common"))
    await install(history, archive=common)
    create_other(history, tag="two", archive=common, adopt=True)
    create_other(history, "thief", releaseName="hello", adopt=True)
    await history.cluster.wait(20.0)
    history.edit(deletionPolicy="Orphan")
    await remove(history)
    history.cluster.edit({"metadata": {"annotations": {"xapp-operator.io/retry-at": "now"}}}, "other")
    await history.cluster.wait(60.0)


async def adopt_objects_of_nobody(history: History) -> None:
    body = {"metadata": {"name": "hello"}, "data": {"tag": "theirs"}}
    history.cluster.server.create(Target("", "v1", "configmaps", NAMESPACE), body)
    await install(history)
    history.edit(adopt=True)
    await history.cluster.wait(30.0)


async def adopt_a_release_that_failed(history: History) -> None:
    history.install_by_hand("one", status="failed")
    await install(history)
    history.edit(adopt=True)
    await history.cluster.wait(30.0)


async def adopt_what_was_left(history: History) -> None:
    hook = (
        TEST.replace("NAME", "probe")
        .replace("{{ .Values.labels }}", "{}")
        .replace("{{ .Values.policy }}", "hook-failed")
    )
    templates = {"cm": CONFIGMAP, "probe": hook.replace("{{ .Values.seconds }}", "0s")}
    first, second = store(history, **templates), store(history, version="0.2.0", **templates)
    other = store(history, name="other", **templates)
    for each in (first, second, other):
        name = each["chartArchiveRef"]["name"]
        target = Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, name)
        change(history, target, {"metadata": {"annotations": {"xapp-operator.io/keep": "true"}}})
    found = (("one", first), ("one", first), ("two", first), ("two", second), ("two", second), ("two", other))
    for number, (tag, archive) in enumerate(found):
        name = f"owner-{number}"
        spec = {"tag": tag, "archive": archive, "deletionPolicy": "Orphan", "releaseName": "hello"}
        create_other(history, name, **spec)
        await history.cluster.wait(20.0)
        history.cluster.edit({"spec": {"adopt": True}}, name)
        await history.cluster.wait(20.0)
        history.cluster.delete(name)
        await history.cluster.wait(20.0)


async def mark_two_deployed_revisions(history: History) -> None:
    await install(history)
    history.set_tag("two")
    await history.cluster.wait(20.0)
    record = decode_record(history.cluster.server.get(RECORD))
    assert record is not None
    record["info"]["status"] = "deployed"
    patch = {"metadata": {"labels": {"status": "deployed"}}, "data": {"release": encode_record(record)}}
    change(history, RECORD, patch)
    await history.cluster.wait(20.0)


async def install_slowly(history: History) -> None:
    history.cluster.helm.pause = 4.0
    await install(history, 60.0)
    history.set_tag(BROKEN)
    await history.cluster.wait(10.0)
    history.set_tag("three")
    await history.cluster.wait(80.0)


async def install_with_quick_watches(history: History) -> None:
    history.cluster.server.lag = 0.5
    await install(history, 10.0, timeout="20s", maxHistory=1)
    history.set_tag("two")
    await history.cluster.wait(10.0)
    history.cluster.server.lag = 1.5
    history.set_tag("three")
    await history.cluster.wait(10.0)
    await remove(history)


async def unlock_what_is_not_deployed_again(history: History) -> None:
    await install(history, upgrade={"onFailure": "none"})
    history.set_tag(BROKEN)
    await history.cluster.wait(60.0)
    history.leave_behind("pending-upgrade")
    await history.cluster.wait(100.0)
    history.set_tag("three")
    await history.cluster.wait(20.0)


async def lose_and_regain_pods(history: History) -> None:
    await install(history)
    history.note("outage")
    history.cluster.set_outage(on=True)
    await history.cluster.wait(300.0)
    history.note("no outage")
    history.cluster.set_outage(on=False)
    await history.cluster.wait(30.0)


async def write_no_status_for_a_while(history: History) -> None:
    refuse(history, "PATCH", "/xapps/hello/status", Refused(500, "InternalError", "Internal error occurred: etcd"))
    await install(history, 40.0)
    allow(history)
    await history.cluster.wait(60.0)
    refuse(history, "PATCH", "/xapps/hello/status", Refused(500, "InternalError", "Internal error occurred: etcd"))
    history.set_tag("two")
    await history.cluster.wait(40.0)
    history.annotate("rollback-to", "1")
    await history.cluster.wait(40.0)
    allow(history)
    await history.cluster.wait(60.0)


PLAYS: tuple[Play, ...] = (
    suspend_and_resume,
    hold_a_revision,
    fail_to_roll_back,
    fail_to_roll_back_by_itself,
    fail_to_roll_back_for_good,
    fail_to_install,
    fail_to_install_until_the_timeout,
    upgrade_with_a_damaged_record,
    adopt_what_another_xapp_has,
    adopt_objects_of_nobody,
    adopt_a_release_that_failed,
    adopt_what_was_left,
    mark_two_deployed_revisions,
    install_slowly,
    install_with_quick_watches,
    unlock_what_is_not_deployed_again,
    lose_and_regain_pods,
    write_no_status_for_a_while,
)
