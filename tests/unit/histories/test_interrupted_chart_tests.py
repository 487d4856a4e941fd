"""Runs of the tests of a chart that end early, and those that follow them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import FakeHelm, HelmFailed, _Run
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.support.helm_tests import (
    ENDLESS,
    FAILS,
    PASSING,
    deploy,
    events,
    last_test,
    outcome_of,
    pods,
    refuse_tests,
    runs_by_outcome,
    wait_running,
    wait_tested,
)
from tests.unit.histories.situations.actions import allow, refuse
from xapp_operator.config.settings import Settings


def upgrade(history: History) -> None:
    history.edit(values={"tag": "two", "seconds": "1s"})


def suspend(history: History) -> None:
    history.edit(suspend=True)


@pytest.mark.parametrize("end", [upgrade, suspend, History.delete])
def test_a_run_is_ended_when_the_release_is_changed_suspended_or_removed(
    settings: Settings, end: Callable[[History], None]
) -> None:
    why = "they are disabled, or the release is changed, suspended or removed"
    message = f"the tests of revision 1 were ended, because {why}"

    async def play(history: History) -> None:
        deploy(history, "first", "probe", values={**ENDLESS}, timeout="1h")
        await wait_running(history, "hello-first")
        end(history)
        assert await history.cluster.wait_for(lambda: bool(events(history)), seconds=60.0)
        assert events(history) == [("Normal", "TestInterrupted", message)]
        if end is suspend:
            assert await history.cluster.wait_for(lambda: not pods(history), seconds=60.0)
            assert outcome_of(history) == ("Unknown", "Progressing", message)
            assert last_test(history)["outcome"] == "Interrupted"
            assert last_test(history)["lastAt"] > last_test(history)["firstAt"]
            history.edit(suspend=False, values={"tag": "one", "seconds": "2s"})
        if end is not History.delete:
            await wait_tested(history, "Succeeded", revision=2, seconds=120.0)
            assert last_test(history)["count"] == 1
            history.delete()
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)
        assert pods(history) == {}

    run_history(settings, play)


def test_a_run_of_which_the_status_no_longer_tells_is_ended_too(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, values={**ENDLESS}, timeout="1h")
        await wait_running(history)
        xapp = Target("xapp-operator.io", "v1alpha1", "xapps", NAMESPACE, "hello", "status")
        history.cluster.server.patch(xapp, {"status": {"lastTest": None}})
        await history.cluster.wait(5.0)
        upgrade(history)
        await wait_tested(history, "Succeeded", revision=2)

    run_history(settings, play)


def test_a_suspension_deletes_only_the_pod_that_runs(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, "a", "b", values={"seconds": "6s"})
        await wait_running(history, "hello-b")
        suspend(history)
        assert await history.cluster.wait_for(lambda: "hello-b" not in pods(history), seconds=5.0)
        assert pods(history).keys() == {"hello-a"}
        history.edit(suspend=False)
        await wait_tested(history, "Succeeded", seconds=120.0)
        assert last_test(history)["count"] == 2

    run_history(settings, play)


def test_tests_have_passed_if_the_record_says_so_although_helm_fails_after_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_tests, runs = FakeHelm._test, list[float]()

    async def lose_answer(self: FakeHelm, run: _Run) -> str:
        await run_tests(self, run)
        runs.append(self.clock.monotonic())
        raise HelmFailed(PASSING)

    async def play(history: History) -> None:
        monkeypatch.setattr(FakeHelm, "_test", lose_answer)
        deploy(history, "first", "probe", values={"seconds": "20s"})  # together longer than spec.timeout
        await wait_tested(history, "Succeeded", seconds=200.0)
        assert outcome_of(history) == ("True", "TestSucceeded", "all 2 tests of revision 1 passed")
        history.annotate("test-at")
        await history.cluster.wait(60.0)
        assert len(runs) == 2

    run_history(settings, play)


def test_interrupted_tests_are_run_again_until_the_timeout(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = refuse_tests(monkeypatch, lambda: HelmFailed(PASSING))
    metrics: list[str] = []

    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Interrupted")
        started = last_test(history)["firstAt"]
        message = f"the tests are run again, because they were interrupted: {PASSING}"
        assert outcome_of(history) == ("Unknown", "Progressing", message)
        assert history.outcome.startswith("Ready")
        await wait_tested(history, "Failed", seconds=200.0)
        assert last_test(history)["count"] == len(runs) > 2
        assert last_test(history)["firstAt"] == started
        assert history.cluster.runtime is not None
        metrics.append(history.cluster.runtime._context.metrics.render().decode())
        assert set(events(history)) == {("Warning", "TestInterrupted", message), ("Warning", "TestFailed", PASSING)}

    history = run_history(settings, play)
    assert outcome_of(history) == ("False", "TestFailed", PASSING)
    pauses = [after - before for before, after in itertools.pairwise(runs)]
    assert pauses == sorted(pauses)
    assert pauses[2] > 2 * pauses[0]
    assert runs_by_outcome(metrics[0]) == {"interrupted": float(len(runs) - 1), "failed": 1.0}


def test_tests_pass_after_an_interruption(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = refuse_tests(monkeypatch, lambda: HelmFailed(PASSING), times=1)

    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")

    history = run_history(settings, play)
    assert (len(runs), last_test(history)["count"]) == (2, 2)
    assert [reason for _, reason, _ in events(history)] == ["TestInterrupted", "TestSucceeded"]


def test_a_permanent_error_is_no_interruption(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = 'pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace "ns"'
    runs = refuse_tests(monkeypatch, lambda: HelmFailed(refused))

    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Failed")

    history = run_history(settings, play)
    assert "jane may not create pods in namespace ns" in outcome_of(history)[2]
    assert (len(runs), last_test(history)["count"]) == (1, 1)


def test_a_failure_of_which_the_record_does_not_tell_is_described_in_the_words_of_helm(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_tests(
        monkeypatch, lambda: HelmFailed("resource Pod/ns/hello-probe not ready. status: Failed, message: Pod failed")
    )

    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Failed")

    history = run_history(settings, play)
    assert "hook Pod ns/hello-probe failed" in outcome_of(history)[2]


def test_an_unexpected_exception_is_not_shown_and_the_tests_run_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_tests(monkeypatch, lambda: ZeroDivisionError("secret"), times=1)

    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        (logged,) = history.unexpected
        assert "running tests failed unexpectedly" in logged
        assert "'namespace': 'ns', 'name': 'hello'" in logged
        history.unexpected.clear()

    history = run_history(settings, play)
    assert events(history)[0] == ("Warning", "TestInterrupted", "ZeroDivisionError: see the operator's log")
    assert last_test(history)["count"] == 2


def test_what_a_killed_run_left_is_deleted_before_the_next_one(settings: Settings) -> None:
    """By this policy, helm would take the result of the pod that is there."""

    async def play(history: History) -> None:
        deploy(history, values={"policy": "hook-succeeded", "seconds": "3s"})
        await wait_running(history)
        first = pods(history)
        history.cluster.restart()
        assert await history.cluster.wait_for(lambda: pods(history) not in (first, {}), seconds=60.0)
        await wait_tested(history, "Succeeded")
        assert last_test(history)["count"] == 2

    run_history(settings, play)


@pytest.mark.parametrize("released", [True, False])
def test_a_leftover_that_is_held_is_waited_for_and_then_named(settings: Settings, released: bool) -> None:
    async def play(history: History) -> None:
        deploy(history, values={"policy": "hook-succeeded", **FAILS}, timeout="10m")
        await wait_tested(history, "Failed")
        server, pod = history.cluster.server, Target("", "v1", "pods", NAMESPACE, "hello-probe")
        server.patch(pod, {"metadata": {"finalizers": ["example.com/hold"]}})
        first, begun = pods(history), history.cluster.clock.monotonic()
        history.annotate("test-at")
        await history.cluster.wait(20.0)
        assert last_test(history)["outcome"] == "Running"
        assert history.cluster.runtime is not None
        assert history.cluster.runtime._context.helm.slot_counts().used["running"] == 0
        if released:
            server.patch(pod, {"metadata": {"finalizers": []}})
            assert await history.cluster.wait_for(lambda: pods(history) not in (first, {}), seconds=5.0)
        await wait_tested(history, "Failed", seconds=120.0)
        assert (pods(history) == first) is not released
        if not released:
            assert 60.0 <= history.cluster.clock.monotonic() - begun < 70.0
            assert outcome_of(history)[2] == (
                "Pod hello-probe, which an earlier run of the tests has left, is still being deleted: remove what "
                "holds it, such as a finalizer, then request the tests again"
            )

    run_history(settings, play)


def test_a_request_during_a_run_is_handled_after_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, values={"seconds": "5s"})
        await wait_running(history)
        first = pods(history)
        history.annotate("test-at")
        await history.cluster.wait(3.0)
        assert pods(history) == first
        assert await history.cluster.wait_for(lambda: pods(history) != first, seconds=60.0)
        await wait_tested(history, "Succeeded")
        assert last_test(history)["requested"] is True

    history = run_history(settings, play)
    assert events(history) == [("Normal", "TestSucceeded", "1 test of revision 1 passed")] * 2


def test_tests_begin_only_when_the_status_tells_of_them(settings: Settings) -> None:
    """Otherwise an operator that is killed would run them again, and nobody would know of the first run."""

    async def play(history: History) -> None:
        deploy(history, test={"enabled": False})
        assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        refuse(history, "PATCH", "/xapps/hello/status", Refused(500, "InternalError", "etcdserver: request timed out"))
        history.annotate("test-at")
        await history.cluster.wait(20.0)
        assert pods(history) == {}
        allow(history)
        await wait_tested(history, "Succeeded")

    run_history(settings, play)
