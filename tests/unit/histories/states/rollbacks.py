"""States of rollbacks, by the operator itself or requested."""

from __future__ import annotations

from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import delete_record
from tests.support.fakes.operator import BROKEN, Kill
from tests.unit.histories.states.deploying import MANY, end_the_faults, install, slow_helm
from tests.unit.histories.states.scene import Scene, State
from tests.unit.histories.test_kills import UNAVAILABLE
from xapp_operator.domain.planning.actions import Rollback, Unlock

ROLLED_BACK = "Stalled HealthCheckFailed"


async def be_rolled_back(scene: Scene) -> None:
    await install(scene)
    scene.history.set_tag(BROKEN)
    await scene.until(lambda: scene.history.deployed_tags == [BROKEN])
    slow_helm(scene)
    await scene.until_step("rollback")


async def have_been_rolled_back(scene: Scene) -> None:
    await install(scene)
    scene.history.set_tag(BROKEN)
    await scene.until_waiting("HealthCheckFailed", stalled=True)


async def be_killed_in_a_rollback(scene: Scene) -> None:
    await be_rolled_back(scene)
    scene.history.cluster.downtime = 10.0
    scene.history.cluster.kill = Kill(1, after=True)
    await scene.until(lambda: scene.history.cluster.kill is None)


async def be_unlocked_after_a_rollback(scene: Scene) -> None:
    held = scene.hold(Unlock, "PUT", "/secrets/")
    await be_killed_in_a_rollback(scene)
    await scene.until(held)


async def roll_back_again_later(scene: Scene) -> None:
    await install(scene)
    scene.history.cluster.helm.faults = [None, *[Fault(UNAVAILABLE, writes=2)] * MANY]
    scene.history.set_tag(BROKEN)
    await scene.until_waiting("RollbackFailed")


async def have_two_revisions(scene: Scene) -> None:
    await install(scene)
    scene.history.set_tag("two")
    await scene.until(lambda: scene.history.deployed_tags == ["two"])
    await scene.until_ready()


async def be_rolled_back_by_request(scene: Scene) -> None:
    await have_two_revisions(scene)
    slow_helm(scene)
    scene.history.annotate("rollback-to", "1")
    await scene.until_step("rollback")


async def hold_a_revision(scene: Scene) -> None:
    await have_two_revisions(scene)
    scene.history.annotate("rollback-to", "1")
    await scene.until(lambda: scene.rule == "plan_held_revision")
    await scene.until_ready()


async def bring_a_held_revision_back(scene: Scene) -> None:
    await hold_a_revision(scene)
    slow_helm(scene)
    scene.history.leave_behind("failed")
    await scene.until(lambda: isinstance(scene.action, Rollback))


async def bring_a_held_revision_back_again_later(scene: Scene) -> None:
    await hold_a_revision(scene)
    scene.history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=2)] * MANY
    scene.history.leave_behind("failed")
    await scene.until_waiting("RollbackFailed")


async def have_lost_a_held_revision(scene: Scene) -> None:
    await hold_a_revision(scene)
    for revision in (1, 3):
        delete_record(scene.history, revision)
    await scene.until_waiting("RollbackFailed", stalled=True)


async def roll_back_by_request_again_later(scene: Scene) -> None:
    await have_two_revisions(scene)
    scene.history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=2)] * MANY
    scene.history.annotate("rollback-to", "1")
    await scene.until_waiting("RollbackFailed")


STATES = {
    "rolling back": State(be_rolled_back, end=ROLLED_BACK),
    "rolled back": State(have_been_rolled_back, end=ROLLED_BACK),
    "killed in a rollback": State(be_killed_in_a_rollback, end=ROLLED_BACK),
    "unlocking after a rollback": State(be_unlocked_after_a_rollback, end=ROLLED_BACK),
    "rollback that is tried again": State(roll_back_again_later, recover=end_the_faults, end=ROLLED_BACK),
    "rolling back by request": State(be_rolled_back_by_request),
    "holding a revision": State(hold_a_revision),
    "bringing a held revision back": State(bring_a_held_revision_back),
    "held revision that is tried again": State(bring_a_held_revision_back_again_later, recover=end_the_faults),
    "a held revision is gone": State(have_lost_a_held_revision),
    "requested rollback that is tried again": State(roll_back_by_request_again_later, recover=end_the_faults),
}
