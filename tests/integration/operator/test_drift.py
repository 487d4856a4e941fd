"""Drift under the real helm and API server: what is reported, corrected, and left alone."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.charts import chart_archive
from tests.support.custom_kinds import WIDGET_CRD
from tests.support.drift import DriftingXApp
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

IMAGE = "{.spec.template.spec.containers[0].image}"
REPLICAS = "{.spec.replicas}"
NEW_IMAGE = {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "x:2"}

ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
data: {token: {{ randAlphaNum 16 | b64enc }}}
"""
CONFIGMAPS = """\
{{- range until 40 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-{{ . }}
data: {number: "{{ . }}"}
{{- end }}
"""


def test_scaling_by_hand_is_reported_once_and_ends_when_undone(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart())
    assert xapp.condition() is None
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    found = xapp.wait_drifted()
    assert found["reason"] == "DriftDetected"
    assert found["message"] == "Deployment hello (/spec/replicas, changed by kubectl)"
    xapps.wait_until(lambda: len(xapp.events("DriftDetected")) == 1, what="the event", xapp="hello")
    assert xapp.field("deployment", REPLICAS) == "2", "warn changes nothing"
    xapps.kubectl("scale", "deployment", "hello", "--replicas=1")
    assert xapp.wait_drifted("False")["reason"] == "NoDrift"
    assert len(xapp.events("DriftDetected")) == 1


def test_known_drift_costs_no_request(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart())
    xapps.kubectl("patch", "configmap", "hello", "--type=merge", "-p", '{"data": {"greeting": "theirs"}}')
    assert xapp.wait_drifted()["message"] == "ConfigMap hello (/data/greeting, changed by kubectl-patch)"
    before = xapp.requests("get", "list", "patch")
    for number in range(3):
        xapp.reconcile(f"again-{number}")
    assert xapp.requests("get", "list", "patch") == before


def test_a_quota_that_stops_a_correction_is_named(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    xapps.kubectl("create", "quota", "none", "--hard=count/configmaps=0")
    xapps.wait_until(lambda: "used:" in xapps.kubectl("get", "quota", "none", "-o", "yaml"), what="the quota to count")
    xapps.kubectl("delete", "configmap", "hello")
    found = xapp.wait_drifted(text="exceeded quota: none")
    assert found["reason"] == "DriftDetected"
    assert found["message"].startswith("ConfigMap hello is not corrected: ")
    assert found["message"].endswith("Objects that differ from the release: ConfigMap hello is missing")
    assert xapp.events("CorrectionRefused")
    xapps.kubectl("delete", "quota", "none")
    assert xapp.wait_drifted("False")["reason"] == "DriftCorrected"


def test_deleted_objects_and_removed_fields_are_drift(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart())
    xapps.kubectl("delete", "configmap", "hello")
    assert xapp.wait_drifted()["message"] == "ConfigMap hello is missing"
    xapp.patch("service", {"op": "remove", "path": "/spec/ports/1"})
    message = xapp.wait_drifted(text="Service")["message"]
    assert message == "ConfigMap hello is missing; Service hello (/spec/ports/1)"
    assert len(xapp.events("DriftDetected")) == 1, "it has begun once"


def test_enabled_corrects_without_a_new_revision(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    xapp.patch("deployment", NEW_IMAGE)
    found = xapp.wait_drifted("False")
    assert found["reason"] == "DriftCorrected"
    assert "/spec/template/spec/containers/0/image, changed by kubectl-patch" in found["message"]
    assert xapp.field("deployment", IMAGE) == "registry.example.com/main:1"
    xapps.kubectl("delete", "configmap,service", "hello")
    xapps.wait_until(
        lambda: xapps.names("configmap,service").count("hello") == 2, what="the objects to be back", xapp="hello"
    )
    xapp.wait_field("service", "{.metadata.labels.xapp-operator\\.io/xapp}", "hello")
    xapps.wait_ready("hello")
    assert xapps.helm_releases()["hello"]["revision"] == "1"


def test_objects_of_a_kind_without_a_schema_are_corrected_and_keep_fields_of_others(xapps: XAppClient) -> None:
    """The API server leaves a map to Helm of which Helm has lost all members, as if it managed it as a whole."""
    group = f"{xapps.namespace}.example.com"
    xapps.kubectl("apply", "-f", "-", input=WIDGET_CRD % {"group": group})
    xapps.kubectl("wait", "--for=condition=Established", f"crd/widgets.{group}", "--timeout=60s")
    widget = f"apiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: hello}}\nspec: {{size: 1}}\n"
    kind = f"widgets.{group}"
    try:
        xapp = DriftingXApp.install(xapps, chart_archive({"templates/widget.yaml": widget}), "enabled")
        xapp.merge(kind, {"spec": {"extra": 5}}, manager="controller")
        xapp.reconcile("now")
        assert xapp.condition() is None
        xapp.merge(kind, {"spec": {"size": 9}})
        xapp.wait_field(kind, "{.spec.size} {.spec.extra}", "1 5")
        assert "/spec/size, changed by someone" in xapp.wait_drifted("False", text="/spec/size")["message"]
        xapp.merge(kind, {"spec": {"extra": None}}, manager="controller")
        xapp.merge(kind, {"spec": {"size": None}})
        xapp.wait_field(kind, "{.spec.size}", "1")
    finally:
        xapps.kubectl("delete", "crd", kind, "--wait=false")


def test_disabled_neither_reports_nor_corrects(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart())
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    xapp.wait_drifted()
    xapp.set_mode("disabled")
    xapps.wait_until(
        lambda: all(each["type"] != "Drifted" for each in xapps.status("hello")["conditions"]),
        what="the condition to go",
        xapp="hello",
    )
    xapp.reconcile("now")
    assert xapp.condition() is None
    assert xapp.field("deployment", REPLICAS) == "2"
    xapp.set_mode("enabled")
    xapp.wait_field("deployment", REPLICAS, "1")


def test_suspended_corrects_nothing_and_keeps_the_condition(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart())
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    xapp.wait_drifted()
    xapp.change_spec(suspend=True, driftDetection={"mode": "enabled"})
    xapps.wait_until(lambda: xapps.status("hello")["phase"] == "Suspended", what="the suspension", xapp="hello")
    assert any(each["type"] == "Drifted" and each["status"] == "True" for each in xapps.status("hello")["conditions"])
    assert xapp.field("deployment", REPLICAS) == "2"
    xapp.change_spec(suspend=False)
    xapp.wait_field("deployment", REPLICAS, "1")


def test_upgrade_and_rollback_end_drift(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart())
    xapp.patch("deployment", NEW_IMAGE)
    xapp.wait_drifted()
    xapp.change_spec(values={"greeting": "second"})
    xapps.wait_until(lambda: xapps.status("hello")["release"]["revision"] == 2, what="the upgrade", xapp="hello")
    xapp.wait_drifted("False")
    assert xapp.field("deployment", IMAGE) == "registry.example.com/main:1"
    xapps.kubectl("delete", "configmap", "hello")
    xapp.wait_drifted(text="ConfigMap hello is missing")
    xapps.kubectl("annotate", "xapp", "hello", "xapp-operator.io/rollback-to=1")
    xapps.wait_until(lambda: xapps.status("hello").get("heldRevision") == 1, what="the rollback", xapp="hello")
    xapp.wait_drifted("False")
    assert xapp.field("configmap", "{.data.greeting}") == "hello"
    xapp.merge("configmap", {"data": {"greeting": "third"}})
    assert xapp.wait_drifted()["message"] == "ConfigMap hello (/data/greeting, changed by someone)"


@contextmanager
def _competing_controller(xapp: DriftingXApp) -> Iterator[list[float]]:
    """Run a controller that keeps changing a ConfigMap, and yield the times at which it did."""
    times: list[float] = []
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(0.05):
            if xapp.field("configmap", "{.data.greeting}") != "theirs":
                xapp.merge("configmap", {"data": {"greeting": "theirs"}}, manager="rival")
                times.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield times
    finally:
        ended.set()
        thread.join(60)


def test_correction_backs_off_against_a_competing_controller_and_names_it(xapps: XAppClient) -> None:
    """There are pauses of 1 and 2 seconds between the corrections."""
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    with _competing_controller(xapp) as changes:
        xapps.wait_until(lambda: len(changes) >= 4, what="four changes", xapp="hello")
        message = xapp.wait_drifted(text="growing pauses")["message"]
    assert "ConfigMap hello (/data/greeting, changed by rival)" in message
    assert changes[3] - changes[0] > 2.5
    xapp.wait_field("configmap", "{.data.greeting}", "hello")
    xapp.wait_drifted("False")


def test_an_object_that_keeps_changing_is_compared_with_growing_pauses(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart())
    changes = 20
    for number in range(changes):
        xapp.merge("configmap", {"data": {"greeting": f"theirs {number}"}})
    xapp.wait_drifted(text="ConfigMap hello (/data/greeting, changed by someone)")
    assert 1 <= len(xapp.dry_runs()) < changes / 2
    xapp.merge("configmap", {"data": {"greeting": "hello"}})
    xapp.wait_drifted("False")


def test_operator_killed_while_it_corrects_goes_on_and_finds_what_changed_meanwhile(
    xapps: XAppClient, operator: OperatorProcess
) -> None:
    xapps.apply(xapps.uploaded_manifest("calm", workload_chart(templates__account=ACCOUNT)))
    xapps.wait_ready("calm")
    xapp = DriftingXApp.install(xapps, workload_chart(templates__many=CONFIGMAPS))
    xapps.kubectl("delete", "configmap", *(f"hello-{number}" for number in range(40)))
    xapp.wait_drifted(text="and 30 more")
    xapp.set_mode("enabled")

    def restored() -> int:
        return sum(name.startswith("hello-") for name in xapps.names("configmap"))

    xapps.wait_until(lambda: restored() > 0, what="the correction to begin", xapp="hello")
    operator.kill()
    before = len(xapp.requests("get", "list", "patch"))
    xapp.patch("service", {"op": "remove", "path": "/spec/ports/1"})
    operator.start()
    xapp.wait_field("service", "{.spec.ports[*].name}", "http metrics")
    xapps.wait_until(lambda: restored() == 40, what="all objects to be back", xapp="hello")
    xapps.wait_ready("hello")
    assert xapps.helm_releases()["hello"]["revision"] == "1"
    about_calm = {uri for _, uri in xapp.requests("get", "list", "patch")[before:] if "calm" in uri}
    assert {uri.rpartition("/")[2] for uri in about_calm} == {"sh.helm.release.v1.calm.v1"}, "what has not changed"


def test_missing_rights_are_named_and_end_when_they_are_granted(xapps: XAppClient) -> None:
    account = f"--serviceaccount={xapps.namespace}:limited"
    xapps.kubectl("create", "serviceaccount", "limited")
    xapps.kubectl("create", "rolebinding", "all", "--clusterrole=admin", account)
    kinds = "chartarchives.xapp-operator.io,secrets,services,configmaps,deployments.apps"
    xapps.kubectl("create", "role", "readers", "--verb=get,list,watch", f"--resource={kinds}")
    xapps.kubectl("create", "rolebinding", "readers", "--role=readers", account)
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled", serviceAccountName="limited")
    xapps.kubectl("delete", "rolebinding", "all")
    xapps.kubectl("delete", "configmap", "hello")
    found = xapp.wait_drifted(text="cannot patch")
    assert found["reason"] == "AccessDenied"
    assert "ConfigMap hello is missing" in found["message"]
    assert "limited" in found["message"]
    xapps.kubectl("create", "rolebinding", "all", "--clusterrole=admin", account)
    xapps.wait_until(lambda: "hello" in xapps.names("configmap"), what="the correction", xapp="hello")
    xapp.wait_drifted("False")


def test_a_comparison_without_the_right_to_patch_is_unknown(xapps: XAppClient) -> None:
    account = f"--serviceaccount={xapps.namespace}:limited"
    xapps.kubectl("create", "serviceaccount", "limited")
    xapps.kubectl("create", "rolebinding", "all", "--clusterrole=admin", account)
    kinds = "chartarchives.xapp-operator.io,secrets,services,configmaps,deployments.apps"
    xapps.kubectl("create", "role", "readers", "--verb=get,list,watch", f"--resource={kinds}")
    xapps.kubectl("create", "rolebinding", "readers", "--role=readers", account)
    xapp = DriftingXApp.install(xapps, workload_chart(), serviceAccountName="limited")
    xapps.kubectl("delete", "rolebinding", "all")
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    found = xapp.wait_drifted("Unknown", text="cannot patch")
    assert found["reason"] == "AccessDenied"
    assert json.dumps(xapps.status("hello")).count("limited") >= 1
    xapps.wait_ready("hello")  # once the second pod is
