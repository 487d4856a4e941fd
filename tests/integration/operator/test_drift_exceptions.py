"""What is no drift: fields that others may set, normalised values, generated texts, and what a user leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.localcluster.cluster import ROOT
from tests.localrun.charts import pack_chart
from tests.support.drift import DriftingXApp
from tests.support.helm_user import HelmUser
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

IGNORE = "xapp-operator.io/ignore-drift"

UNUSUAL_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-unusual
  labels: {app: unusual, empty: ""}
  annotations: {nothing: null, number: "1"}
spec:
  replicas: 1
  selector: {matchLabels: {app: unusual}}
  template:
    metadata: {labels: {app: unusual}}
    spec:
      serviceAccount: default
      containers:
      - name: main
        image: registry.example.com/main:1
        args: []
        ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}, {containerPort: 81, name: m}]
        env:
        - {name: A, value: null}
        - {name: B, value: "x"}
        - {name: C, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.1, memory: 1e6}}
        securityContext: {}
        volumeMounts: [{name: v, mountPath: /v}]
      imagePullSecrets: []
      tolerations: [{key: a, operator: Exists}]
      nodeSelector: {}
      affinity: null
      volumes: [{name: v, emptyDir: {}}]
"""
GENERATED = """\
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
stringData: {password: {{ randAlphaNum 16 }}}
data: {token: {{ randAlphaNum 16 | b64enc }}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
"""
WEBHOOK = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: {{ .Release.Name }}-{{ .Release.Namespace }}}
webhooks:
- name: hook.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://hook.example.com/", caBundle: ""}
  rules: [{apiGroups: [nothing.example.com], apiVersions: ["*"], operations: [CREATE], resources: [things]}]
"""


def _assert_no_drift(xapp: DriftingXApp, token: str) -> None:
    xapp.reconcile(token)
    assert xapp.condition() is None


def test_replicas_that_a_scaler_sets_are_no_drift_and_stay_when_others_are_corrected(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    xapps.kubectl("autoscale", "deployment", "hello", "--min=2", "--max=5", "--cpu-percent=80")
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    _assert_no_drift(xapp, "scaled")
    xapp.patch("deployment", {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "x:2"})
    message = xapp.wait_drifted("False")["message"]
    assert "image" in message
    assert "replicas" not in message
    assert xapp.field("deployment", "{.spec.template.spec.containers[0].image}") == "registry.example.com/main:1"
    assert xapp.field("deployment", "{.spec.replicas}") == "2"


def test_replicas_are_drift_once_their_scaler_has_gone(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart())
    xapps.kubectl("autoscale", "deployment", "hello", "--min=2", "--max=5", "--cpu-percent=80")
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    _assert_no_drift(xapp, "scaled")
    xapps.kubectl("delete", "hpa", "hello")
    xapp.reconcile("not scaled")
    assert "/spec/replicas" in xapp.wait_drifted()["message"]
    xapps.kubectl("autoscale", "deployment", "hello", "--min=2", "--max=5", "--cpu-percent=80")
    xapp.reconcile("scaled again")
    assert xapp.wait_drifted("False")["reason"] == "NoDrift"


def test_fields_that_the_chart_does_not_set_are_no_drift_and_cost_no_request(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    before = xapp.requests("get", "list", "patch")
    assert not xapp.dry_runs(), "what helm has just installed is not compared"
    container = {"name": "main", "env": [{"name": "EXTRA", "value": "1"}]}
    spec = {"template": {"spec": {"containers": [container]}}}
    change = {"metadata": {"annotations": {"theirs": "1"}}, "spec": spec}
    xapps.kubectl("patch", "deployment", "hello", "--type=strategic", "-p", json.dumps(change))
    xapp.merge("configmap", {"data": {"theirs": "1"}})
    xapps.kubectl("label", "service", "hello", "theirs=1")
    _assert_no_drift(xapp, "changed")
    assert xapp.requests("get", "list", "patch") == before
    assert xapp.field("configmap", "{.data.theirs}") == "1"


def test_normalised_and_generated_values_are_no_drift(xapps: XAppClient) -> None:
    """Without Helm among the managers of an object, its values must be compared."""
    xapp = DriftingXApp.install(
        xapps, workload_chart(templates__unusual=UNUSUAL_DEPLOYMENT, templates__generated=GENERATED)
    )
    kinds = ("deployment", "service", "configmap", "secret", "serviceaccount")
    xapp.compare_values("deployment/hello-unusual", *(f"{kind}/hello" for kind in kinds))
    _assert_no_drift(xapp, "compared")
    password = xapp.field("secret", "{.data.password}")
    xapp.merge("secret", {"data": {"password": "Y2hhbmdlZA=="}})
    found = xapp.wait_drifted()
    assert found["message"] == "Secret hello (/data/password)"
    xapp.set_mode("enabled")
    xapp.wait_field("secret", "{.data.password}", password)
    xapp.wait_drifted("False")


def test_the_ca_bundle_of_a_webhook_is_no_drift(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(templates__webhook=WEBHOOK), "enabled")
    kind, name = "validatingwebhookconfiguration", f"hello-{xapps.namespace}"
    bundle = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"
    injected = {"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}
    moved = {"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": "https://other.example.com/"}
    xapp.patch(kind, injected, moved, name=name)
    message = xapp.wait_drifted("False")["message"]
    assert "/webhooks/0/clientConfig/url" in message
    assert "caBundle" not in message

    def client_config(field: str) -> str:
        return xapps.kubectl("get", kind, name, "-o", f"jsonpath={{.webhooks[0].clientConfig.{field}}}")

    assert client_config("url") == "https://hook.example.com/"
    assert client_config("caBundle") == bundle


def test_what_ignore_drift_names_is_left_alone(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    path = "/spec/template/spec/containers/0/image"
    xapps.kubectl("annotate", "deployment", "hello", f"{IGNORE}=/spec/replicas, {path}")
    xapps.kubectl("annotate", "configmap", "hello", f"{IGNORE}=all")
    xapp.patch("deployment", {"op": "replace", "path": path, "value": "x:2"})
    xapp.merge("configmap", {"data": {"greeting": "theirs"}})
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    _assert_no_drift(xapp, "ignored")
    key = "/spec/template/metadata/annotations/greeting"
    xapp.patch("deployment", {"op": "replace", "path": key, "value": "theirs"})
    message = xapp.wait_drifted("False")["message"]
    assert message == f"corrected: Deployment hello ({key}, changed by kubectl-patch)"
    assert xapp.field("deployment", "{.spec.replicas}") == "2"
    assert xapp.field("deployment", "{.spec.template.spec.containers[0].image}") == "x:2"
    assert xapp.field("configmap", "{.data.greeting}") == "theirs"


def test_an_invalid_ignore_drift_is_refused_and_nothing_of_its_object_is_corrected(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    xapps.kubectl("annotate", "deployment", "hello", f"{IGNORE}=spec.replicas")
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    message = xapp.wait_drifted()["message"]
    assert f'{IGNORE} is neither "all" nor JSON pointers such as /spec/replicas, separated by commas' in message
    assert xapp.field("deployment", "{.spec.replicas}") == "2"
    xapps.kubectl("annotate", "deployment", "hello", f"{IGNORE}-")
    xapp.wait_field("deployment", "{.spec.replicas}", "1")


KEDA_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scaledobjects.keda.sh}
spec:
  group: keda.sh
  scope: Namespaced
  names: {kind: ScaledObject, listKind: ScaledObjectList, plural: scaledobjects, singular: scaledobject}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def test_replicas_that_keda_scales_are_no_drift(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    xapps.kubectl("apply", "-f", "-", input=KEDA_CRD)
    xapps.kubectl("wait", "--for=condition=Established", "crd/scaledobjects.keda.sh", "--timeout=60s")
    target = {"scaleTargetRef": {"name": "hello"}}
    scaler = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "scaler"}, "spec": target}
    xapps.kubectl("apply", "-f", "-", input=json.dumps(scaler))
    xapp.change_spec(driftDetection={"mode": "disabled"})
    xapps.kubectl("scale", "deployment", "hello", "--replicas=3")
    xapp.change_spec(driftDetection={"mode": "enabled"})
    xapps.wait_until(lambda: len(xapp.dry_runs()) > 0, what="the comparison", xapp="hello")
    _assert_no_drift(xapp, "scaled")
    assert xapp.field("deployment", "{.spec.replicas}") == "3"


def test_objects_of_a_release_that_helm_applied_client_side(xapps: XAppClient, tmp_path: Path) -> None:
    HelmUser(xapps.cluster, xapps.namespace, tmp_path).install_client_side("hello", workload_chart())
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled", adopt=True)
    assert xapps.helm_releases()["hello"]["revision"] == "1"
    assert xapp.condition() is None
    assert not xapp.dry_runs(), "Helm manages all fields in this way too"
    xapps.kubectl("scale", "deployment", "hello", "--replicas=2")
    assert "/spec/replicas" in xapp.wait_drifted("False")["message"]
    assert xapp.field("deployment", "{.spec.replicas}") == "1"
    xapps.kubectl("scale", "deployment", "hello", "--replicas=3")
    xapp.wait_field("deployment", "{.spec.replicas}", "1")


def test_what_cannot_or_must_not_be_corrected_is_reported_and_left_alone(xapps: XAppClient) -> None:
    xapp = DriftingXApp.install(xapps, workload_chart(), "enabled")
    xapp.set_mode("disabled")
    xapps.kubectl("annotate", "configmap", "hello", "meta.helm.sh/release-name=other", "--overwrite")
    deployment = xapps.get("deployment", "hello")
    assert deployment is not None
    metadata = {key: deployment["metadata"][key] for key in ("name", "labels", "annotations")}
    spec = deployment["spec"]
    spec["selector"]["matchLabels"] = spec["template"]["metadata"]["labels"] = {"app": "replaced"}
    xapps.kubectl("delete", "deployment", "hello")
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    xapps.kubectl("create", "-f", "-", input=json.dumps(body))
    xapp.set_mode("enabled")
    message = xapp.wait_drifted(text="Deployment")["message"]
    owner = "/metadata/annotations/meta.helm.sh~1release-name"
    assert f"ConfigMap hello ({owner}; cannot be corrected: it belongs to" in message
    assert "Deployment hello (spec.selector; cannot be corrected: the API server refuses the change)" in message
    assert "replaced" not in message
    assert xapp.field("configmap", "{.metadata.annotations.meta\\.helm\\.sh/release-name}") == "other"


@pytest.mark.parametrize("chart", ["hello-world", "kpi-store"])
def test_samples_have_no_drift(xapps: XAppClient, chart: str) -> None:
    packed = pack_chart(Path(ROOT) / "manifests" / "samples" / "charts" / chart)
    xapp = DriftingXApp.install(xapps, packed.data, version=packed.version)
    kinds = "all,configmap,serviceaccount,pvc,secret,ingress,hpa"
    objects = xapps.kubectl("get", kinds, "-l", "xapp-operator.io/team", "-o", "name").split()
    assert len(objects) >= 3
    xapp.compare_values(*objects)
    _assert_no_drift(xapp, "compared")
