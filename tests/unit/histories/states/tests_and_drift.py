"""States in which the tests of the chart run or ran, or objects differ from the manifest."""

from __future__ import annotations

from tests.support.helm_tests import ENABLED, ENDLESS, FAILS, deploy, wait_running, wait_tested
from tests.unit.histories.situations.actions import CORRECT, set_live_tag
from tests.unit.histories.states.deploying import INSTALLED, install
from tests.unit.histories.states.scene import Scene, State
from tests.unit.histories.test_terminating_objects import install_over, let_go
from xapp_operator.domain.planning.actions import CorrectDrift, EndTests, Recreate, StartTests


async def start_tests(scene: Scene) -> None:
    held = scene.hold(StartTests, "PATCH", "/xapps/hello/status")
    deploy(scene.history)
    await scene.until(held)


async def run_tests(scene: Scene) -> None:
    deploy(scene.history, values=ENDLESS)
    await wait_running(scene.history)


async def pass_tests(scene: Scene) -> None:
    deploy(scene.history)
    await wait_tested(scene.history, "Succeeded")


async def be_suspended_while_tests_run(scene: Scene) -> None:
    await run_tests(scene)
    scene.history.edit(suspend=True)
    await scene.until_waiting("Suspended")


async def end_tests(scene: Scene) -> None:
    await run_tests(scene)
    scene.history.cluster.helm.last_breath = 3.0
    scene.history.edit(values={"tag": "two", "seconds": "1s"})
    await scene.until(lambda: isinstance(scene.action, EndTests))


async def fail_tests(scene: Scene) -> None:
    deploy(scene.history, values=FAILS)
    await wait_tested(scene.history, "Failed")


async def be_rolled_back_after_tests(scene: Scene) -> None:
    deploy(scene.history, test={**ENABLED, "onFailure": "rollback"})
    await wait_tested(scene.history, "Succeeded")
    scene.history.edit(values={"tag": "two", **FAILS})
    await scene.until_waiting("TestFailed", stalled=True)


async def drift(scene: Scene) -> None:
    await install(scene)
    set_live_tag(scene.history, "theirs")
    await scene.until(lambda: (scene.history.cluster.condition("Drifted") or {}).get("status") == "True")


async def correct_drift(scene: Scene) -> None:
    await install(scene, driftDetection=CORRECT)
    held = scene.hold(CorrectDrift, "PATCH", "/configmaps/")
    set_live_tag(scene.history, "theirs")
    await scene.until(held)


async def recreate(scene: Scene) -> None:
    await install_over(scene.history)
    held = scene.hold(Recreate, "PATCH", "/configmaps/")
    let_go(scene.history)
    await scene.until(held)


def put_the_object_right(scene: Scene) -> None:
    if scene.history.live_tags == {"theirs", "one"}:
        set_live_tag(scene.history, "one")


PASSES = {"values": {"tag": "three", "labels": "{}", "seconds": "1s"}}

STATES = {
    "starting tests": State(start_tests, end=INSTALLED, change=PASSES),
    "testing": State(run_tests, end=INSTALLED, change=PASSES),
    "tested": State(pass_tests, end=INSTALLED, change=PASSES),
    "suspended in tests": State(be_suspended_while_tests_run, end=INSTALLED, change=PASSES | {"suspend": False}),
    "ending tests": State(end_tests, change=PASSES),
    "failed tests": State(fail_tests, end=INSTALLED, change=PASSES),
    "rolled back after failed tests": State(be_rolled_back_after_tests, end="Stalled TestFailed", change=PASSES),
    "drifted": State(drift, end=INSTALLED, recover=put_the_object_right),
    "correcting drift": State(correct_drift, end=INSTALLED),
    "creating objects again": State(recreate, end=INSTALLED),
}
