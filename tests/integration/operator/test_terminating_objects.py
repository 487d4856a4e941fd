"""Objects that are still being deleted when the real helm applies them, on a real API server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.charts import chart_archive
from tests.support.workload import VALUES, workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

KEPT = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-kept
  finalizers: [example.com/hold]
data: {a: b}
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: {{ .Release.Name }}-data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  volumeName: {{ .Release.Namespace }}
  resources: {requests: {storage: 1Mi}}
"""
SLOW_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      finalizers: [example.com/slow-shutdown]
    spec:
      containers: [{name: main, image: "registry.example.com/main:1", volumeMounts: [{name: d, mountPath: /d}]}]
      volumes: [{name: d, persistentVolumeClaim: {claimName: {{ .Release.Name }}-data}}]
"""


def let_go(xapps: XAppClient, kind: str, name: str) -> None:
    removal = json.dumps([{"op": "remove", "path": "/metadata/finalizers"}])
    xapps.kubectl("patch", kind, name, "--type=json", "-p", removal)


def is_being_deleted(xapps: XAppClient, kind: str, name: str) -> bool:
    found = xapps.get(kind, name)
    return found is not None and "deletionTimestamp" in found["metadata"]


def is_back(xapps: XAppClient, kind: str, name: str) -> bool:
    found = xapps.get(kind, name)
    return found is not None and "deletionTimestamp" not in found["metadata"]


def ready_message(xapps: XAppClient) -> str:
    conditions = xapps.status("hello").get("conditions", ())
    return "".join(each["message"] for each in conditions if each["type"] == "Ready")


def wait_told(xapps: XAppClient, what: str) -> None:
    xapps.wait_until(lambda: f"created again once gone: {what}" in ready_message(xapps), what="why", xapp="hello")


@pytest.fixture
def volume(xapps: XAppClient) -> Iterator[None]:
    """The volume of the claim."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/tmp"},
        "claimRef": {"namespace": xapps.namespace, "name": "hello-data"},
    }
    body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": xapps.namespace}, "spec": spec}
    xapps.kubectl("apply", "-f", "-", input=json.dumps(body))
    yield
    for name in xapps.names("pod"):
        let_go(xapps, "pod", name)
    xapps.kubectl("delete", "persistentvolume", xapps.namespace, "--wait=false")


@pytest.mark.usefixtures("volume")
def test_a_claim_that_an_old_pod_still_uses_after_an_uninstall_by_hand(xapps: XAppClient) -> None:
    """The pods of the new release cannot run with the old claim, and not without one."""
    files = {"values.yaml": VALUES, "templates/claim.yaml": CLAIM, "templates/deployment.yaml": SLOW_DEPLOYMENT}
    xapps.apply(xapps.uploaded_manifest("hello", chart_archive(files, name="workload"), timeout="60s"))
    xapps.wait_ready("hello")
    (old,) = xapps.names("pod")
    helm = [str(xapps.cluster.helm_path), "uninstall", "hello", "-n", xapps.namespace]
    subprocess.run(helm, env=xapps.cluster.env, check=True, capture_output=True)
    wait_told(xapps, "PersistentVolumeClaim hello-data")
    assert is_being_deleted(xapps, "pvc", "hello-data")
    let_go(xapps, "pod", old)
    xapps.wait_until(lambda: is_back(xapps, "pvc", "hello-data"), what="the new claim", xapp="hello")
    assert "Recreated" in xapps.event_reasons()


def test_an_xapp_that_is_created_again_while_an_object_goes(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(templates__kept=KEPT))
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert is_being_deleted(xapps, "configmap", "hello-kept")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__kept=KEPT)))
    wait_told(xapps, "ConfigMap hello-kept")
    let_go(xapps, "configmap", "hello-kept")
    xapps.wait_ready("hello")
    assert is_back(xapps, "configmap", "hello-kept")
    assert "DriftDetected" not in xapps.event_reasons()
    let_go(xapps, "configmap", "hello-kept")


def test_an_automatic_rollback_to_a_revision_with_an_object_that_goes(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__kept=KEPT), timeout="8s"))
    xapps.wait_ready("hello")
    failing = xapps.uploaded_manifest("hello", workload_chart(), timeout="8s", values={"fail": "ErrImagePull"})
    xapps.apply(failing)
    xapps.wait_stalled("hello")
    wait_told(xapps, "ConfigMap hello-kept")
    assert is_being_deleted(xapps, "configmap", "hello-kept")
    let_go(xapps, "configmap", "hello-kept")
    xapps.wait_until(lambda: is_back(xapps, "configmap", "hello-kept"), what="the object", xapp="hello")
    let_go(xapps, "configmap", "hello-kept")


def test_an_object_that_a_person_deletes_later_stays_away(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__kept=KEPT), driftDetection={"mode": "warn"}))
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "configmap", "hello-kept", "--wait=false")
    xapps.wait_until(lambda: "is being deleted" in ready_message(xapps), what="its health", xapp="hello")
    let_go(xapps, "configmap", "hello-kept")
    xapps.wait_until(lambda: "DriftDetected" in xapps.event_reasons(), what="the drift", xapp="hello")
    assert xapps.get("configmap", "hello-kept") is None
    assert "terminating" not in xapps.status("hello")


def test_the_end_of_an_xapp_tells_what_a_finalizer_holds(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__kept=KEPT)))
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    found = json.loads(xapps.kubectl("get", "events", "--field-selector=reason=LeftBehind", "-o", "json"))["items"]
    (message,) = (each["message"] for each in found)
    assert message.endswith(": ConfigMap/hello-kept")
    let_go(xapps, "configmap", "hello-kept")
