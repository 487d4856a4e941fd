"""Installs the sample xApp on the real node through the gateway, calls it, and injects faults."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.localcluster import KubectlFailed
from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import DeadlineExceeded, wait_until
from tests.localrun.charts import pack_chart
from tests.localrun.samples import REAL_NODE_VALUES
from tests.support.xapps import XAppClient

XAPP_NAME = "acme-ran-monitor"
SECONDS = 90.0
CHART = pack_chart(ROOT / "manifests" / "samples" / "charts" / "hello-world")
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
class SampleXApp:
    """The sample xApp of one test."""

    http: httpx.Client
    xapps: XAppClient

    @property
    def namespace(self) -> str:
        return self.xapps.namespace

    def install(self, **values: object) -> None:
        self._send("POST", "/api/deployment/xapp", values)

    def upgrade(self, **values: object) -> None:
        self._send("PUT", f"/api/deployment/xapp/{self.namespace}/{XAPP_NAME}", values)

    def record(self) -> Json:
        found: Json = self.http.get(f"/api/xapps/{self.namespace}/{XAPP_NAME}").raise_for_status().json()
        return {**found, "message": found["message"] or ""}

    def crashed_container(self) -> Json | None:
        """Return the container from `GET …/health` once it is in CrashLoopBackOff."""
        health = self.http.get(f"/api/xapps/{self.namespace}/{XAPP_NAME}/health").raise_for_status().json()
        containers = [each for pod in health["pods"] for each in pod["containers"]]
        return next((each for each in containers if each["reason"] == "CrashLoopBackOff"), None)

    def wait_record(self, condition: Callable[[Json], bool]) -> None:
        """Wait until the gateway's record satisfies the condition; the failure shows the record."""
        try:
            wait_until(lambda: condition(self.record()), timeout=SECONDS, what="the record", interval=0.2)
        except DeadlineExceeded as error:
            error.add_note(json.dumps(self.record(), indent=2))
            raise

    def get_via_apiserver(self, path: str) -> Json:
        """GET from the xApp through the API server's service proxy, once the proxy reaches it."""
        proxy = f"/api/v1/namespaces/{self.namespace}/services/{XAPP_NAME}:http/proxy"

        def answer() -> str | None:
            try:
                return self.xapps.cluster.kubectl("get", "--raw", f"{proxy}{path}")
            except KubectlFailed:
                return None

        found: Json = json.loads(wait_until(answer, timeout=SECONDS, what="the service proxy", interval=0.2))
        return found

    def inject_fault(self, pod: Json, fault: str) -> None:
        """Inject a fault into a pod through the API server's pod proxy, which also reaches unready pods."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}:8080/proxy/faults/{fault}"
        self.xapps.cluster.kubectl("create", "--raw", path, "-f", "-", input="{}")

    def pods(self) -> list[Json]:
        items: list[Json] = json.loads(self.xapps.kubectl("get", "pods", "-o", "json"))["items"]
        return items

    def replacement_pod(self, *, old_pod: Json) -> Json | None:
        """Return the pod that replaced `old_pod`, or None until the old one has gone."""
        pods = self.pods()
        return pods[0] if len(pods) == 1 and pods[0]["metadata"]["uid"] != old_pod["metadata"]["uid"] else None

    def _send(self, method: str, path: str, values: dict[str, object]) -> None:
        parts: dict[str, tuple[str | None, str | bytes]] = {
            "xAppForm": (None, json.dumps({**FORM, "namespace": self.namespace})),
            "file": (CHART.file_name, CHART.data),
            "values": (None, json.dumps({**REAL_NODE_VALUES, **values})),
        }
        answer = self.http.request(method, path, files=parts)
        assert answer.status_code == 202, answer.text
