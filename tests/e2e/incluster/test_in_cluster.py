"""Operator and gateway as pods: rights, probes, logs, restarts and a clean end, with real containers."""

import json
from typing import Any

import httpx
import pytest

from tests.e2e.incluster.caller import NAMESPACE, Caller, Watcher
from tests.e2e.incluster.system import COMPONENTS, DEADLINE_SECONDS, System
from tests.e2e.incluster.xapp import running_chart
from tests.localcluster import KubectlFailed
from tests.localcluster.realnode.node import NAME
from tests.localcluster.waiting import wait_until
from tests.localrun.provision import SYSTEM_NAMESPACE
from tests.support.audit import audited
from tests.support.charts import chart_archive

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PYTHON = "/opt/xapp-operator/bin/python3"
DEPLOYER = f"system:serviceaccount:{NAMESPACE}:xapp-deployer"
XAPPS_AT_LEAST = 6
XAPPS_AT_MOST = 40


def test_pods_are_restricted_have_no_right_too_many_and_log_json(system: System) -> None:
    level = system.cluster.kubectl(
        "get", "namespace", SYSTEM_NAMESPACE, "-o", r"jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}"
    )
    assert level == "restricted"
    for component in COMPONENTS:
        pods = system.pods(component)
        assert len(pods) == 2
        for pod in pods:
            name = pod["metadata"]["name"]
            lines = [json.loads(line) for line in system.log_lines(name)]
            assert lines
            assert all({"level", "message", "timestamp"} <= line.keys() for line in lines)
        assert python(system, name, "import os; print(os.getuid())") == "65532\n"
        with pytest.raises(KubectlFailed, match="Read-only file system"):
            python(system, name, "open('/opt/file', 'w')")
        account = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{pod['spec']['serviceAccountName']}"
        assert not may_do_everything(system, account)


def test_an_uploaded_chart_runs_as_pods_and_is_installed_as_the_deployer(system: System, jane: Caller) -> None:
    address = jane.http.base_url.join("/api/xapps")
    unknown = httpx.get(address, trust_env=False, timeout=DEADLINE_SECONDS)
    assert unknown.status_code == httpx.codes.UNAUTHORIZED
    with Caller.with_rights(system, "joe", role=None) as joe:
        assert joe.upload("runs", running_chart()).status_code == httpx.codes.FORBIDDEN

    answer = jane.upload("runs", running_chart())

    assert answer.status_code == httpx.codes.ACCEPTED, answer.text
    records = jane.wait_ready("acme-ran-runs")
    assert records["acme-ran-runs"]["release"]["chart"] == "runs"
    (pod,) = json.loads(system.cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == (NAME, "Running")
    installed_by = {
        (event["user"]["username"], event.get("impersonatedUser", {}).get("username"))
        for event in events_of(system)
        if event["verb"] in {"create", "patch"} and event["objectRef"].get("resource") == "deployments"
        if event["objectRef"].get("namespace") == NAMESPACE and event["user"]["username"].endswith("xapp-operator")
    }
    assert forbidden(system) == []
    assert installed_by == {(f"system:serviceaccount:{SYSTEM_NAMESPACE}:xapp-operator", DEPLOYER)}


def test_the_gateway_reaches_an_xapp_by_its_service(system: System, jane: Caller) -> None:
    assert jane.upload("runs", running_chart()).status_code == httpx.codes.ACCEPTED
    jane.wait_ready("acme-ran-runs")
    path = f"/api/xapps/{NAMESPACE}/acme-ran-runs/api/ready"

    def asked() -> bool:
        answer = jane.http.get(path)
        return answer.status_code == httpx.codes.OK and answer.headers["content-security-policy"] == "sandbox"

    wait_until(asked, timeout=DEADLINE_SECONDS, what="an answer of the xApp", interval=0.5)
    through_the_api_server = [
        event for event in events_of(system) if event.get("objectRef", {}).get("subresource") == "proxy"
    ]
    assert through_the_api_server == []


def test_rolling_restarts_lose_no_xapp_and_no_request(system: System, jane: Caller) -> None:
    archive = chart_archive()
    leader = wait_until(system.leader, timeout=DEADLINE_SECONDS, what="a leader")
    before = {pod["metadata"]["name"] for component in COMPONENTS for pod in system.pods(component)}
    created: list[str] = []
    watcher = Watcher(jane.http)

    with watcher.watching():
        for component in COMPONENTS:
            system.kubectl("rollout", "restart", system.deployment(component))
        while len(created) < XAPPS_AT_LEAST or (before & running(system) and len(created) < XAPPS_AT_MOST):
            answer = jane.upload(f"x{len(created)}", archive)
            assert answer.status_code == httpx.codes.ACCEPTED, answer.text
            created.append(f"acme-ran-x{len(created)}")
        system.settle()
        records = jane.wait_ready(*created)
        wait_until(lambda: before.isdisjoint(system.all_pods()), timeout=DEADLINE_SECONDS, what="old pods to be gone")

    assert sorted(records) == sorted(created)
    assert watcher.failed == []
    assert watcher.answered
    now = {pod["metadata"]["name"] for pod in system.pods("operator")}
    assert now.isdisjoint(before)
    assert wait_until(system.leader, timeout=DEADLINE_SECONDS, what="a leader") in now - {leader}


def test_a_killed_operator_is_started_again_and_work_goes_on(system: System, jane: Caller) -> None:
    leader = wait_until(system.leader, timeout=DEADLINE_SECONDS, what="a leader")
    restarts = restarts_of(system, leader)

    system.kill(leader)

    assert jane.upload("after", chart_archive()).status_code == httpx.codes.ACCEPTED
    jane.wait_ready("acme-ran-after")
    wait_until(lambda: restarts_of(system, leader) > restarts, timeout=DEADLINE_SECONDS, what="the container")
    system.settle()


def test_memory_in_use_is_less_than_half_of_the_limit(system: System, jane: Caller) -> None:
    assert jane.upload("small", chart_archive()).status_code == httpx.codes.ACCEPTED
    jane.wait_ready("acme-ran-small")

    used = system.memory()

    for component in COMPONENTS:
        for pod in system.pods(component):
            limit = pod["spec"]["containers"][0]["resources"]["limits"]["memory"]
            assert used[pod["metadata"]["name"]] < int(limit.removesuffix("Gi")) * 2**30 / 2


def test_nothing_is_left_of_an_uninstalled_system(system: System, bare: tuple[System, set[str]]) -> None:
    _, before = bare
    with Caller.with_rights(system, "jane", role="edit") as jane:
        assert jane.upload("last", running_chart()).status_code == httpx.codes.ACCEPTED
        jane.wait_ready("acme-ran-last")
    assert system.containers()
    assert system.objects() - before

    system.uninstall()

    wait_until(lambda: system.objects() <= before, timeout=DEADLINE_SECONDS, what="objects to be gone", interval=1.0)
    wait_until(lambda: not system.containers(), timeout=DEADLINE_SECONDS, what="containers to be gone", interval=1.0)


def python(system: System, pod: str, code: str) -> str:
    """Run Python in the container of a pod."""
    return system.kubectl("exec", pod, "--", PYTHON, "-c", code)


def may_do_everything(system: System, account: str) -> bool:
    """Ask the API server whether an account is an administrator of the cluster."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account, "resourceAttributes": {"verb": "*", "group": "*", "resource": "*"}},
    }
    answer = system.cluster.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(review))
    return bool(json.loads(answer)["status"]["allowed"])


def running(system: System) -> set[str]:
    """Return the names of all pods of the system that are not going away."""
    return {pod["metadata"]["name"] for component in COMPONENTS for pod in system.pods(component)}


def restarts_of(system: System, pod: str) -> int:
    """Return how many times the container of an operator's pod was started again."""
    (found,) = (item for item in system.pods("operator") if item["metadata"]["name"] == pod)
    return int(found["status"]["containerStatuses"][0]["restartCount"])


def forbidden(system: System) -> list[tuple[str, str, str]]:
    """Return what the accounts of the system wanted to do and had no right to."""
    own = f"system:serviceaccount:{SYSTEM_NAMESPACE}:"
    return [
        (event["user"]["username"], event["verb"], event["requestURI"])
        for event in events_of(system)
        if event["user"]["username"].startswith(own)
        and event.get("responseStatus", {}).get("code") == httpx.codes.FORBIDDEN
    ]


def events_of(system: System) -> list[dict[str, Any]]:
    """Return the events of the audit log."""
    log = system.cluster.audit_log
    assert log is not None
    return audited(log)
