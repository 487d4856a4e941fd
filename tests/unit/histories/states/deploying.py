"""States of installs and upgrades."""

from __future__ import annotations

from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import STORED_CHART
from tests.support.fakes.operator import BROKEN, Kill
from tests.unit.histories.situations.actions import create_other
from tests.unit.histories.states.scene import Scene, State
from tests.unit.histories.test_hooks import deploy as deploy_with_hook
from tests.unit.histories.test_hooks import wait_hook
from tests.unit.histories.test_kills import REFUSED, UNAVAILABLE
from xapp_operator.domain.planning.actions import (
    SaveRepository,
    Unlock,
    UpdateArchiveOwners,
    Wait,
)

SLOW_HELM_SECONDS = 3.0
MANY = 20
ARCHIVE = {
    "chartArchiveRef": {"name": STORED_CHART["metadata"]["name"]},
    "digest": STORED_CHART["spec"]["digest"],
}
UPLOADED = {"method": "Upload Chart", "url": None, "repoName": None, "chartName": None, "archive": ARCHIVE}


async def install(scene: Scene, **spec: object) -> None:
    scene.history.create(**{"tag": "one", **spec})
    await scene.until_ready()


def slow_helm(scene: Scene) -> None:
    scene.history.cluster.helm.pause = SLOW_HELM_SECONDS


async def be_new(scene: Scene) -> None:
    scene.history.create(tag="one")


async def read_the_chart(scene: Scene) -> None:
    scene.history.cluster.latency = lambda request: (
        20.0 if "/chartarchives/" in request.path and "Partial" not in str(request.headers) else 0.0
    )
    scene.history.create(tag="one")
    await scene.until_waiting("Progressing")


async def miss_the_chart(scene: Scene) -> None:
    scene.history.create(tag="one", archive={"chartArchiveRef": {"name": "missing"}})
    await scene.until_waiting("ChartPullFailed", stalled=True)


async def save_a_repository(scene: Scene) -> None:
    held = scene.hold(SaveRepository, "POST", "/chartrepositories")
    source = {"url": "https://127.0.0.1:1", "repoName": "acme", "chartName": "hello"}
    scene.history.create(tag="one", archive=None, method="Remote Chart Repository", **source)
    await scene.until(held)


async def wait_for_a_dependency(scene: Scene) -> None:
    scene.history.create(tag="one", dependsOn=[{"name": "other"}])
    await scene.until_waiting("DependencyNotReady")


async def depend_in_a_cycle(scene: Scene) -> None:
    scene.history.create(tag="one", dependsOn=[{"name": "other"}])
    create_other(scene.history, dependsOn=[{"name": "hello"}])
    await scene.until_waiting("DependencyNotReady", stalled=True)


async def be_installed(scene: Scene) -> None:
    slow_helm(scene)
    scene.history.create(tag="one")
    await scene.until_step("install")


async def wait_for_a_hook(scene: Scene) -> None:
    deploy_with_hook(scene.history)
    await wait_hook(scene.history)


async def be_killed_in_an_install(scene: Scene) -> None:
    scene.history.cluster.downtime = 10.0
    scene.history.cluster.kill = Kill(2, after=True)
    scene.history.create(tag="one")
    await scene.until(lambda: scene.history.cluster.kill is None)


async def be_unlocked_after_an_install(scene: Scene) -> None:
    held = scene.hold(Unlock, "PUT", "/secrets/")
    await be_killed_in_an_install(scene)
    await scene.until(held)


async def own_the_chart(scene: Scene) -> None:
    held = scene.hold(UpdateArchiveOwners, "PATCH", "/chartarchives/")
    scene.history.create(tag="one")
    await scene.until(held)


async def become_healthy(scene: Scene) -> None:
    scene.history.create(tag=BROKEN)
    await scene.until_waiting("Progressing")


async def never_become_healthy(scene: Scene) -> None:
    scene.history.create(tag=BROKEN)
    await scene.until_waiting("HealthCheckFailed")


async def fail_to_install(scene: Scene) -> None:
    scene.history.cluster.helm.refusals['{"tag": "one"}'] = Fault(REFUSED, writes=1)
    scene.history.create(tag="one")
    await scene.until_waiting("InstallFailed", stalled=True)


async def install_again_later(scene: Scene) -> None:
    scene.history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=1)] * MANY
    scene.history.create(tag="one")
    await scene.until_waiting("InstallFailed")


async def be_upgraded(scene: Scene) -> None:
    await install(scene)
    slow_helm(scene)
    scene.history.set_tag("two")
    await scene.until_step("upgrade")


async def be_killed_in_an_upgrade(scene: Scene) -> None:
    await install(scene)
    scene.history.cluster.downtime = 10.0
    scene.history.cluster.kill = Kill(1, after=True)
    scene.history.set_tag("two")
    await scene.until(lambda: scene.history.cluster.kill is None)


async def be_unlocked_after_an_upgrade(scene: Scene) -> None:
    held = scene.hold(Unlock, "PUT", "/secrets/")
    await be_killed_in_an_upgrade(scene)
    await scene.until(held)


async def upgrade_again_later(scene: Scene) -> None:
    await install(scene)
    scene.history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=2)] * MANY
    scene.history.set_tag("two")
    await scene.until_waiting("UpgradeFailed")


async def fail_to_upgrade(scene: Scene) -> None:
    await install(scene, upgrade={"onFailure": "none"})
    scene.history.cluster.helm.refusals['{"tag": "two"}'] = Fault(REFUSED, writes=1)
    scene.history.set_tag("two")
    await scene.until_waiting("UpgradeFailed", stalled=True)


async def become_healthy_after_an_upgrade(scene: Scene) -> None:
    await install(scene)
    scene.history.set_tag(BROKEN)
    await scene.until(lambda: isinstance(scene.action, Wait) and scene.history.cluster.revisions.get(2) == "deployed")


async def never_become_healthy_after_an_upgrade(scene: Scene) -> None:
    await install(scene, upgrade={"onFailure": "none"})
    scene.history.set_tag(BROKEN)
    await scene.until_waiting("HealthCheckFailed", stalled=True)


def end_the_faults(scene: Scene) -> None:
    scene.history.cluster.helm.faults.clear()


def create_the_dependency(scene: Scene) -> None:
    create_other(scene.history)


def use_the_uploaded_chart(scene: Scene) -> None:
    scene.history.edit(**UPLOADED)


INSTALLED = "Ready InstallSucceeded"
STATES = {
    "new": State(be_new, end=INSTALLED),
    "reading the chart": State(read_the_chart, end=INSTALLED),
    "chart is missing": State(miss_the_chart, end=INSTALLED, change=UPLOADED, recover=use_the_uploaded_chart),
    "saving the repository": State(
        save_a_repository,
        end=INSTALLED,
        change=UPLOADED,
        recover=use_the_uploaded_chart,
    ),
    "waiting for a dependency": State(wait_for_a_dependency, end=INSTALLED, recover=create_the_dependency),
    "in a cycle of dependencies": State(
        depend_in_a_cycle,
        end="Stalled DependencyNotReady",
        change={"dependsOn": None},
    ),
    "installing": State(be_installed, end=INSTALLED),
    "waiting for a hook": State(wait_for_a_hook, end=INSTALLED, stays={"hello-hook"}),
    "killed in an install": State(be_killed_in_an_install, end=INSTALLED),
    "unlocking after an install": State(be_unlocked_after_an_install, end=INSTALLED),
    "becoming an owner of the chart": State(own_the_chart, end=INSTALLED),
    "installed, not healthy yet": State(become_healthy, end="NotReady HealthCheckFailed"),
    "installed, never healthy": State(never_become_healthy, end="NotReady HealthCheckFailed"),
    "failed install": State(fail_to_install, end="Stalled InstallFailed"),
    "install that is tried again": State(install_again_later, recover=end_the_faults, end=INSTALLED),
    "upgrading": State(be_upgraded),
    "killed in an upgrade": State(be_killed_in_an_upgrade),
    "unlocking after an upgrade": State(be_unlocked_after_an_upgrade),
    "upgrade that is tried again": State(upgrade_again_later, recover=end_the_faults),
    "failed upgrade": State(fail_to_upgrade, end="Stalled UpgradeFailed"),
    "upgraded, not healthy yet": State(become_healthy_after_an_upgrade, end="Stalled HealthCheckFailed"),
    "upgraded, never healthy": State(never_become_healthy_after_an_upgrade, end="Stalled HealthCheckFailed"),
}
