"""Failures, and how the operator remediates them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from tests.localcluster.access import KubectlFailed
from tests.support.audit import read_audit_events
from tests.support.operator import OperatorProcess
from tests.support.release_records import set_record_status
from tests.support.workload import HOOK, workload_chart
from tests.support.xapps import XAppClient
from xapp_operator.helm.processes.watchdog_process import processes_in

pytestmark = pytest.mark.integration


def _helm(xapps: XAppClient, *arguments: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(
        [xapps.cluster.helm_path, "-n", xapps.namespace, *arguments],
        env=xapps.cluster.env,
        input=stdin,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def test_operator_killed_during_an_install_and_started_again_ends_ready(
    xapps: XAppClient, operator: OperatorProcess
) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), values={"hookSeconds": "6s"}))
    xapps.wait_until(lambda: xapps.names("job") == ["hello-prepare"], what="the install to run its hook", xapp="hello")
    operator.kill()
    operator.start()
    status = xapps.wait_ready("hello", seconds=120)
    assert status["phase"] == "Deployed"
    assert xapps.helm_releases()["hello"]["status"] == "deployed"


def test_newer_generation_ends_a_running_install(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"hookSeconds": "600s"})
    xapps.apply(manifest)
    xapps.wait_until(lambda: xapps.names("job") == ["hello-prepare"], what="the install to run its hook", xapp="hello")
    manifest["spec"]["values"] = {"greeting": "newer"}
    xapps.apply(manifest)
    xapps.wait_ready("hello", seconds=60)
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "newer"


def test_deletion_ends_a_running_install(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), values={"hookSeconds": "600s"}))
    xapps.wait_until(lambda: xapps.names("job") == ["hello-prepare"], what="the install to run its hook", xapp="hello")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.helm_releases() == {}


def test_pending_release_of_the_operator_is_unlocked(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    set_record_status(xapps, "hello", 1, "pending-upgrade")
    xapps.wait_until(
        lambda: xapps.helm_releases().get("hello", {}).get("status") == "deployed", what="the release to be whole again"
    )
    xapps.wait_ready("hello")
    events = json.loads(xapps.kubectl("get", "events", "-o", "json"))["items"]
    assert any(event["reason"] == "Unlocked" for event in events)


def test_release_installed_by_a_person_is_untouched_without_adopt(xapps: XAppClient, tmp_path: Any) -> None:
    chart = tmp_path / "chart.tgz"
    chart.write_bytes(workload_chart())
    _helm(xapps, "install", "hello", str(chart))
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "taken"})
    xapps.apply(manifest)
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "AccessDenied"
    assert "adopt: true" in stalled["message"]
    assert xapps.helm_releases()["hello"]["revision"] == "1"
    manifest["spec"]["adopt"] = True
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["revision"] == 2


def test_deleting_an_xapp_does_not_touch_the_release_of_a_person(xapps: XAppClient, tmp_path: Any) -> None:
    chart = tmp_path / "chart.tgz"
    chart.write_bytes(workload_chart())
    _helm(xapps, "install", "hello", str(chart))
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_stalled("hello")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.helm_releases()["hello"]["status"] == "deployed"


def test_release_of_another_xapp_is_untouched(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("first", workload_chart()))
    xapps.wait_ready("first")
    xapps.apply(xapps.uploaded_manifest("second", workload_chart(), releaseName="first", adopt=True))
    assert "first" in xapps.wait_stalled("second")["message"]
    xapps.kubectl("delete", "xapp", "second", "--timeout=60s")
    assert xapps.helm_releases()["first"]["revision"] == "1"


def test_permanently_failed_upgrade_is_rolled_back_and_stalled(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "good"})
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    bad = "apiVersion: v1\nkind: Service\nmetadata: {name: hello}\nspec: {ports: [{name: http, port: 99999}]}\n"
    xapps.apply(
        xapps.uploaded_manifest("hello", workload_chart(version="0.2.0", templates__service=bad), version="0.2.0")
    )
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "UpgradeFailed"
    assert "spec.ports[0].port" in stalled["message"]
    assert "rolled back" in stalled["message"]
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "good"
    assert xapps.helm_releases()["hello"]["status"] == "deployed"


def test_upgrade_that_never_becomes_healthy_is_rolled_back(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "good"}, timeout="5s")
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["values"] = {"greeting": "bad", "fail": "CrashLoopBackOff"}
    xapps.apply(manifest)
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "HealthCheckFailed"
    assert "CrashLoopBackOff" in stalled["message"]
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "good"
    xapps.wait_until(
        lambda: _known_health(xapps) == {3: True, 2: False, 1: True}, what="the health of the revisions", xapp="hello"
    )
    manifest["spec"]["values"] = {"greeting": "better"}
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    assert _known_health(xapps) == {4: True, 3: True, 2: False, 1: True}


def _known_health(xapps: XAppClient) -> dict[int, bool | None]:
    return {each["revision"]: each.get("wasHealthy") for each in xapps.status("hello")["history"]}


def test_without_a_revision_that_ever_was_healthy_an_upgrade_is_not_rolled_back(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"fail": "CrashLoopBackOff"}, timeout="3s")
    xapps.apply(manifest)
    xapps.wait_until(
        lambda: (xapps.current_condition("hello", "Ready") or {}).get("reason") == "HealthCheckFailed",
        what="the failure to show",
        xapp="hello",
    )
    manifest["spec"]["values"] = {"fail": "ErrImagePull"}
    xapps.apply(manifest)
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "HealthCheckFailed"
    assert "ErrImagePull" in stalled["message"]
    assert "none of the earlier revisions was ever healthy" in stalled["message"]
    assert _known_health(xapps) == {2: False, 1: False}

    # A permanent failure of helm leaves nothing to return to either.
    bad = "apiVersion: v1\nkind: Service\nmetadata: {name: hello}\nspec: {ports: [{name: http, port: 99999}]}\n"
    chart = workload_chart(version="0.2.0", templates__service=bad)
    xapps.apply(xapps.uploaded_manifest("hello", chart, version="0.2.0", timeout="3s"))
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "UpgradeFailed"
    assert "spec.ports[0].port" in stalled["message"]
    assert "none of the earlier revisions was ever healthy" in stalled["message"]
    assert xapps.helm_releases()["hello"]["status"] == "failed"

    manifest["spec"]["values"] = {"greeting": "good"}
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["revision"] == 4


def test_failed_upgrade_stays_when_rollback_is_disabled(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), timeout="5s", upgrade={"onFailure": "none"})
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["values"] = {"fail": "CrashLoopBackOff"}
    xapps.apply(manifest)
    xapps.wait_stalled("hello")
    assert xapps.helm_releases()["hello"]["revision"] == "2"


@pytest.mark.parametrize("failure", ["CrashLoopBackOff", "ErrImagePull", "OOMKilled"])
def test_first_install_that_never_becomes_healthy_names_the_root_cause(xapps: XAppClient, failure: str) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), values={"fail": failure}, timeout="3s"))
    xapps.wait_until(
        lambda: (xapps.current_condition("hello", "Ready") or {}).get("reason") == "HealthCheckFailed",
        what="the failure to show",
        xapp="hello",
    )
    ready = xapps.current_condition("hello", "Ready")
    assert ready is not None
    assert ready["status"] == "False"
    assert failure in ready["message"]
    assert "main" in ready["message"]
    assert xapps.helm_releases()["hello"]["revision"] == "1"
    assert xapps.status("hello")["phase"] == "Degraded"


def test_during_a_rollout_the_cause_is_that_of_the_new_pods(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"fail": "CrashLoopBackOff"}, timeout="3s")
    xapps.apply(manifest)

    def wait_cause(reason: str) -> None:
        xapps.wait_until(
            lambda: reason in xapps.status("hello").get("health", {}).get("message", ""),
            what=f"the cause {reason}",
            xapp="hello",
        )

    wait_cause("CrashLoopBackOff")
    manifest["spec"]["values"] = {"fail": "ErrImagePull"}
    xapps.apply(manifest)
    # The old pod has restarts and stays until the new one is ready, which never happens.
    wait_cause("ErrImagePull")


def test_rollback_to_is_done_once_and_held_until_the_spec_changes(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "one"})
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["values"] = {"greeting": "two"}
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/rollback-to=1")
    xapps.wait_until(lambda: xapps.status("hello").get("heldRevision") == 1, what="the rollback", xapp="hello")
    status = xapps.wait_ready("hello")
    assert status["release"]["revision"] == 3
    assert status["history"][0]["description"] == "Rollback to 1"
    message = next(each["message"] for each in status["conditions"] if each["type"] == "Ready")
    assert "held" in message
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert found["data"]["greeting"] == "one"
    manifest["spec"]["values"] = {"greeting": "three"}
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["revision"] == 4


@pytest.mark.parametrize("victim", ["helm", "operator"])
def test_a_rollback_that_was_killed_still_has_its_revision(
    xapps: XAppClient, operator: OperatorProcess, victim: str
) -> None:
    """Helm prunes the history first. The target is the oldest revision, and spec.maxHistory leaves no room for it."""
    hook = HOOK.replace("pre-install,pre-upgrade", "pre-rollback")
    manifest = xapps.uploaded_manifest("hello", workload_chart(templates__hook=hook), maxHistory=2)
    for revision, greeting in enumerate(("one", "two"), start=1):
        manifest["spec"]["values"] = {"greeting": greeting, "hookSeconds": "4s"}
        xapps.apply(manifest)
        xapps.wait_until(
            lambda revision=revision: xapps.wait_ready("hello")["release"]["revision"] == revision,  # type: ignore[misc]
            what="the revision",
            xapp="hello",
        )
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/rollback-to=1")
    xapps.wait_until(lambda: xapps.names("job") == ["hello-prepare"], what="the hook", xapp="hello")
    if victim == "helm":
        for pid in processes_in(operator.log.parent / "cache" / "helm"):
            os.kill(pid, signal.SIGKILL)
    else:
        operator.kill()
        operator.start()
    xapps.wait_until(
        lambda: (xapps.status("hello").get("handled") or {}).get("rollbackTo") == "1", what="the rollback", xapp="hello"
    )
    xapps.wait_ready("hello")
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert (found["data"]["greeting"], xapps.status("hello")["heldRevision"]) == ("one", 1)
    xapps.wait_until(lambda: len(xapps.names("secret", "owner=helm")) == 2, what="the history to be pruned")


def test_missing_permission_is_named_and_retry_at_starts_another_attempt(xapps: XAppClient) -> None:
    xapps.kubectl("create", "serviceaccount", "weak")
    kinds = "secrets,configmaps,services,chartarchives.xapp-operator.io"
    xapps.kubectl("create", "role", "weak", "--verb=*", f"--resource={kinds}")
    xapps.kubectl("create", "rolebinding", "weak", "--role=weak", f"--serviceaccount={xapps.namespace}:weak")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), serviceAccountName="weak"))
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "AccessDenied"
    assert "deployments" in stalled["message"]
    assert "weak" in stalled["message"]
    xapps.kubectl("create", "role", "more", "--verb=*", "--resource=deployments.apps")
    xapps.kubectl("create", "rolebinding", "more", "--role=more", f"--serviceaccount={xapps.namespace}:weak")
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/retry-at=1")
    xapps.wait_ready("hello")


def test_a_service_account_that_does_not_exist_is_named(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), serviceAccountName="nobody"))
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "AccessDenied"
    missing = f"the service account nobody does not exist in the namespace {xapps.namespace}: create it, or correct "
    assert stalled["message"].startswith(missing)
    xapps.kubectl("create", "serviceaccount", "nobody")
    account = f"--serviceaccount={xapps.namespace}:nobody"
    xapps.kubectl("create", "rolebinding", "nobody", "--clusterrole=admin", account)
    kinds = "chartarchives.xapp-operator.io"
    xapps.kubectl("create", "role", "nobody", "--verb=get,list,watch,patch,update", f"--resource={kinds}")
    xapps.kubectl("create", "rolebinding", "nobody-charts", "--role=nobody", account)
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/retry-at=1")
    xapps.wait_ready("hello")


def test_helm_acts_as_the_service_account(xapps: XAppClient) -> None:
    if xapps.cluster.audit_log is None:
        pytest.skip("only the project's own cluster lets its audit log be read")
    xapps.create_deployer()
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), serviceAccountName="deployer"))
    xapps.wait_ready("hello")
    user = f"system:serviceaccount:{xapps.namespace}:deployer"
    made: set[tuple[str, str]] = set()
    for event in read_audit_events(xapps.cluster.audit_log, containing=xapps.namespace):
        reference = event.get("objectRef", {})
        impersonated = event.get("impersonatedUser", {}).get("username")
        if reference.get("namespace") == xapps.namespace and impersonated == user:
            made.add((event["verb"], reference["resource"]))
    assert {"deployments", "services", "configmaps", "secrets"} <= {resource for _, resource in made}


def test_deleting_the_namespace_with_an_xapp_in_it_ends(xapps: XAppClient) -> None:
    other = f"{xapps.namespace[:50]}-2"
    xapps.cluster.kubectl("create", "namespace", other)
    kit = XAppClient(xapps.cluster, other)
    kit.apply(kit.uploaded_manifest("hello", workload_chart()))
    kit.wait_ready("hello")
    xapps.cluster.kubectl("delete", "namespace", other, "--timeout=60s")
    with pytest.raises(KubectlFailed, match="NotFound"):
        xapps.cluster.kubectl("get", "namespace", other)


def test_lost_health_is_reported_and_recovers_without_a_new_revision(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), timeout="5s"))
    xapps.wait_ready("hello")
    pods = xapps.names("pod", "app=hello")
    xapps.kubectl("label", "pod", pods[0], "xapp-operator.io/test-fail=CrashLoopBackOff")
    xapps.wait_until(
        lambda: (xapps.current_condition("hello", "Ready") or {}).get("status") == "False",
        what="the loss to show",
        xapp="hello",
    )
    xapps.kubectl("delete", "pod", pods[0], "--wait=false")
    xapps.wait_ready("hello")
    assert xapps.helm_releases()["hello"]["revision"] == "1"
