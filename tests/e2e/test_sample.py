"""The sample xApp on a real node: installed, asked, changed, upgraded, broken and removed as a user would."""

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.e2e.sample import SECONDS, XAPP, Json, Sample
from tests.localcluster import Cluster, KubectlFailed, LocalCluster
from tests.localcluster.realnode.node import NAME as NODE
from tests.localcluster.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def test_it_runs_answers_changes_and_goes_without_a_trace(
    e2e_sample: Sample, e2e_local: LocalCluster, e2e_cluster: Cluster
) -> None:
    e2e_sample.install(greeting="first", service={"type": "NodePort"})
    e2e_sample.kit.ready(XAPP, seconds=SECONDS)

    (pod,) = e2e_sample.pods()
    assert pod["spec"]["nodeName"] == NODE
    assert e2e_sample.ask("/health/ready") == {"status": "ready"}
    assert e2e_sample.ask("/").items() >= {"greeting": "first", "cluster": e2e_cluster.node_address}.items()

    (port,) = (each["nodePort"] for each in e2e_sample.record()["services"][0]["ports"] if each["name"] == "http")
    config = {"periodMilliseconds": 50, "thresholdPercent": 0, "cells": ["far-away"]}
    with httpx.Client(base_url=f"http://{e2e_cluster.node_address}:{port}", trust_env=False, timeout=SECONDS) as xapp:
        wait_until(lambda: answers(xapp), timeout=SECONDS, what="the node port", interval=0.2)
        assert xapp.put("/config", json=config).json() == config
        assert xapp.put("/config", json={}).status_code == 422
    wait_until(
        lambda: "far-away" in e2e_sample.kit.kubectl("logs", f"deployment/{XAPP}"), timeout=SECONDS, what="its log"
    )

    e2e_sample.upgrade(greeting="second", service={"type": "NodePort"})
    e2e_sample.kit.ready(XAPP, seconds=SECONDS)
    new = wait_until(lambda: e2e_sample.only_pod(but=pod), timeout=SECONDS, what="a new pod in the place of the old")
    assert e2e_sample.ask("/")["greeting"] == "second"
    assert e2e_sample.ask("/config") != config

    container = container_of(new)
    assert container in mounts_of_node(e2e_local)
    body = {"name": XAPP, "namespace": e2e_sample.namespace}
    assert e2e_sample.http.request("DELETE", "/api/deployment/xapp", json=body).status_code == 202
    e2e_sample.kit.gone("xapp", XAPP, seconds=SECONDS)
    wait_until(lambda: not e2e_sample.pods(), timeout=SECONDS, what="its pods to go")
    wait_until(lambda: container not in mounts_of_node(e2e_local), timeout=SECONDS, what="its container to go")


def test_a_crash_loop_is_degraded_and_tells_exit_code_and_last_words(e2e_sample: Sample) -> None:
    crash = {"afterMilliseconds": 500, "exitCode": 42, "reason": "lost the E2 node"}

    e2e_sample.install(faults={"crash": crash})

    e2e_sample.wait_record(lambda record: record["health"] == "Degraded" and "exit code 42" in record["message"])
    said = wait_until(lambda: last_words(e2e_sample), timeout=SECONDS, what="the log of the container that ended")
    assert (said["msg"], said["reason"]) == ("crashed", "lost the E2 node")
    container = wait_until(e2e_sample.crashed_container, timeout=SECONDS, what="the crash in its health", interval=0.2)
    assert (container["reason"], container["exitCode"]) == ("CrashLoopBackOff", 42)
    assert "lost the E2 node" in container["message"]


def test_too_much_memory_is_named_as_such(e2e_sample: Sample) -> None:
    e2e_sample.install(faults={"leak": {"megabytesPerSecond": 64, "upToMegabytes": 512}})

    e2e_sample.wait_record(lambda record: record["health"] == "Degraded" and "OOMKilled" in record["message"])


def test_an_image_that_cannot_be_had_is_named_as_such(e2e_sample: Sample) -> None:
    e2e_sample.install(image={"repository": "localhost/missing", "tag": "1", "pullPolicy": "IfNotPresent"})

    pull = re.compile("ErrImagePull|ImagePullBackOff")
    e2e_sample.wait_record(lambda record: record["health"] == "Degraded" and bool(pull.search(record["message"])))


def test_what_is_told_to_be_unready_is_not_ready_until_it_is_told_otherwise(e2e_sample: Sample) -> None:
    e2e_sample.install()
    e2e_sample.kit.ready(XAPP, seconds=SECONDS)
    (pod,) = e2e_sample.pods()

    e2e_sample.tell(pod, "unready")
    e2e_sample.wait_record(lambda record: not record["ready"])
    e2e_sample.tell(pod, "ready")
    e2e_sample.kit.ready(XAPP, seconds=SECONDS)


def last_words(sample: Sample) -> Json | None:
    """Return the last line of the container before this one, None until there was one."""
    try:
        lines = sample.kit.kubectl("logs", f"deployment/{XAPP}", "--previous").splitlines()
        said: Json = json.loads(lines[-1])
    except (KubectlFailed, IndexError, json.JSONDecodeError):
        return None  # no container before this one yet, or its log is just being put away, as the kubelet then says
    return said


def answers(xapp: httpx.Client) -> bool:
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
