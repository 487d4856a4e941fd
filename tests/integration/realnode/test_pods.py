"""Containers on the real node run, answer and fail as on any node."""

import json
import signal
import urllib.request
from typing import Any

import pytest

from tests.integration.realnode.pods import (
    create,
    pod,
    reason,
    service,
    wait_ready,
    wait_state,
)
from tests.localcluster import Cluster, KubectlFailed, LocalCluster
from tests.localcluster.realnode.node import NODE_LABELS, NODE_NAME, NODE_TAINT
from tests.localcluster.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def test_the_node_is_ready_tainted_labelled_and_has_the_address_of_the_cluster(real_cluster: Cluster) -> None:
    def only_tainted_as_real() -> dict[str, Any] | None:
        node: dict[str, Any] = json.loads(real_cluster.kubectl("get", "node", NODE_NAME, "-o", "json"))
        # the not-ready taint is removed some moments after the node is ready
        taints = [(taint["key"], taint["effect"]) for taint in node["spec"]["taints"]]
        return node if taints == [(NODE_TAINT, "NoSchedule")] else None

    node = wait_until(only_tainted_as_real, timeout=60.0, what="the node's taints")

    conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert node["metadata"]["labels"].items() >= NODE_LABELS.items()
    addresses = [item["address"] for item in node["status"]["addresses"] if item["type"] == "InternalIP"]
    assert addresses == [real_cluster.node_address]


def test_pods_are_simulated_unless_they_request_the_real_node(real_cluster: Cluster, own_namespace: str) -> None:
    real_cluster.kubectl("run", "any", "-n", own_namespace, "--image=example.com/xapp:1")

    wait_ready(real_cluster, own_namespace, "any")

    node = real_cluster.kubectl("get", "pod", "any", "-n", own_namespace, "-o", "jsonpath={.spec.nodeName}")
    assert node == "simulated-0"


def test_a_pod_becomes_ready_when_its_probe_succeeds(real_cluster: Cluster, own_namespace: str) -> None:
    create(real_cluster, own_namespace, [pod("web", "serve", probe=True)])

    running = wait_state(real_cluster, own_namespace, "web", lambda state: "running" in (state.get("state") or {}))
    assert not running["ready"]
    wait_ready(real_cluster, own_namespace, "web")


def test_logs_are_read_and_commands_run_in_a_container(real_cluster: Cluster, own_namespace: str) -> None:
    create(real_cluster, own_namespace, [pod("web", "serve", probe=True)])
    wait_ready(real_cluster, own_namespace, "web")

    assert real_cluster.kubectl("logs", "web", "-n", own_namespace) == "serving\n"
    output = real_cluster.kubectl("exec", "web", "-n", own_namespace, "--", "/testpod", "say", "hello", "you")
    assert output == "hello you\n"


def test_a_container_over_its_memory_limit_is_oom_killed(real_cluster: Cluster, own_namespace: str) -> None:
    create(real_cluster, own_namespace, [pod("big", "grow", memory="48Mi")])

    state = wait_state(
        real_cluster,
        own_namespace,
        "big",
        lambda state: "OOMKilled" in {reason(state, "terminated"), reason(state, "terminated", of="lastState")},
    )

    ended = state["state"].get("terminated") or state["lastState"]["terminated"]
    assert ended["exitCode"] == 128 + signal.SIGKILL


def test_a_missing_image_is_a_pull_error(real_cluster: Cluster, own_namespace: str) -> None:
    create(real_cluster, own_namespace, [pod("lost", "serve", image="localhost/missing:1")])

    wait_state(
        real_cluster,
        own_namespace,
        "lost",
        lambda state: reason(state, "waiting") in {"ErrImagePull", "ImagePullBackOff"},
    )


def test_a_crash_loop_shows_exit_code_last_log_line_and_back_off(real_cluster: Cluster, own_namespace: str) -> None:
    create(real_cluster, own_namespace, [pod("bad", "crash")])

    state = wait_state(real_cluster, own_namespace, "bad", lambda state: state.get("restartCount", 0) >= 2)

    assert state["lastState"]["terminated"]["exitCode"] == 7
    assert real_cluster.kubectl("logs", "bad", "-n", own_namespace) == "about to crash\n"
    events = json.loads(real_cluster.kubectl("get", "events", "-n", own_namespace, "-o", "json"))["items"]
    assert "BackOff" in {event["reason"] for event in events}


def test_a_pod_is_reachable_through_every_kind_of_address(real_cluster: Cluster, own_namespace: str) -> None:
    create(
        real_cluster,
        own_namespace,
        [pod("web", "serve", probe=True), pod("other", "serve", probe=True), service("web")],
    )
    wait_ready(real_cluster, own_namespace, "web", "other")
    spec = json.loads(real_cluster.kubectl("get", "service", "web", "-n", own_namespace, "-o", "json"))["spec"]

    def through_api_server() -> str | None:
        try:
            return real_cluster.kubectl(
                "get", "--raw", f"/api/v1/namespaces/{own_namespace}/services/web:http/proxy/ready"
            )
        except KubectlFailed:
            return None

    def through_node_port() -> bytes | None:
        url = f"http://{real_cluster.node_address}:{spec['ports'][0]['nodePort']}/ready"
        try:
            with urllib.request.urlopen(url, timeout=5.0) as answer:
                return bytes(answer.read())
        except OSError:
            return None

    def from_pod(name: str, url: str) -> str | None:
        try:
            return real_cluster.kubectl("exec", name, "-n", own_namespace, "--", "/testpod", "get", url)
        except KubectlFailed:
            return None

    assert wait_until(through_api_server, timeout=30.0, what="the service proxy") == "ready\n"
    assert wait_until(through_node_port, timeout=30.0, what="the node port") == b"ready\n"
    inside = f"http://{spec['clusterIP']}/ready"
    for name in ("web", "other"):
        assert wait_until(lambda: from_pod(name, inside), timeout=30.0, what="the service") == "200 OK\n"  # noqa: B023
    # the API server answers 400 to plain HTTP on its TLS port
    assert from_pod("web", "http://10.96.0.1:443/") == "400 Bad Request\n"


def test_containers_survive_a_kubelet_restart(
    real_node: LocalCluster, real_cluster: Cluster, own_namespace: str
) -> None:
    create(real_cluster, own_namespace, [pod("web", "serve", probe=True)])
    wait_ready(real_cluster, own_namespace, "web")
    before = wait_state(real_cluster, own_namespace, "web", lambda state: bool(state["ready"]))

    real_node.stop_process("kubelet")
    with pytest.raises(KubectlFailed):
        real_cluster.kubectl("logs", "web", "-n", own_namespace)
    real_node.start_process("kubelet")

    def logs() -> str | None:
        try:
            return real_cluster.kubectl("logs", "web", "-n", own_namespace)
        except KubectlFailed:
            return None

    assert wait_until(logs, timeout=60.0, what="the kubelet") == "serving\n"
    after = wait_state(real_cluster, own_namespace, "web", lambda state: bool(state["ready"]))
    assert (after["containerID"], after["restartCount"]) == (before["containerID"], 0)


def test_containers_survive_a_containerd_restart(
    real_node: LocalCluster, real_cluster: Cluster, own_namespace: str
) -> None:
    create(real_cluster, own_namespace, [pod("web", "serve", probe=True)])
    wait_ready(real_cluster, own_namespace, "web")

    real_node.stop_process("containerd")
    with pytest.raises(KubectlFailed):
        real_cluster.kubectl("exec", "web", "-n", own_namespace, "--", "/testpod", "say", "back")
    real_node.start_process("containerd")

    def output_or_none() -> str | None:
        try:
            return real_cluster.kubectl("exec", "web", "-n", own_namespace, "--", "/testpod", "say", "back")
        except KubectlFailed:
            return None

    assert wait_until(output_or_none, timeout=60.0, what="containerd") == "back\n"
    state = wait_state(real_cluster, own_namespace, "web", lambda state: bool(state["ready"]))
    assert state["restartCount"] == 0
