"""Items of lists whose keys a person edits, under the real helm and API server: the chart wins, others' items stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.drift import DriftingXApp
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

PORTS = "{range .spec.ports[*]}{.name}={.port} {end}"
CHARTS_PORTS = "http=8080 metrics=9090 "
POD = "{.spec.template.spec.containers[*].name} {.spec.template.spec.containers[0].ports[*].containerPort}"
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec:
  type: NodePort
  selector: {app: {{ .Release.Name }}}
  ports: [{name: http, port: 8080, nodePort: %d}, {name: metrics, port: 9090}]
"""
IGNORE = "xapp-operator.io/ignore-drift"

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 1
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      annotations: {greeting: {{ .Values.greeting | quote }}}
    spec:
      containers:
      - name: main
        image: registry.example.com/main:1
        resources: {requests: {cpu: 0.1, memory: 1e6}}
        ports: [{name: http, containerPort: 8080}]
        env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, emptyDir: {}}]
"""


def _chart() -> bytes:
    return workload_chart(templates__deployment=DEPLOYMENT)


def _edit_port(xapp: DriftingXApp, number: int = 7070) -> None:
    xapp.patch("service", {"op": "replace", "path": "/spec/ports/0/port", "value": number})


def _edit_pod(xapp: DriftingXApp, **changes: Any) -> None:
    """Replace values below the first container or the volumes, as an editor does."""
    operations = [
        {"op": "replace", "path": f"/spec/template/spec/{path.replace('__', '/')}", "value": value}
        for path, value in changes.items()
    ]
    xapp.patch("deployment", *operations)


def _wait_revision(xapp: DriftingXApp, number: int) -> None:
    xapp.xapps.wait_until(
        lambda: xapp.xapps.status("hello")["release"].get("revision") == number, what="the revision", xapp="hello"
    )
    xapp.xapps.wait_ready("hello")


def test_enabled_corrects_a_port_with_another_number(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, _chart(), "enabled")
    _edit_port(xapp)
    found = xapp.wait_drifted("False", text="/spec/ports/0, changed by kubectl-patch")
    assert found["reason"] == "DriftCorrected"
    assert xapp.field("service", PORTS) == CHARTS_PORTS
    assert xapps.helm_releases()["hello"]["revision"] == "1"
    _edit_port(xapp, 7071)
    xapp.wait_field("service", PORTS, CHARTS_PORTS)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"containers__0__ports__0__containerPort": 7070}, "/spec/template/spec/containers/0/ports/0"),
        ({"containers__0__name": "renamed"}, "/spec/template/spec/containers/0"),
    ],
    ids=["port of a container", "container"],
)
def test_enabled_corrects_what_replaced_an_item_of_a_pod(xapps: XAppClient, changes: dict[str, Any], path: str) -> None:
    xapp = DriftingXApp.install(xapps, _chart(), "enabled")
    _edit_pod(xapp, **changes)
    assert f"{path}, changed by kubectl-patch" in xapp.wait_drifted("False", text=path)["message"]
    assert xapp.field("deployment", POD) == "main 8080"


def test_a_warning_changes_nothing_and_an_upgrade_brings_the_port_of_the_chart_back(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, _chart())
    _edit_port(xapp)
    _edit_pod(xapp, containers__0__name="renamed")
    xapp.wait_drifted(text="Service hello (/spec/ports/0, changed by kubectl-patch)")
    xapp.wait_drifted(text="/spec/template/spec/containers/0")
    xapp.reconcile("now")
    assert xapp.field("service", PORTS) == "http=7070 metrics=9090 "
    assert "kubectl-patch" in xapp.field("service", "{.metadata.managedFields[*].manager}")
    xapp.change_spec(values={"greeting": "second"})
    _wait_revision(xapp, 2)
    assert xapp.field("service", PORTS) == CHARTS_PORTS
    assert xapp.field("deployment", POD) == "main 8080"
    xapp.wait_drifted("False")
    assert xapps.helm_releases()["hello"]["revision"] == "2", "no revision has failed"


@pytest.mark.parametrize(("step", "node_port"), [("upgrade", 31871), ("rollback", 31872)])
def test_a_step_is_not_blocked_by_an_edit_that_nobody_looked_for(xapps: XAppClient, step: str, node_port: int) -> None:
    """Of two equal ports of the nodes, the API server does not say that they are invalid."""
    xapp = DriftingXApp.install(xapps, workload_chart(templates__service=SERVICE % node_port), "disabled")
    xapp.change_spec(values={"greeting": "second"})
    _wait_revision(xapp, 2)
    xapp.patch(
        "service",
        {"op": "replace", "path": "/spec/ports/0/port", "value": 7070},
        {"op": "replace", "path": "/spec/ports/0/name", "value": "web"},
    )
    if step == "upgrade":
        xapp.change_spec(values={"greeting": "third"})
    else:
        xapps.kubectl("annotate", "xapp", "hello", "xapp-operator.io/rollback-to=1")
    _wait_revision(xapp, 4)
    assert xapp.field("service", PORTS) == CHARTS_PORTS
    assert xapp.field("configmap", "{.data.greeting}") == ("third" if step == "upgrade" else "hello")


def test_what_others_added_stays_and_what_an_annotation_protects_is_named(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, _chart(), "enabled", upgrade={"onFailure": "none"})
    mesh = {"name": "mesh", "port": 15000, "targetPort": 15000}
    xapp.patch("service", {"op": "add", "path": "/spec/ports/-", "value": mesh})
    sidecar = {"name": "sidecar", "image": "registry.example.com/sidecar:1"}
    xapp.patch("deployment", {"op": "add", "path": "/spec/template/spec/containers/-", "value": sidecar})
    _edit_port(xapp)
    xapp.wait_field("service", PORTS, f"{CHARTS_PORTS}mesh=15000 ")
    assert xapp.field("deployment", "{.spec.template.spec.containers[*].name}") == "main sidecar"
    xapps.kubectl("annotate", "service", "hello", f"{IGNORE}=/spec/ports")
    _edit_port(xapp, 7071)
    xapp.change_spec(values={"greeting": "second"})
    message = xapps.wait_stalled("hello")["message"]
    assert f"Service hello: kubectl-patch replaced /spec/ports/0, and the annotation {IGNORE} of the object" in message
    xapps.kubectl("annotate", "service", "hello", f"{IGNORE}-")
    xapps.kubectl("annotate", "xapp", "hello", "xapp-operator.io/retry-at=now")
    xapps.wait_ready("hello")
    assert xapp.field("service", "{.spec.ports[?(@.name=='http')].port}") == "8080"
    assert json.loads(xapp.field("service", "{.spec.ports[?(@.name=='mesh')].port}")) == 15000
