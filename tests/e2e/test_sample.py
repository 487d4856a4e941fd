"""The sample xApp on a real node: installed, called, configured, upgraded, broken and removed."""

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.e2e.sample_xapp import SECONDS, XAPP_NAME, Json, SampleXApp
from tests.localcluster import Cluster, KubectlFailed, LocalCluster
from tests.localcluster.realnode.node import NODE_NAME as NODE
from tests.localcluster.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def test_install_configure_upgrade_and_remove(
    e2e_sample: SampleXApp, e2e_local: LocalCluster, e2e_cluster: Cluster
) -> None:
    e2e_sample.install(greeting="first", service={"type": "NodePort"})
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)

    (pod,) = e2e_sample.pods()
    assert pod["spec"]["nodeName"] == NODE
    assert e2e_sample.get_via_apiserver("/health/ready") == {"status": "ready"}
    assert (
        e2e_sample.get_via_apiserver("/").items() >= {"greeting": "first", "cluster": e2e_cluster.node_address}.items()
    )

    (port,) = (each["nodePort"] for each in e2e_sample.record()["services"][0]["ports"] if each["name"] == "http")
    config = {"periodMilliseconds": 50, "thresholdPercent": 0, "cells": ["far-away"]}
    with httpx.Client(base_url=f"http://{e2e_cluster.node_address}:{port}", trust_env=False, timeout=SECONDS) as xapp:
        wait_until(lambda: is_alive(xapp), timeout=SECONDS, what="the node port", interval=0.2)
        assert xapp.put("/config", json=config).json() == config
        assert xapp.put("/config", json={}).status_code == 422
    wait_until(
        lambda: "far-away" in e2e_sample.xapps.kubectl("logs", f"deployment/{XAPP_NAME}"),
        timeout=SECONDS,
        what="its log",
    )

    e2e_sample.upgrade(greeting="second", service={"type": "NodePort"})
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)
    new = wait_until(
        lambda: e2e_sample.replacement_pod(old_pod=pod), timeout=SECONDS, what="a new pod in the place of the old"
    )
    assert e2e_sample.get_via_apiserver("/")["greeting"] == "second"
    assert e2e_sample.get_via_apiserver("/config") != config

    container = container_of(new)
    assert container in mounts_of_node(e2e_local)
    body = {"name": XAPP_NAME, "namespace": e2e_sample.namespace}
    assert e2e_sample.http.request("DELETE", "/api/deployment/xapp", json=body).status_code == 202
    e2e_sample.xapps.wait_gone("xapp", XAPP_NAME, seconds=SECONDS)
    wait_until(lambda: not e2e_sample.pods(), timeout=SECONDS, what="its pods to go")
    wait_until(lambda: container not in mounts_of_node(e2e_local), timeout=SECONDS, what="its container to go")


def test_a_crash_loop_is_degraded_with_exit_code_and_last_log_line(e2e_sample: SampleXApp) -> None:
    crash = {"afterMilliseconds": 500, "exitCode": 42, "reason": "lost the E2 node"}

    e2e_sample.install(faults={"crash": crash})

    e2e_sample.wait_record(lambda record: record["health"] == "Degraded" and "exit code 42" in record["message"])
    last_entry = wait_until(
        lambda: last_log_entry(e2e_sample), timeout=SECONDS, what="the log of the container that ended"
    )
    assert (last_entry["msg"], last_entry["reason"]) == ("crashed", "lost the E2 node")
    container = wait_until(e2e_sample.crashed_container, timeout=SECONDS, what="the crash in its health", interval=0.2)
    assert (container["reason"], container["exitCode"]) == ("CrashLoopBackOff", 42)
    assert "lost the E2 node" in container["message"]


def test_an_out_of_memory_kill_is_reported(e2e_sample: SampleXApp) -> None:
    e2e_sample.install(faults={"leak": {"megabytesPerSecond": 64, "upToMegabytes": 512}})

    e2e_sample.wait_record(lambda record: record["health"] == "Degraded" and "OOMKilled" in record["message"])


def test_a_failed_image_pull_is_reported(e2e_sample: SampleXApp) -> None:
    e2e_sample.install(image={"repository": "localhost/missing", "tag": "1", "pullPolicy": "IfNotPresent"})

    pull = re.compile("ErrImagePull|ImagePullBackOff")
    e2e_sample.wait_record(lambda record: record["health"] == "Degraded" and bool(pull.search(record["message"])))


def test_the_unready_fault_is_shown_until_it_is_cleared(e2e_sample: SampleXApp) -> None:
    e2e_sample.install()
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)
    (pod,) = e2e_sample.pods()

    e2e_sample.inject_fault(pod, "unready")
    e2e_sample.wait_record(lambda record: not record["ready"])
    e2e_sample.inject_fault(pod, "ready")
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)


def test_the_test_of_the_sample_passes(e2e_sample: SampleXApp) -> None:
    # On a port that differs from that of the container: the test calls the Service, without cluster DNS.
    e2e_sample.install(service={"httpPort": 8181})
    e2e_sample.xapps.wait_ready(XAPP_NAME, seconds=SECONDS)

    path = f"/api/xapps/{e2e_sample.namespace}/{XAPP_NAME}/actions"
    assert e2e_sample.http.post(path, json={"action": "test"}).status_code == 202

    def outcome() -> str | None:
        found = e2e_sample.xapps.status(XAPP_NAME).get("lastTest", {}).get("outcome")
        return found if found in {"Succeeded", "Failed"} else None

    ended = wait_until(outcome, timeout=SECONDS, what="the end of the test")
    assert ended == "Succeeded", e2e_sample.xapps.current_condition(XAPP_NAME, "TestSuccess")


def last_log_entry(sample: SampleXApp) -> Json | None:
    """Return the last log line of the previous container, or None if there is none yet."""
    try:
        lines = sample.xapps.kubectl("logs", f"deployment/{XAPP_NAME}", "--previous").splitlines()
        entry: Json = json.loads(lines[-1])
    except (KubectlFailed, IndexError, json.JSONDecodeError):
        return None  # no previous container yet, or the kubelet is just rotating its log
    return entry


def is_alive(xapp: httpx.Client) -> bool:
    try:
        return xapp.get("/health/alive").is_success
    except httpx.TransportError:
        return False


def mounts_of_node(local: LocalCluster) -> str:
    """Return the mounts of the node; each container has one, with its id in the path."""
    return Path(f"/proc/{local.state().processes['kubelet'].pid}/mountinfo").read_text()


def container_of(pod: Json) -> str:
    (status,) = pod["status"]["containerStatuses"]
    return str(status["containerID"].partition("://")[2])
