"""What the end of the tests of a chart causes, whenever it comes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.fakes.helm import Fault, Step
from tests.support.fakes.helm_by_hand import change_by_hand
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import NAMESPACE, Kill
from tests.support.helm_tests import (
    ENABLED,
    ENDLESS,
    FAILS,
    PASSING,
    deploy,
    events,
    last_test,
    pods,
    wait_running,
    wait_tested,
)
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET, change
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest


@pytest.mark.parametrize("fails", [False, True])
def test_tests_that_end_while_a_reconcile_observes_are_not_run_again(settings: Settings, *, fails: bool) -> None:
    """Their result is the newest fact then: it must not be lost, and the tests run once."""
    tested: list[str] = []

    def compare_slowly(request: ApiRequest) -> float:
        return 15.0 if "dryRun" in request.params else 0.0

    async def play(history: History) -> None:
        deploy(history, test={**ENABLED, "onFailure": "rollback"})
        await wait_tested(history, "Succeeded")
        history.edit(values={"tag": "two", "seconds": "10s", **(FAILS if fails else {})})
        await wait_tested(history, "Running", revision=2)
        history.cluster.latency = compare_slowly
        change_by_hand(history, "configmaps")
        await history.cluster.wait(5.0)
        change(history, CONFIGMAP_TARGET, {"data": {"tag": "two"}})
        tested.extend(pods(history).values())
        history.cluster.latency = lambda _: 0.0
        await history.cluster.wait(60.0)
        assert list(pods(history).values()) == tested
        assert last_test(history)["count"] == 1

    def check(history: History) -> None:
        assert history.outcome == ("Stalled TestFailed" if fails else "Ready UpgradeSucceeded")
        reasons = [reason for _, reason, _ in events(history)]
        assert reasons == ["TestSucceeded", "TestFailed" if fails else "TestSucceeded"]

    run_history(settings, play, check)


@pytest.mark.parametrize("kill", [False, True], ids=["a passing failure", "the operator is killed"])
@pytest.mark.parametrize("on_failure", ["rollback", "none"])
def test_a_rollback_after_failed_tests_is_repeated_whatever_failed_upgrades_cause(
    settings: Settings, on_failure: str, *, kill: bool
) -> None:
    def end_operator(history: History, step: Step) -> None:
        if step.command == "rollback" and history.cluster.lives == 1:
            history.cluster.kill = Kill(1, after=True)

    async def play(history: History) -> None:
        deploy(history, test={**ENABLED, "onFailure": "rollback"}, upgrade={"onFailure": on_failure})
        await wait_tested(history, "Succeeded")
        if kill:
            history.cluster.helm.on_step.append(lambda step: end_operator(history, step))
        else:
            history.cluster.helm.faults += [None, Fault(PASSING, 1)]  # of the upgrade, and of the rollback
        history.edit(values={"tag": "two", **FAILS})
        await history.cluster.wait(60.0)

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Stalled TestFailed", ["one"])
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback", "rollback"]


def disable(history: History) -> None:
    history.edit(test={"enabled": False})


def suspend(history: History) -> None:
    history.edit(suspend=True)


def upgrade(history: History) -> None:
    history.edit(values={"tag": "three", "seconds": "1s"}, test={"enabled": False})


@pytest.mark.parametrize("change", [disable, suspend, upgrade])
@pytest.mark.parametrize("later", [0.0, 0.1, 0.3, 0.5, 1.0])
def test_tests_do_not_begin_for_an_older_spec(
    settings: Settings, later: float, change: Callable[[History], None]
) -> None:
    """The status that tells of the run returns the newer spec."""

    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        history.cluster.server.lag = 0.3
        history.edit(values={"tag": "two", "seconds": "100s"})
        while history.cluster.revisions.get(2) != "deployed":
            await history.cluster.wait(0.01)
        await history.cluster.wait(later)
        change(history)
        await history.cluster.wait(60.0)
        assert history.cluster.runtime is not None
        running = history.cluster.runtime._context.test_runs.is_running((NAMESPACE, "hello"))
        assert (last_test(history)["outcome"] == "Running") is running

    run_history(settings, play)


@pytest.mark.parametrize("change", [disable, suspend, upgrade, History.delete])
def test_tests_that_a_kill_has_ended_and_that_do_not_run_again_leave_nothing(
    settings: Settings, change: Callable[[History], None]
) -> None:
    async def play(history: History) -> None:
        deploy(history, values=ENDLESS, timeout="1h")
        await wait_running(history)
        history.cluster.downtime = 5.0
        history.cluster.restart()
        await history.cluster.wait(1.0)
        change(history)
        assert await history.cluster.wait_for(lambda: not pods(history), seconds=30.0)
        await history.cluster.wait(30.0)
        assert pods(history) == {}
        if change is not History.delete:
            assert last_test(history)["outcome"] == "Interrupted"
            assert events(history) == [("Normal", "TestInterrupted", last_test(history)["message"])]

    run_history(settings, play)


def test_requested_tests_for_which_the_spec_is_outdated_begin_later(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, test={"enabled": False})
        assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        history.cluster.server.lag = 3.0
        history.annotate("test-at")
        await history.cluster.wait(1.0)
        history.edit(maxHistory=7)
        await history.cluster.wait(60.0)

    history = run_history(settings, play)
    assert (last_test(history)["outcome"], last_test(history)["count"]) == ("Succeeded", 1)
    assert events(history) == [("Normal", "TestSucceeded", "1 test of revision 1 passed")]
