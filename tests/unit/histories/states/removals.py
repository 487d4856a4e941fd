"""States of an XApp that is being deleted, and of a release that another helm uninstalls."""

from __future__ import annotations

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import PAUSE_SECONDS
from tests.unit.histories.situations.actions import create_other
from tests.unit.histories.states.deploying import INSTALLED, MANY, end_the_faults, install, slow_helm
from tests.unit.histories.states.scene import Scene, State
from tests.unit.histories.test_kills import UNAVAILABLE
from tests.unit.histories.test_removals import LABELS, OWNER, delete_namespace
from xapp_operator.domain.planning.actions import DeleteOrphans, Restore


async def be_uninstalled(scene: Scene) -> None:
    await install(scene)
    slow_helm(scene)
    scene.history.delete()
    await scene.until_step("uninstall")


async def restore(scene: Scene) -> None:
    await install(scene)
    history = scene.history
    history.cluster.helm.pause = 60.0
    history.delete()
    await scene.until(lambda: "uninstalling" in history.cluster.revisions.values())
    held = scene.hold(Restore, "PUT", "/secrets/")
    history.edit(deletionPolicy="Orphan")
    await scene.until(held)
    history.cluster.helm.pause = PAUSE_SECONDS


async def wait_for_dependents(scene: Scene) -> None:
    await install(scene)
    create_other(scene.history, dependsOn=[{"name": "hello"}])
    await scene.history.cluster.wait(10.0)
    scene.history.delete()
    await scene.until_waiting("DependencyNotReady")


async def uninstall_again_later(scene: Scene) -> None:
    await install(scene)
    scene.history.cluster.helm.faults = [Fault(UNAVAILABLE)] * MANY
    scene.history.delete()
    await scene.until_waiting("UninstallFailed")


async def go_with_the_namespace(scene: Scene) -> None:
    await install(scene)
    role = {"metadata": {"name": "ours", "labels": LABELS, "annotations": OWNER}}
    scene.history.cluster.server.create(Target("rbac.authorization.k8s.io", "v1", "clusterroles"), role)
    scene.history.uninstall_by_hand()
    held = scene.hold(DeleteOrphans, "DELETE", "/clusterroles/")
    delete_namespace(scene.history)
    await scene.until(held)


async def see_another_helm_uninstall(scene: Scene) -> None:
    await install(scene)
    scene.history.leave_behind("uninstalling")
    await scene.until(lambda: scene.rule == "_plan_uninstalling")


async def finish_an_uninstall(scene: Scene) -> None:
    await see_another_helm_uninstall(scene)
    slow_helm(scene)
    await scene.until_step("uninstall")


STATES = {
    "uninstalling": State(be_uninstalled, deleting=True),
    "leaving a release whose uninstall has begun": State(
        restore, deleting=True, stays={"hello", "sh.helm.release.v1.hello.v1"}
    ),
    "deletion waits for dependents": State(wait_for_dependents, deleting=True),
    "uninstall that is tried again": State(uninstall_again_later, recover=end_the_faults, deleting=True),
    "deletion with the namespace": State(go_with_the_namespace, deleting=True),
    "another helm uninstalls the release": State(see_another_helm_uninstall, end=INSTALLED, uninstalled=True),
    "finishing an uninstall": State(finish_an_uninstall, end=INSTALLED, uninstalled=True),
}
