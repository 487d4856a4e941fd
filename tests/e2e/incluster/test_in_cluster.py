"""Operator and gateway as pods: permissions, logs, restarts and uninstallation, with real containers."""

import json

import httpx
import pytest

from tests.e2e.incluster.caller import NAMESPACE, Caller, ListPoller
from tests.e2e.incluster.installation import COMPONENTS, DEADLINE_SECONDS, Installation
from tests.e2e.incluster.xapp_chart import running_chart
from tests.localcluster import KubectlFailed
from tests.localcluster.realnode.node import NODE_NAME
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE
from tests.support.charts import chart_archive

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PYTHON = "/opt/xapp-operator/bin/python3"
DEPLOYER = f"system:serviceaccount:{NAMESPACE}:xapp-deployer"
READ_TOKEN = """\
import asyncio, shutil
from pathlib import Path
from xapp_operator.common.bounded_process import Command, ProcessLimits, run_process
from xapp_operator.common.sandbox import Sandbox
from xapp_operator.common.sandboxed_exec import landlock_version
token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
arguments = ("show", "chart", token)
command = Command(program=shutil.which("helm"), arguments=arguments, environment={}, working_folder=Path("/tmp"))
limits = ProcessLimits(timeout_seconds=30, grace_seconds=0, memory_bytes=2**28, stdout_bytes=2**16)
for each in (command, Sandbox(landlock_version=landlock_version()).restrict(command)):
    print(asyncio.run(run_process(each, limits=limits)).stderr.strip().replace("\\n", " "))
"""
"""helm takes the token for a chart, without and with the sandbox of renderings."""
XAPPS_AT_LEAST = 6
XAPPS_AT_MOST = 40
UNITS = {"Mi": 2**20, "Gi": 2**30}


def test_pods_are_restricted_have_no_admin_rights_and_log_json(installation: Installation) -> None:
    level = installation.cluster.kubectl(
        "get", "namespace", SYSTEM_NAMESPACE, "-o", r"jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}"
    )
    assert level == "restricted"
    for component in COMPONENTS:
        pods = installation.pods(component)
        assert len(pods) == 2
        for pod in pods:
            name = pod["metadata"]["name"]
            lines = [json.loads(line) for line in installation.log_lines(name)]
            assert lines
            assert all({"level", "message", "timestamp"} <= line.keys() for line in lines)
        assert run_python(installation, name, "import os; print(os.getuid())") == "65532\n"
        with pytest.raises(KubectlFailed, match="Read-only file system"):
            run_python(installation, name, "open('/opt/file', 'w')")
        account = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{pod['spec']['serviceAccountName']}"
        assert not is_cluster_admin(installation, account)


def test_a_rendering_cannot_read_the_token_of_the_pod(installation: Installation) -> None:
    gateway = installation.pods("gateway")[0]["metadata"]["name"]
    free, sandboxed = run_python(installation, gateway, READ_TOKEN).splitlines()
    assert "permission denied" not in free
    assert "permission denied" in sandboxed


def test_an_uploaded_chart_runs_as_pods_and_is_installed_as_the_deployer(
    installation: Installation, jane: Caller
) -> None:
    address = jane.http.base_url.join("/api/xapps")
    unknown = httpx.get(address, trust_env=False, timeout=DEADLINE_SECONDS)
    assert unknown.status_code == httpx.codes.UNAUTHORIZED
    with Caller.with_role(installation, "joe", role=None) as joe:
        assert joe.upload("runs", running_chart()).status_code == httpx.codes.FORBIDDEN

    answer = jane.upload("runs", running_chart())

    assert answer.status_code == httpx.codes.ACCEPTED, answer.text
    records = jane.wait_ready("acme-ran-runs")
    assert records["acme-ran-runs"]["release"]["chart"] == "runs"
    (pod,) = json.loads(installation.cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == (NODE_NAME, "Running")
    installed_by = {
        (event["user"]["username"], event.get("impersonatedUser", {}).get("username"))
        for event in installation.audit_events()
        if event["verb"] in {"create", "patch"} and event["objectRef"].get("resource") == "deployments"
        if event["objectRef"].get("namespace") == NAMESPACE and event["user"]["username"].endswith("xapp-operator")
    }
    assert installation.forbidden_requests() == []
    assert installed_by == {(f"system:serviceaccount:{SYSTEM_NAMESPACE}:xapp-operator", DEPLOYER)}


def test_the_gateway_proxies_to_an_xapps_service(installation: Installation, jane: Caller) -> None:
    assert jane.upload("runs", running_chart()).status_code == httpx.codes.ACCEPTED
    jane.wait_ready("acme-ran-runs")
    path = f"/api/xapps/{NAMESPACE}/acme-ran-runs/api/ready"

    def responds() -> bool:
        answer = jane.http.get(path)
        return answer.status_code == httpx.codes.OK and answer.headers["content-security-policy"] == "sandbox"

    wait_until(responds, timeout=DEADLINE_SECONDS, what="an answer of the xApp", interval=0.5)
    through_the_api_server = [
        event for event in installation.audit_events() if event.get("objectRef", {}).get("subresource") == "proxy"
    ]
    assert through_the_api_server == []


def test_rolling_restarts_lose_no_xapp_and_no_request(installation: Installation, jane: Caller) -> None:
    archive = chart_archive()
    leader = wait_until(installation.leader, timeout=DEADLINE_SECONDS, what="a leader")
    before = {pod["metadata"]["name"] for component in COMPONENTS for pod in installation.pods(component)}
    created: list[str] = []
    watcher = ListPoller(jane.http)

    with watcher.polling():
        for component in COMPONENTS:
            installation.kubectl("rollout", "restart", installation.deployment(component))
        while len(created) < XAPPS_AT_LEAST or (before & running_pods(installation) and len(created) < XAPPS_AT_MOST):
            answer = jane.upload(f"x{len(created)}", archive)
            assert answer.status_code == httpx.codes.ACCEPTED, answer.text
            created.append(f"acme-ran-x{len(created)}")
        installation.wait_rolled_out()
        records = jane.wait_ready(*created)
        wait_until(
            lambda: before.isdisjoint(installation.all_pods()), timeout=DEADLINE_SECONDS, what="old pods to be gone"
        )

    assert sorted(records) == sorted(created)
    assert watcher.failed == []
    assert watcher.answered
    now = {pod["metadata"]["name"] for pod in installation.pods("operator")}
    assert now.isdisjoint(before)
    assert wait_until(installation.leader, timeout=DEADLINE_SECONDS, what="a leader") in now - {leader}


def test_a_killed_operator_is_restarted_and_continues(installation: Installation, jane: Caller) -> None:
    leader = wait_until(installation.leader, timeout=DEADLINE_SECONDS, what="a leader")
    restarts = restart_count(installation, leader)

    installation.kill(leader)

    assert jane.upload("after", chart_archive()).status_code == httpx.codes.ACCEPTED
    jane.wait_ready("acme-ran-after")
    wait_until(lambda: restart_count(installation, leader) > restarts, timeout=DEADLINE_SECONDS, what="the container")
    installation.wait_rolled_out()


def test_memory_in_use_is_less_than_half_of_the_limit(installation: Installation, jane: Caller) -> None:
    assert jane.upload("small", chart_archive()).status_code == httpx.codes.ACCEPTED
    jane.wait_ready("acme-ran-small")

    used = installation.memory()

    for component in COMPONENTS:
        pods = installation.pods(component)
        assert len(pods) == 2
        for pod in pods:
            limit = pod["spec"]["containers"][0]["resources"]["limits"]["memory"]
            assert used[pod["metadata"]["name"]] < int(limit[:-2]) * UNITS[limit[-2:]] / 2


def test_uninstalling_leaves_no_objects_and_no_containers(
    installation: Installation, empty_cluster: tuple[Installation, set[str]]
) -> None:
    _, before = empty_cluster
    with Caller.with_role(installation, "jane", role="edit") as jane:
        assert jane.upload("last", running_chart()).status_code == httpx.codes.ACCEPTED
        jane.wait_ready("acme-ran-last")
    assert installation.containers()
    assert installation.objects() - before

    installation.uninstall()

    wait_until(
        lambda: installation.objects() <= before, timeout=DEADLINE_SECONDS, what="objects to be gone", interval=1.0
    )
    wait_until(
        lambda: not installation.containers(), timeout=DEADLINE_SECONDS, what="containers to be gone", interval=1.0
    )


def run_python(installation: Installation, pod: str, code: str) -> str:
    """Run Python in the container of a pod."""
    return installation.kubectl("exec", pod, "--", PYTHON, "-c", code)


def is_cluster_admin(installation: Installation, account: str) -> bool:
    """Return whether an account is an administrator of the cluster."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account, "resourceAttributes": {"verb": "*", "group": "*", "resource": "*"}},
    }
    answer = installation.cluster.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(review))
    return bool(json.loads(answer)["status"]["allowed"])


def running_pods(installation: Installation) -> set[str]:
    """Return the names of all pods of the system that are not being deleted."""
    return {pod["metadata"]["name"] for component in COMPONENTS for pod in installation.pods(component)}


def restart_count(installation: Installation, pod: str) -> int:
    """Return the restart count of the container in an operator's pod."""
    (found,) = (item for item in installation.pods("operator") if item["metadata"]["name"] == pod)
    return int(found["status"]["containerStatuses"][0]["restartCount"])
