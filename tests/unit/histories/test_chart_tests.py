"""The tests of charts (`helm test`): when they run, what a user is told of them, and what they leave in the cluster."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import HelmFailed
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.support.helm_tests import (
    ENABLED,
    ENDLESS,
    FAILS,
    LOG,
    TEST,
    deploy,
    events,
    last_test,
    outcome_of,
    pods,
    refuse_tests,
    runs_by_outcome,
    store_chart,
    wait_running,
    wait_tested,
)
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest


def test_tests_run_once_after_each_install_and_upgrade(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Running")
        assert history.outcome.startswith("Ready")
        assert outcome_of(history) == ("Unknown", "Progressing", "the tests of revision 1 run, or wait for a place")
        started = last_test(history)["firstAt"]
        await wait_tested(history, "Succeeded")
        assert outcome_of(history) == ("True", "TestSucceeded", "1 test of revision 1 passed")
        assert last_test(history)["firstAt"] == started
        assert last_test(history)["lastAt"] > started
        first = pods(history)
        history.annotate("reconcile-at")
        await history.cluster.wait(20.0)
        assert pods(history) == first
        history.edit(values={"tag": "two"})
        await wait_tested(history, "Succeeded", revision=2)
        assert pods(history).keys() == first.keys()
        assert pods(history) != first
        assert last_test(history)["count"] == 1
        assert "requested" not in last_test(history)

    history = run_history(settings, play)
    assert events(history) == [
        ("Normal", "TestSucceeded", "1 test of revision 1 passed"),
        ("Normal", "TestSucceeded", "1 test of revision 2 passed"),
    ]
    involved = [each["involvedObject"] for each in history.cluster.server.all("events")]
    assert {(each["kind"], each["name"], each["namespace"]) for each in involved} == {("XApp", "hello", NAMESPACE)}
    assert {each["uid"] for each in involved} == {(history.cluster.xapp() or {})["metadata"]["uid"]}


def test_what_tests_leave_goes_with_the_release(settings: Settings) -> None:
    other = TEST.replace("NAME", "other").replace("helm.sh/hook: test", "helm.sh/hook: pre-install")
    values = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: hello-values
  annotations: {helm.sh/hook: test}
data: {tag: one}
"""
    job = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: hello-job
  annotations: {helm.sh/hook: "test"}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/job:1"}]}}}
"""

    async def play(history: History) -> None:
        chart = store_chart(history, "probe", aother=other, values=values, job=job)
        history.create(values={"tag": "one"}, test=ENABLED, **chart)
        await wait_tested(history, "Succeeded")
        assert outcome_of(history)[2] == "all 3 tests of revision 1 passed"
        assert pods(history).keys() == {"hello-probe", "hello-other"}
        assert history.cluster.server.find("jobs", "hello-job") is not None
        history.delete()
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)
        assert pods(history).keys() == {"hello-other"}
        assert history.cluster.server.all("jobs") == []
        history.cluster.server.delete(Target("", "v1", "configmaps", NAMESPACE, "hello-values"), {})

    run_history(settings, play)


def test_a_failed_test_is_explained_and_leaves_the_release_ready(settings: Settings) -> None:
    metrics: list[str] = []

    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        history.edit(values={"tag": "two", **FAILS})
        await wait_tested(history, "Failed", revision=2)
        assert history.outcome == "Ready UpgradeSucceeded"
        assert outcome_of(history)[:2] == ("False", "TestFailed")
        await history.cluster.wait(200.0)
        assert history.cluster.runtime is not None
        metrics.append(history.cluster.runtime._context.metrics.render().decode())

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "superseded", 2: "deployed"}
    message = f"test Pod hello-probe failed: container setup, exit code 1. {LOG} hello-probe --container=setup"
    assert outcome_of(history)[2] == message
    assert events(history)[1:] == [("Warning", "TestFailed", message)]
    assert runs_by_outcome(metrics[0]) == {"succeeded": 1.0, "failed": 1.0}


@pytest.mark.parametrize("on_failure", ["rollback", "none"])
def test_an_upgrade_whose_tests_fail_is_rolled_back_where_the_spec_says_so(settings: Settings, on_failure: str) -> None:
    async def play(history: History) -> None:
        deploy(history, test={**ENABLED, "onFailure": on_failure})
        await wait_tested(history, "Succeeded")
        history.edit(values={"tag": "two", **FAILS})
        await history.cluster.wait(60.0)

    history = run_history(settings, play)
    if on_failure == "none":
        assert (history.outcome, history.live_tags) == ("Ready UpgradeSucceeded", {"two"})
        return
    assert history.outcome == "Stalled TestFailed"
    assert history.cluster.revisions == {1: "superseded", 2: "superseded", 3: "deployed"}
    assert history.live_tags == {"one"}
    message = (history.cluster.condition("Stalled") or {})["message"]
    assert "test Pod hello-probe failed: container setup, exit code 1" in message
    assert "rolled back to revision 1" in message
    assert [reason for _, reason, _ in events(history)] == ["TestSucceeded", "TestFailed"]


def test_tests_that_are_requested_with_an_upgrade_undo_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, test={**ENABLED, "onFailure": "rollback"})
        await wait_tested(history, "Succeeded")
        history.edit(values={"tag": "two", **FAILS})
        history.annotate("test-at")
        await history.cluster.wait(60.0)
        body = history.cluster.xapp() or {}
        assert body["status"]["handled"]["testAt"] == body["metadata"]["annotations"]["xapp-operator.io/test-at"]

    history = run_history(settings, play)
    assert (history.outcome, history.live_tags) == ("Stalled TestFailed", {"one"})
    assert [reason for _, reason, _ in events(history)] == ["TestSucceeded", "TestFailed"]


def test_tests_run_on_request_and_then_undo_nothing(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, test={"enabled": False, "onFailure": "rollback"})
        assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        history.edit(values={"tag": "two", **FAILS})
        assert await history.cluster.wait_for(lambda: history.deployed_tags == ["two"], seconds=60.0)
        await history.cluster.wait(60.0)
        assert (pods(history), last_test(history)) == ({}, {})
        history.annotate("test-at")
        await wait_tested(history, "Failed", revision=2)
        assert last_test(history)["requested"] is True
        first = pods(history)
        handled = (history.cluster.xapp() or {})["status"]["handled"]["testAt"]
        history.annotate("test-at")
        assert await history.cluster.wait_for(lambda: pods(history) not in (first, {}), seconds=60.0)
        await wait_tested(history, "Failed", revision=2)
        assert (history.cluster.xapp() or {})["status"]["handled"]["testAt"] != handled

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert [reason for _, reason, _ in events(history)] == ["TestFailed", "TestFailed"]


def test_a_test_that_does_not_end_fails_after_the_timeout(settings: Settings) -> None:
    started: list[float] = []

    async def play(history: History) -> None:
        deploy(history, values=ENDLESS)
        await wait_running(history)
        started.append(history.cluster.clock.monotonic())
        await wait_tested(history, "Failed")
        started.append(history.cluster.clock.monotonic())

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready")
    assert outcome_of(history)[2] == (
        f"test Pod hello-probe did not finish within spec.timeout ({TIMEOUT_SECONDS}s). {LOG} hello-probe "
        "--container=probe"
    )
    assert started[1] - started[0] == pytest.approx(TIMEOUT_SECONDS, abs=2.0)
    assert last_test(history)["count"] == 1


def test_the_test_that_failed_last_is_named(settings: Settings) -> None:
    """helm stops at the first one that fails; what others did in an earlier run is no news."""
    failing = ["hello-b"]

    async def play(history: History) -> None:
        def choose(plural: str, body: Json) -> None:
            if plural == "pods" and body["metadata"]["name"] in failing and not body["metadata"]["labels"]:
                target = Target("", "v1", "pods", NAMESPACE, body["metadata"]["name"])
                history.cluster.server.patch(target, {"metadata": {"labels": {"xapp-operator.io/test-fail": "Error"}}})

        history.cluster.server.on_stored.append(choose)
        deploy(history, "a", "b", "c")
        await wait_tested(history, "Failed")
        assert outcome_of(history)[2].startswith("test Pod hello-b failed: ")
        assert pods(history).keys() == {"hello-a", "hello-b"}
        failing[:] = ["hello-a"]
        history.annotate("test-at")
        assert await history.cluster.wait_for(lambda: "hello-a failed" in outcome_of(history)[2], seconds=60.0)
        failing.clear()
        history.annotate("test-at")
        await wait_tested(history, "Succeeded")

    history = run_history(settings, play)
    assert outcome_of(history)[2] == "all 3 tests of revision 1 passed"


def test_a_failed_test_without_a_pod_is_named(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, values={**FAILS, "policy": "hook-failed"})
        await wait_tested(history, "Failed")
        assert pods(history) == {}

    history = run_history(settings, play)
    assert outcome_of(history)[2] == (
        "test Pod hello-probe failed; it has no pod any more, so there is neither an exit code nor a log"
    )


def test_a_chart_without_tests_passes_without_helm(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = refuse_tests(monkeypatch, lambda: HelmFailed("not needed"))

    async def play(history: History) -> None:
        history.create(values={"tag": "one"}, test=ENABLED, **store_chart(history))
        await wait_tested(history, "Succeeded")

    history = run_history(settings, play)
    assert outcome_of(history)[2] == "the chart has no tests"
    assert runs == []


def test_tests_that_begin_at_once_do_not_read_all_release_records_at_once(settings: Settings) -> None:
    names = [f"other-{number}" for number in range(10)]
    reading: set[str] = set()
    most: list[int] = []

    def read_slowly(request: ApiRequest) -> float:
        if request.method != "GET" or "/secrets/sh.helm.release." not in request.path:
            return 0.0
        reading.add(request.path)
        most.append(len(reading))
        return 1.0

    async def play(history: History) -> None:
        history.create(tag="one")
        for name in names:
            body = xapp_body(tag="one")
            body["metadata"]["name"] = name
            history.cluster.create(body)
        await history.cluster.wait(60.0)
        history.cluster.on_response.append(lambda request, *_: reading.discard(request.path))
        history.cluster.latency = read_slowly
        for name in names:
            history.cluster.edit({"metadata": {"annotations": {"xapp-operator.io/test-at": "now"}}}, name)
        await history.cluster.wait(30.0)
        assert len(most) == len(names)
        history.cluster.latency = lambda _: 0.0
        history.note("delete the others")  # which are not checked
        for name in names:
            history.cluster.delete(name)
        await history.cluster.wait(60.0)
        history.removed.clear()

    run_history(settings, play)
    assert max(most) == 6  # of eight places; two are for the tests of other namespaces
