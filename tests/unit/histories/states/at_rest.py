"""States of an XApp that is settled, or whose release others have or work on."""

from __future__ import annotations

from tests.support.fakes.helm_records import decode_record, encode_record
from tests.support.fakes.histories import STORED_CHART
from tests.support.fakes.json_patch import Json
from tests.unit.histories.situations.actions import (
    CONFIGMAP_TARGET,
    DEPLOYMENT,
    RECORD,
    allow,
    change,
    create_other,
    forbidden,
)
from tests.unit.histories.states.deploying import INSTALLED, be_upgraded, fail_to_upgrade, install, slow_helm
from tests.unit.histories.states.rollbacks import have_two_revisions
from tests.unit.histories.states.scene import Scene, State
from xapp_operator.domain.planning.actions import (
    Adopt,
    DeleteLeftovers,
    Install,
    MarkSuperseded,
    RepairLabels,
    Upgrade,
)
from xapp_operator.kube.transport import ApiRequest


async def be_ready(scene: Scene) -> None:
    await install(scene)


async def be_degraded(scene: Scene) -> None:
    await install(scene)
    await scene.history.cluster.wait(100.0)
    scene.history.cluster.set_outage(on=True)
    await scene.until(lambda: scene.history.outcome == "NotReady HealthCheckFailed")


async def be_suspended(scene: Scene) -> None:
    await install(scene)
    scene.history.edit(suspend=True)
    await scene.until_waiting("Suspended")


async def be_suspended_in_an_upgrade(scene: Scene) -> None:
    await be_upgraded(scene)
    scene.history.edit(suspend=True)
    await scene.until_waiting("Suspended")


async def lack_labels(scene: Scene) -> None:
    await install(scene)
    held = scene.hold(RepairLabels, "PATCH", "/configmaps/")
    change(scene.history, CONFIGMAP_TARGET, {"metadata": {"labels": {"xapp-operator.io/xapp": None}}})
    await scene.until(held)


async def have_two_deployed_revisions(scene: Scene) -> None:
    await have_two_revisions(scene)
    record = decode_record(scene.history.cluster.server.get(RECORD))
    assert record is not None
    record["info"]["status"] = "deployed"
    held = scene.hold(MarkSuperseded, "PUT", "/secrets/")
    patch = {"metadata": {"labels": {"status": "deployed"}}, "data": {"release": encode_record(record)}}
    change(scene.history, RECORD, patch)
    await scene.until(held)


async def look_for_leftovers(scene: Scene) -> None:
    """A new operator does not know yet whether helm has left something of the upgrade that failed."""
    await fail_to_upgrade(scene)
    scene.history.cluster.helm.refusals.clear()
    scene.history.set_tag("three")
    await scene.until_ready()
    held = scene.hold(DeleteLeftovers, "GET", "/secrets/sh.helm.")
    scene.history.cluster.restart()
    await scene.until(held)


async def have_a_damaged_record(scene: Scene) -> None:
    await install(scene)
    stored: Json = scene.history.cluster.server.get(RECORD)
    scene.history.cluster.server.patch(RECORD, {"metadata": {"annotations": stored["data"]}})
    change(scene.history, RECORD, {"data": {"release": "Z2FyYmFnZQ=="}})
    scene.history.cluster.restart()
    await scene.until(lambda: scene.rule == "_plan_damaged_record")


def restore_the_record(scene: Scene) -> None:
    stored: Json = scene.history.cluster.server.find("secrets", RECORD.name) or {"metadata": {}}
    if "annotations" in stored["metadata"]:
        change(scene.history, RECORD, {"data": stored["metadata"]["annotations"]})


async def not_know_the_releases(scene: Scene) -> None:
    await install(scene)

    def check(request: ApiRequest) -> None:
        if request.path.endswith("/secrets"):
            raise forbidden("secrets")

    scene.history.cluster.refuse = check
    scene.history.cluster.restart()
    await scene.until(lambda: scene.rule == "_plan_unavailable_releases")


def allow_all(scene: Scene) -> None:
    allow(scene.history)


async def find_a_release_of_a_person(scene: Scene) -> None:
    scene.history.install_by_hand("one")
    scene.history.create(tag="one")
    await scene.until_waiting("AccessDenied", stalled=True)


async def find_a_release_of_another_xapp(scene: Scene) -> None:
    scene.history.cluster.create(STORED_CHART)
    create_other(scene.history, tag="three", releaseName="hello")
    await scene.history.cluster.wait(10.0)
    scene.history.create(tag="one")
    await scene.until_waiting("AccessDenied", stalled=True)


async def see_another_xapp_install(scene: Scene) -> None:
    slow_helm(scene)
    scene.history.cluster.create(STORED_CHART)
    create_other(scene.history, tag="three", releaseName="hello")
    await scene.until_step("install")
    scene.history.create(tag="one")
    await scene.until(lambda: scene.rule == "_plan_while_helm_runs")


async def see_a_person_install(scene: Scene) -> None:
    scene.history.install_by_hand("one", status="pending-install")
    scene.history.create(tag="two", adopt=True)
    await scene.until(lambda: scene.rule == "_plan_pending")


async def adopt_an_equal_release(scene: Scene) -> None:
    held = scene.hold(Adopt, "PUT", "/secrets/")
    scene.history.install_by_hand("one")
    scene.history.create(tag="one", adopt=True)
    await scene.until(held)


async def adopt_another_release(scene: Scene) -> None:
    slow_helm(scene)
    scene.history.install_by_hand("one")
    scene.history.create(tag="two", adopt=True)
    await scene.until_step("upgrade")


async def see_the_release_go(scene: Scene) -> None:
    await install(scene)
    slow_helm(scene)
    scene.history.uninstall_by_hand()
    await scene.until(lambda: isinstance(scene.action, Install))


async def find_the_release_uninstalled(scene: Scene) -> None:
    await install(scene)
    slow_helm(scene)
    scene.history.leave_behind("uninstalled")
    for target in (CONFIGMAP_TARGET, DEPLOYMENT):
        scene.history.cluster.server.delete(target, {})
    await scene.until(lambda: isinstance(scene.action, Install))


async def find_the_release_superseded(scene: Scene) -> None:
    await install(scene)
    slow_helm(scene)
    scene.history.leave_behind("superseded")
    await scene.until(lambda: isinstance(scene.action, Upgrade))


def end_the_outage(scene: Scene) -> None:
    scene.history.cluster.set_outage(on=False)


DENIED = "Stalled AccessDenied"

STATES = {
    "ready": State(be_ready, end=INSTALLED),
    "degraded": State(be_degraded, end=INSTALLED, recover=end_the_outage),
    "suspended": State(be_suspended, end=INSTALLED, change={"suspend": False}),
    "suspended in an upgrade": State(be_suspended_in_an_upgrade, change={"suspend": False}),
    "labels are missing": State(lack_labels, end=INSTALLED),
    "looking for what a failed upgrade has left": State(look_for_leftovers),
    "two revisions are called deployed": State(have_two_deployed_revisions),
    "the record is damaged": State(have_a_damaged_record, end=INSTALLED, recover=restore_the_record),
    "the releases are not known": State(not_know_the_releases, end=INSTALLED, recover=allow_all),
    "the release of a person": State(find_a_release_of_a_person, end=DENIED, change={"adopt": True}, foreign=True),
    "the release of another XApp": State(find_a_release_of_another_xapp, end=DENIED, changed_end=DENIED, foreign=True),
    "another XApp installs the release": State(see_another_xapp_install, end=DENIED, changed_end=DENIED, foreign=True),
    "a person installs the release": State(see_a_person_install, end=INSTALLED, foreign=True),
    "adopting an equal release": State(adopt_an_equal_release, end=INSTALLED),
    "adopting another release": State(adopt_another_release, foreign=True),
    "the release was removed by hand": State(see_the_release_go, end=INSTALLED, uninstalled=True),
    "the release was uninstalled and kept": State(find_the_release_uninstalled, end=INSTALLED),
    "no revision is in force": State(find_the_release_superseded),
}
