"""The tests of a chart run after a deployment and on request, beside everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.audit import read_audit_events
from tests.support.operator import OperatorProcess
from tests.support.release_records import read_record
from tests.support.workload import VALUES, workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

TEST_POD = """\
{{- if .Values.testSeconds }}
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-test
  labels:
    role: test
    {{- with .Values.testFails }}
    xapp-operator.io/test-fail: {{ . }}
    {{- end }}
  annotations:
    helm.sh/hook: test
    {{- with .Values.testPolicy }}
    helm.sh/hook-delete-policy: {{ . }}
    {{- end }}
    xapp-operator.io/test-complete-after: {{ .Values.testSeconds }}
spec:
  restartPolicy: Never
  containers:
    - name: probe
      image: registry.example.com/probe:1
{{- end }}
"""
TESTS: dict[str, Any] = {"enabled": True}


def chart() -> bytes:
    values = f'{VALUES}testSeconds: 0s\ntestFails: ""\ntestPolicy: ""\n'
    return workload_chart(values=values, templates__test=TEST_POD)


def deploy(xapps: XAppClient, *, values: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    manifest = xapps.uploaded_manifest("hello", chart(), values=values or {}, **spec)
    xapps.apply(manifest)
    return manifest


def wait_tested(xapps: XAppClient, outcome: str, *, revision: int = 1, seconds: float = 60) -> dict[str, Any]:
    """Wait until the last run of the tests has the outcome; return its condition."""

    def reached() -> bool:
        last = xapps.status("hello").get("lastTest", {})
        return (last.get("outcome"), last.get("revision")) == (outcome, revision)

    xapps.wait_until(reached, what=f"the tests of revision {revision} to be {outcome}", xapp="hello", seconds=seconds)
    condition = xapps.current_condition("hello", "TestSuccess")
    assert condition is not None
    return condition


def hooks_of_newest_record(xapps: XAppClient, revision: int) -> list[dict[str, Any]]:
    hooks: list[dict[str, Any]] = read_record(xapps, "hello", revision)["hooks"]
    return hooks


def pod_uid(xapps: XAppClient) -> str | None:
    pod = xapps.get("pod", "hello-test")
    return None if pod is None else str(pod["metadata"]["uid"])


def created_test_pods(xapps: XAppClient) -> int:
    """Return how often a test pod was created in the namespace."""
    assert xapps.cluster.audit_log is not None
    pod = {"resource": "pods", "namespace": xapps.namespace, "name": "hello-test"}
    return sum(
        event["verb"] in ("create", "patch") and event["responseStatus"]["code"] == 201
        for event in read_audit_events(xapps.cluster.audit_log, containing="hello-test")
        if pod.items() <= event["objectRef"].items() and "subresource" not in event["objectRef"]
    )


def test_tests_run_once_after_each_install_and_upgrade(xapps: XAppClient) -> None:
    manifest = deploy(xapps, test=TESTS)
    condition = wait_tested(xapps, "Succeeded")
    assert (condition["status"], condition["reason"]) == ("True", "TestSucceeded")
    assert condition["message"] == "1 test of revision 1 passed"
    first = pod_uid(xapps)
    xapps.kubectl("annotate", "xapp", "hello", "xapp-operator.io/reconcile-at=1")
    xapps.wait_until(
        lambda: xapps.status("hello").get("handled", {}).get("reconcileAt") == "1", what="a reconcile", xapp="hello"
    )
    assert pod_uid(xapps) == first
    manifest["spec"]["values"] = {"greeting": "newer"}
    xapps.apply(manifest)
    wait_tested(xapps, "Succeeded", revision=2)
    assert pod_uid(xapps) != first
    assert xapps.status("hello")["lastTest"]["count"] == 1
    reasons = {event["reason"] for event in json.loads(xapps.kubectl("get", "events", "-o", "json"))["items"]}
    assert "TestSucceeded" in reasons
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    xapps.wait_until(lambda: pod_uid(xapps) is None, what="the pod of the test to be deleted")


def test_ready_does_not_wait_for_tests_and_a_failed_one_is_explained(xapps: XAppClient) -> None:
    deploy(xapps, test=TESTS, values={"testFails": "Error"})
    condition = wait_tested(xapps, "Failed")
    assert (condition["status"], condition["reason"]) == ("False", "TestFailed")
    assert condition["message"] == (
        "test Pod hello-test failed: container probe, exit code 1. Its log is with the tests of the xApp, or: "
        f"kubectl logs --namespace={xapps.namespace} hello-test --container=probe"
    )
    status = xapps.wait_ready("hello")
    assert status["phase"] == "Deployed"
    assert status["release"]["revision"] == 1


def test_a_run_that_lasts_leaves_the_xapp_ready_and_is_ended_by_its_removal(xapps: XAppClient) -> None:
    deploy(xapps, test=TESTS, values={"testSeconds": "1h"}, timeout="1h")
    xapps.wait_until(lambda: pod_uid(xapps) is not None, what="the test to run", xapp="hello")
    assert xapps.wait_ready("hello")["lastTest"]["outcome"] == "Running"
    condition = xapps.current_condition("hello", "TestSuccess")
    assert condition is not None
    assert condition["status"] == "Unknown"
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.helm_releases() == {}
    xapps.wait_until(lambda: xapps.names("pods", "role=test") == [], what="the test pod to be deleted")


def test_an_upgrade_ends_the_run_and_the_new_revision_is_tested(xapps: XAppClient) -> None:
    manifest = deploy(xapps, test=TESTS, values={"testSeconds": "1h"}, timeout="1h")
    xapps.wait_until(lambda: pod_uid(xapps) is not None, what="the test to run", xapp="hello")
    manifest["spec"]["values"] = {"testSeconds": "0s"}
    xapps.apply(manifest)
    wait_tested(xapps, "Succeeded", revision=2)


def test_suspending_ends_the_run(xapps: XAppClient) -> None:
    manifest = deploy(xapps, test=TESTS, values={"testSeconds": "1h"}, timeout="1h")
    xapps.wait_until(lambda: pod_uid(xapps) is not None, what="the test to run", xapp="hello")
    xapps.apply({**manifest, "spec": {**manifest["spec"], "suspend": True}})
    condition = wait_tested(xapps, "Interrupted")
    assert condition["status"] == "Unknown"
    xapps.wait_until(lambda: pod_uid(xapps) is None, what="the test pod to be deleted", xapp="hello")


def test_tests_run_on_request_also_when_they_are_not_enabled(xapps: XAppClient) -> None:
    deploy(xapps)
    xapps.wait_ready("hello")
    assert xapps.names("pods", "role=test") == []
    xapps.kubectl("annotate", "xapp", "hello", "xapp-operator.io/test-at=first")
    wait_tested(xapps, "Succeeded")
    assert xapps.status("hello")["handled"]["testAt"] == "first"
    first = pod_uid(xapps)
    xapps.kubectl("annotate", "--overwrite", "xapp", "hello", "xapp-operator.io/test-at=second")
    xapps.wait_until(lambda: pod_uid(xapps) not in (first, None), what="the tests to run again", xapp="hello")
    wait_tested(xapps, "Succeeded")


def test_an_operator_that_was_killed_runs_the_tests_again(xapps: XAppClient, operator: OperatorProcess) -> None:
    # By its policy, helm would take the result of the pod that the killed run has left.
    values = {"testSeconds": "3s", "testPolicy": "hook-succeeded"}
    deploy(xapps, test=TESTS, values=values)
    xapps.wait_until(lambda: pod_uid(xapps) is not None, what="the test to run", xapp="hello")
    first = pod_uid(xapps)
    operator.kill()
    operator.start()
    xapps.wait_until(lambda: pod_uid(xapps) not in (first, None), what="the tests to run again", xapp="hello")
    wait_tested(xapps, "Succeeded")
    assert xapps.status("hello")["lastTest"]["count"] == 2
    assert created_test_pods(xapps) == 2


def test_an_upgrade_whose_tests_fail_is_rolled_back_only_where_the_spec_says_so(xapps: XAppClient) -> None:
    manifest = deploy(xapps, test={**TESTS, "onFailure": "rollback"})
    wait_tested(xapps, "Succeeded")
    manifest["spec"]["values"] = {"testFails": "Error", "greeting": "newer"}
    xapps.apply(manifest)
    xapps.wait_until(
        lambda: xapps.status("hello").get("release", {}).get("revision") == 3, what="the rollback", xapp="hello"
    )
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "TestFailed"
    assert "test Pod hello-test failed: container probe, exit code 1" in stalled["message"]
    assert "rolled back to revision 1" in stalled["message"]
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "hello"
    assert len(hooks_of_newest_record(xapps, 3)) == 1


def test_a_test_that_does_not_end_fails_after_the_timeout_of_the_spec(xapps: XAppClient) -> None:
    deploy(xapps, test=TESTS, values={"testSeconds": "1h"}, timeout="4s")
    condition = wait_tested(xapps, "Failed")
    assert condition["message"].startswith(
        "test Pod hello-test did not finish within spec.timeout (4s). Its log is with the tests of the xApp"
    )
    assert xapps.wait_ready("hello")["release"]["revision"] == 1


def test_a_chart_without_tests_passes(xapps: XAppClient) -> None:
    deploy(xapps, test=TESTS, values={"testSeconds": ""})
    assert wait_tested(xapps, "Succeeded")["message"] == "the chart has no tests"
