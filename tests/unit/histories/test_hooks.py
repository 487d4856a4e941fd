"""Hooks of charts that take long or fail: what a user is told while helm waits for one, and afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import FakeApiServer, Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import CONFIGMAP, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile import hook_reporting

HOOK = """\
apiVersion: v1
kind: Pod
metadata:
  name: hello-NAME
  labels: {{ .Values.labels }}
  annotations:
    helm.sh/hook: "pre-install,pre-upgrade"
    helm.sh/hook-delete-policy: {{ .Values.policy }}
    xapp-operator.io/test-complete-after: {{ .Values.seconds }}
spec:
  restartPolicy: Never
  containers: [{name: main, image: "example.com/hook:1"}]
"""
VALUES = "tag: one\nlabels: {}\nseconds: 40s\npolicy: before-hook-creation\n"
FAILS = {"labels": "{xapp-operator.io/test-fail: Error}"}
READY = ("Ready", "True")
WAITS = "it waits for the hook Pod hello-hook"
PULL = {"reason": "ErrImagePull", "message": "no such image"}
PULL_CAUSE = "pod hello-hook: container main: ErrImagePull: no such image"
ENDED_CAUSE = "pod hello-hook: failed: container main: ended (exit code 1)"


def deploy(history: History, *hooks: str, namespace: str = NAMESPACE, **values: str) -> None:
    """Create the XApp with a chart that has these hooks, `hook` if none is named."""
    named = HOOK if namespace == NAMESPACE else HOOK.replace("  labels", f"  namespace: {namespace}\n  labels")
    files = {f"templates/{name}.yaml": named.replace("NAME", name) for name in hooks or ("hook",)}
    archive = chart_archive({"values.yaml": VALUES, "templates/configmap.yaml": CONFIGMAP, **files})
    stored = chart_archive_manifest(archive, namespace=NAMESPACE)
    history.cluster.create(stored)
    chart = {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}
    history.create(values={"tag": "one", **values}, archive=chart, timeout="10m")


def message_of(history: History, kind: str) -> str:
    return str((history.cluster.condition(kind) or {}).get("message", ""))


def hook_of_attempt(history: History) -> Json | None:
    found: Json | None = (history.cluster.xapp() or {})["status"].get("lastAttempt", {}).get("hook")
    return found


def set_waiting(history: History, waiting: Json, name: str = "hello-hook") -> None:
    """Let the kubelet report that the container of the hook waits."""
    status = {"phase": "Pending", "containerStatuses": [{"name": "main", "state": {"waiting": waiting}}]}
    history.cluster.server.patch(Target("", "v1", "pods", NAMESPACE, name, "status"), {"status": status})


async def wait_hook(history: History, name: str = "hello-hook") -> None:
    """Wait until helm has started the hook."""
    found = history.cluster.server.find
    assert await history.cluster.wait_for(lambda: found("pods", name) is not None, seconds=60.0)


def warnings(history: History) -> list[tuple[str, str]]:
    found = (each for each in history.cluster.server.all("events") if each["type"] == "Warning")
    return [(each["reason"], each["message"]) for each in found]


def forbid_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = FakeApiServer.handle

    def check(server: FakeApiServer, request: ApiRequest, *, manager: str = "xapp-operator") -> Json:
        if request.path.endswith("/pods") and "fieldSelector" in request.params:
            raise Refused(403, "Forbidden", "pods are forbidden")
        return handle(server, request, manager=manager)

    monkeypatch.setattr(FakeApiServer, "handle", check)


def hide_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the hook have no pod, as a Job has none whose pods are refused."""
    handle = FakeApiServer.handle

    def check(server: FakeApiServer, request: ApiRequest, *, manager: str = "xapp-operator") -> Json:
        if request.path.endswith("/pods") and "fieldSelector" in request.params:
            return {"metadata": {}, "items": []}
        return handle(server, request, manager=manager)

    monkeypatch.setattr(FakeApiServer, "handle", check)


def test_the_problem_of_a_hook_without_a_pod_comes_from_its_events(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_pods(monkeypatch)

    async def play(history: History) -> None:
        deploy(history)
        await wait_hook(history)
        event = {
            "metadata": {"name": "refused"},
            "involvedObject": {"kind": "Pod", "name": "hello-hook"},
            "reason": "FailedCreate",
            "message": "exceeded quota",
        }
        history.cluster.server.create(Target("", "v1", "events", NAMESPACE), event)
        await history.cluster.wait(7.0)
        told = f"helm is installing the chart; {WAITS}: Pod hello-hook: FailedCreate: exceeded quota"
        assert message_of(history, "Ready") == told
        history.cluster.server.delete(Target("", "v1", "events", NAMESPACE, "refused"), {})
        await history.cluster.wait(10.0)
        assert message_of(history, "Ready") == f"helm is installing the chart; {WAITS}"

    run_history(settings, play)


def test_the_hook_that_helm_waits_for_is_named_with_its_problem(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history)
        await wait_hook(history)
        set_waiting(history, PULL)
        await history.cluster.wait(3.0)
        assert WAITS not in message_of(history, "Ready")
        assert hook_of_attempt(history) is None
        await history.cluster.wait(4.0)
        told = f"helm is installing the chart; {WAITS}: {PULL_CAUSE}"
        assert [message_of(history, kind) for kind in ("Ready", "Reconciling")] == [told, told]
        assert hook_of_attempt(history) == {"kind": "Pod", "name": "hello-hook"}
        set_waiting(history, {"reason": "ContainerCreating"})
        await history.cluster.wait(10.0)
        assert "ErrImagePull" not in message_of(history, "Ready")
        assert message_of(history, "Ready").count(WAITS) == 1
        assert await history.cluster.wait_for(lambda: history.outcome == "Ready InstallSucceeded", seconds=60.0)
        assert hook_of_attempt(history) is None

    history = run_history(settings, play)
    assert warnings(history) == []


@pytest.mark.parametrize("forbidden", [False, True])
def test_a_hook_in_another_namespace_is_named_with_its_namespace(settings: Settings, *, forbidden: bool) -> None:
    """Its pod is read as the XApp may, and not looked for in the namespace of the XApp."""
    elsewhere = Target("", "v1", "pods", "elsewhere", "hello-hook", "status")
    told = f"helm is installing the chart; {WAITS} in namespace elsewhere"

    def check(request: ApiRequest) -> None:
        if forbidden and "/namespaces/elsewhere/" in request.path and request.method == "GET":
            raise Refused(403, "Forbidden", "pods are forbidden")

    async def play(history: History) -> None:
        history.cluster.refuse = check
        deploy(history, namespace="elsewhere")
        found = history.cluster.server.find
        assert await history.cluster.wait_for(
            lambda: found("pods", "hello-hook", namespace="elsewhere") is not None, seconds=60.0
        )
        waiting = {"phase": "Pending", "containerStatuses": [{"name": "main", "state": {"waiting": PULL}}]}
        history.cluster.server.patch(elsewhere, {"status": waiting})
        await history.cluster.wait(7.0)
        assert message_of(history, "Ready") == (told if forbidden else f"{told}: {PULL_CAUSE}")
        assert hook_of_attempt(history) is None
        history.delete()

    run_history(settings, play)


def test_the_hook_that_runs_now_is_named(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, "a", "b", "c", seconds="8s")
        await wait_hook(history, "hello-b")
        told: set[str] = set()
        while history.outcome != "Ready InstallSucceeded":
            told.add(message_of(history, "Reconciling").rpartition("hook Pod ")[2].partition(":")[0])
            await history.cluster.wait(1.0)
        assert {"hello-a", "hello-b"} <= told

    run_history(settings, play)


def test_a_failed_hook_is_named_with_what_was_seen_of_its_pod(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, **FAILS, seconds="1s")  # the watch has not shown the record (LAG_SECONDS)
        assert await history.cluster.wait_for(lambda: "Failed" in history.outcome, seconds=60.0)
        assert hook_of_attempt(history) == {"kind": "Pod", "name": "hello-hook"}
        await history.cluster.wait(2.0)
        history.delete()

    history = run_history(settings, play)
    (first, *_) = warnings(history)
    assert first == (
        "InstallFailed",
        f"hook Pod ns/hello-hook failed (Pod failed): check the logs of its pods; last seen: {ENDED_CAUSE}",
    )


@pytest.mark.parametrize("policy", ["hook-failed", "before-hook-creation"])
def test_what_was_seen_before_the_pod_was_deleted_is_kept(settings: Settings, policy: str) -> None:
    async def play(history: History) -> None:
        deploy(history, **FAILS, seconds="12s", policy=policy)
        await wait_hook(history)
        set_waiting(history, PULL)
        assert await history.cluster.wait_for(lambda: bool(warnings(history)), seconds=60.0)
        history.delete()

    history = run_history(settings, play)
    (_, message), *_ = warnings(history)
    assert message.partition("last seen: ")[2] == (PULL_CAUSE if policy == "hook-failed" else ENDED_CAUSE)


def test_what_was_seen_of_an_earlier_hook_is_not_said_of_the_one_that_failed(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, "a", "b", seconds="7s", policy="hook-failed")
        await wait_hook(history, "hello-a")
        set_waiting(history, PULL, "hello-a")
        await wait_hook(history, "hello-b")
        failing = {"metadata": {"labels": {"xapp-operator.io/test-fail": "Error"}}}
        history.cluster.server.patch(Target("", "v1", "pods", NAMESPACE, "hello-b"), failing)
        assert await history.cluster.wait_for(lambda: bool(warnings(history)), seconds=60.0)
        history.delete()

    history = run_history(settings, play)
    (_, message), *_ = warnings(history)
    assert message == "hook Pod ns/hello-b failed (Pod failed): check the logs of its pods"


def test_a_hook_that_does_not_end_is_named_after_the_timeout(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, seconds="10000s")
        history.edit(timeout="20s")
        await wait_hook(history)
        set_waiting(history, PULL)
        assert await history.cluster.wait_for(lambda: bool(warnings(history)), seconds=60.0)
        history.delete()

    history = run_history(settings, play)
    (reason, message), *_ = warnings(history)
    assert reason == "InstallFailed"
    assert message == (
        "hook Pod ns/hello-hook did not finish within the timeout (InProgress): check its pods, or raise spec.timeout; "
        f"last seen: {PULL_CAUSE}"
    )


def test_a_timeout_without_a_hook_is_told_as_helm_tells_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.faults = [Fault("context deadline exceeded", writes=2)]
        history.create(tag="one")
        assert await history.cluster.wait_for(lambda: bool(warnings(history)), seconds=60.0)
        assert hook_of_attempt(history) is None

    history = run_history(settings, play)
    assert warnings(history)[0] == ("InstallFailed", "context deadline exceeded")


def test_another_failure_names_no_hook(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, seconds="7s")
        await history.cluster.wait(30.0)
        history.cluster.helm.refusals['{"seconds": "8s", "tag": "two"}'] = Fault("no answer", writes=5)
        history.edit(values={"tag": "two", "seconds": "8s"})
        assert await history.cluster.wait_for(lambda: bool(warnings(history)), seconds=60.0)
        assert hook_of_attempt(history) is None
        history.set_tag("three")

    history = run_history(settings, play)
    assert warnings(history)[0] == ("UpgradeFailed", "no answer")


def test_a_hook_whose_pod_may_not_be_read_is_waited_for_all_the_same(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_pods(monkeypatch)

    async def play(history: History) -> None:
        deploy(history)
        await wait_hook(history)
        await history.cluster.wait(20.0)
        assert message_of(history, "Ready") == "helm is installing the chart"
        assert await history.cluster.wait_for(lambda: history.outcome == "Ready InstallSucceeded", seconds=60.0)

    assert warnings(run_history(settings, play)) == []


def test_an_unexpected_exception_in_a_report_does_not_end_the_step(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(hook_reporting, "find_hook_pod", fail)

    async def play(history: History) -> None:
        deploy(history)
        assert await history.cluster.wait_for(lambda: history.outcome == "Ready InstallSucceeded", seconds=60.0)
        assert all("reporting a hook failed unexpectedly" in each for each in history.unexpected)
        assert len(history.unexpected) == 3  # after 5, 15 and 35 seconds
        history.unexpected.clear()

    assert warnings(run_history(settings, play)) == []


def test_a_change_that_a_report_has_returned_is_known_when_the_step_ends(settings: Settings) -> None:
    """No watch has shown it yet, but an XApp is not called Ready for a spec that is known to be outdated."""
    ready: set[int] = set()

    async def play(history: History) -> None:
        def note(plural: str, body: Json) -> None:
            found = body["status"]["conditions"] if plural == "xapps" else []
            ready.update(each["observedGeneration"] for each in found if (each["type"], each["status"]) == READY)

        deploy(history, seconds="8s")
        await wait_hook(history)
        await history.cluster.wait(3.0)  # until the status tells that helm runs
        history.cluster.server.on_stored.append(note)
        history.cluster.server.lag = 90.0
        history.edit(values={"tag": "two", "seconds": "0s"})
        assert await history.cluster.wait_for(lambda: len(history.helm_steps) == 2, seconds=20.0)

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert ready == {2}
