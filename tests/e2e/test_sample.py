"""The sample xApp on a real node: installed, asked, changed, upgraded, broken and removed as a user would."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.localcluster import Cluster, KubectlFailed, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.realnode.node import NAME as NODE
from tests.localcluster.waiting import DeadlineExceeded, wait_until
from tests.localrun.charts import pack
from tests.localrun.samples import ON_REAL_NODE
from tests.support.gateway import Serving
from tests.support.xapps import XAppKit

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

XAPP = "acme-ran-monitor"
SECONDS = 90.0
CHART = pack(ROOT / "manifests" / "samples" / "charts" / "hello-world")
FORM = {
    "xAppName": "monitor",
    "organization": "acme",
    "team": "ran",
    "version": CHART.version,
    "owner": "jane",
    "method": "Upload Chart",
}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """The sample xApp of one test: what a user does with it through the gateway, and what is then there."""

    http: httpx.Client
    kit: XAppKit

    @property
    def namespace(self) -> str:
        return self.kit.namespace

    def install(self, **values: object) -> None:
        self._send("POST", "/api/deployment/xapp", values)

    def upgrade(self, **values: object) -> None:
        self._send("PUT", f"/api/deployment/xapp/{self.namespace}/{XAPP}", values)

    def record(self) -> Json:
        found: Json = self.http.get(f"/api/xapps/{self.namespace}/{XAPP}").raise_for_status().json()
        return found

    def wait_record(self, condition: Callable[[Json], bool]) -> None:
        """Wait until the gateway's record of it satisfies the condition; the failure shows the record."""
        try:
            wait_until(lambda: condition(self.record()), timeout=SECONDS, what="the record", interval=0.2)
        except DeadlineExceeded as error:
            error.add_note(json.dumps(self.record(), indent=2))
            raise

    def ask(self, path: str) -> Json:
        """Ask the xApp through the API server's service proxy, as soon as that knows the way."""
        proxy = f"/api/v1/namespaces/{self.namespace}/services/{XAPP}:http/proxy"

        def answer() -> str | None:
            try:
                return self.kit.cluster.kubectl("get", "--raw", f"{proxy}{path}")
            except KubectlFailed:
                return None

        found: Json = json.loads(wait_until(answer, timeout=SECONDS, what="the service proxy", interval=0.2))
        return found

    def tell(self, pod: Json, fault: str) -> None:
        """Ask a pod for a fault by way of the API server, which knows the way even when it is not ready."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}:8080/proxy/faults/{fault}"
        self.kit.cluster.kubectl("create", "--raw", path, "-f", "-", input="{}")

    def pods(self) -> list[Json]:
        items: list[Json] = json.loads(self.kit.kubectl("get", "pods", "-o", "json"))["items"]
        return items

    def only_pod(self, *, but: Json) -> Json | None:
        """Return the pod that is left when another has gone, None until then."""
        pods = self.pods()
        return pods[0] if len(pods) == 1 and pods[0]["metadata"]["uid"] != but["metadata"]["uid"] else None

    def _send(self, method: str, path: str, values: dict[str, object]) -> None:
        parts: dict[str, tuple[str | None, str | bytes]] = {
            "xAppForm": (None, json.dumps({**FORM, "namespace": self.namespace})),
            "file": (CHART.file_name, CHART.data),
            "values": (None, json.dumps({**ON_REAL_NODE, **values})),
        }
        answer = self.http.request(method, path, files=parts)
        assert answer.status_code == 202, answer.text


@pytest.fixture
def sample(e2e_gateway: Serving, e2e_xapps: XAppKit, sample_image: str) -> Iterator[Sample]:
    assert sample_image
    e2e_xapps.cluster.kubectl(
        "label", "namespace", e2e_xapps.namespace, "pod-security.kubernetes.io/enforce=restricted"
    )
    with e2e_gateway.client() as http:
        yield Sample(http, e2e_xapps)


def test_it_runs_answers_changes_and_goes_without_a_trace(
    sample: Sample, e2e_local: LocalCluster, e2e_cluster: Cluster
) -> None:
    sample.install(greeting="first", service={"type": "NodePort"})
    sample.kit.ready(XAPP, seconds=SECONDS)

    (pod,) = sample.pods()
    assert pod["spec"]["nodeName"] == NODE
    assert sample.ask("/health/ready") == {"status": "ready"}
    assert sample.ask("/").items() >= {"greeting": "first", "cluster": e2e_cluster.node_address}.items()

    (port,) = (each["nodePort"] for each in sample.record()["services"][0]["ports"] if each["name"] == "http")
    config = {"periodMilliseconds": 50, "thresholdPercent": 0, "cells": ["far-away"]}
    with httpx.Client(base_url=f"http://{e2e_cluster.node_address}:{port}", trust_env=False, timeout=SECONDS) as xapp:
        wait_until(lambda: answers(xapp), timeout=SECONDS, what="the node port", interval=0.2)
        assert xapp.put("/config", json=config).json() == config
        assert xapp.put("/config", json={}).status_code == 422
    wait_until(lambda: "far-away" in sample.kit.kubectl("logs", f"deployment/{XAPP}"), timeout=SECONDS, what="its log")

    sample.upgrade(greeting="second", service={"type": "NodePort"})
    sample.kit.ready(XAPP, seconds=SECONDS)
    new = wait_until(lambda: sample.only_pod(but=pod), timeout=SECONDS, what="a new pod in the place of the old")
    assert sample.ask("/")["greeting"] == "second"
    assert sample.ask("/config") != config

    container = container_of(new)
    assert container in mounts_of_node(e2e_local)
    body = {"name": XAPP, "namespace": sample.namespace}
    assert sample.http.request("DELETE", "/api/deployment/xapp", json=body).status_code == 202
    sample.kit.gone("xapp", XAPP, seconds=SECONDS)
    wait_until(lambda: not sample.pods(), timeout=SECONDS, what="its pods to go")
    wait_until(lambda: container not in mounts_of_node(e2e_local), timeout=SECONDS, what="its container to go")


def test_a_crash_loop_is_degraded_and_tells_the_exit_code_and_the_reason(sample: Sample) -> None:
    crash = {"afterMilliseconds": 4000, "exitCode": 42, "reason": "lost the E2 node"}

    sample.install(faults={"crash": crash})

    sample.wait_record(lambda record: record["health"] == "Degraded" and "42" in record["message"])
    said = [json.loads(line) for line in sample.kit.kubectl("logs", f"deployment/{XAPP}", "--previous").splitlines()]
    assert (said[-1]["msg"], said[-1]["reason"]) == ("crashed", "lost the E2 node")


def test_too_much_memory_is_named_as_such(sample: Sample) -> None:
    sample.install(faults={"leak": {"megabytesPerSecond": 64, "upToMegabytes": 512}})

    sample.wait_record(lambda record: "OOMKilled" in record["message"])


def test_an_image_that_cannot_be_had_is_named_as_such(sample: Sample) -> None:
    sample.install(image={"repository": "localhost/missing", "tag": "1", "pullPolicy": "IfNotPresent"})

    sample.wait_record(lambda record: bool(re.search("ErrImagePull|ImagePullBackOff", record["message"])))


def test_what_is_told_to_be_unready_is_not_ready_until_it_is_told_otherwise(sample: Sample) -> None:
    sample.install()
    sample.kit.ready(XAPP, seconds=SECONDS)
    (pod,) = sample.pods()

    sample.tell(pod, "unready")
    sample.wait_record(lambda record: not record["ready"])
    sample.tell(pod, "ready")
    sample.kit.ready(XAPP, seconds=SECONDS)


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
