"""DELETE with dryRun: what the removal of an xApp deletes and keeps, compared with what helm does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CLUSTER_ROLES, CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import XAPPS, JsonObject
from tests.support.charts import chart_archive
from tests.support.helm_user import HelmUser

pytestmark = pytest.mark.integration

CONFIGMAPS: Final = "/api/v1/namespaces/{}/configmaps"
CLAIMS: Final = "/api/v1/namespaces/{}/persistentvolumeclaims"
KEEP: Final = "{helm.sh/resource-policy: keep}"
CLAIM_SPEC: Final = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}"
TEMPLATES: Final = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: removed}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: kept, annotations: {KEEP.replace("keep", '" Keep "')}}}
---
apiVersion: v1
kind: ConfigMapList
items:
- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: in-list, annotations: {KEEP}}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: "{{{{ .Release.Namespace }}}}-preview"}}
rules: []
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: archive, annotations: {KEEP}}}
spec: {CLAIM_SPEC}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: store}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: store}}}}
  template:
    metadata: {{labels: {{app: store}}}}
    spec: {{containers: [{{name: x, image: x}}]}}
  volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {CLAIM_SPEC}}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: scratch}}
spec:
  replicas: 0
  persistentVolumeClaimRetentionPolicy: {{whenDeleted: Delete}}
  selector: {{matchLabels: {{app: scratch}}}}
  template:
    metadata: {{labels: {{app: scratch}}}}
    spec: {{containers: [{{name: x, image: x}}]}}
  volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {CLAIM_SPEC}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, labels: {{xapp-operator.io/xapp: {XAPP_NAME}}}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: x, image: x}}]}}
"""
CHART: Final = chart_archive({"templates/all.yaml": TEMPLATES})


def send(client: GatewayClient, **query: Any) -> httpx.Response:
    body = {"name": XAPP_NAME, "namespace": client.namespace}
    return client.http.request("DELETE", "/api/deployment/xapp", json=body, params={"dryRun": "true", **query})


def preview(client: GatewayClient) -> JsonObject:
    answer = send(client)
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


def named(objects: list[JsonObject]) -> set[tuple[str, str, str | None]]:
    return {(each["kind"], each["name"], each["namespace"]) for each in objects}


@pytest.fixture
def released(client: GatewayClient, helm_user: HelmUser) -> Iterator[GatewayClient]:
    """An XApp whose release helm has installed, with claims of its StatefulSets and another one."""
    client.deploy()
    helm_user.install(XAPP_NAME, CHART)
    for name in ("data-store-0", "data-store-11", "data-scratch-0", "data-store-other", "other-0"):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
        client.api.create(CLAIMS.format(client.namespace), {"metadata": {"name": name}, "spec": spec})
    yield client
    client.api.delete(f"{CLUSTER_ROLES}/{client.namespace}-preview")


def test_the_preview_is_what_helm_removes_and_keeps(released: GatewayClient, helm_user: HelmUser) -> None:
    wait_until(lambda: preview(released)["pods"] == 2, timeout=60, what="the pods")
    found, here = preview(released), released.namespace
    assert named(found["objects"]) == {
        ("ConfigMap", "removed", here),
        ("ConfigMap", "in-list", here),
        ("ClusterRole", f"{here}-preview", None),
        ("StatefulSet", "store", here),
        ("StatefulSet", "scratch", here),
        ("Deployment", "web", here),
    }
    assert named(found["kept"]) == {("ConfigMap", "kept", here), ("PersistentVolumeClaim", "archive", here)}
    assert found["claimsKept"] == ["archive", "data-store-0", "data-store-11"]
    assert (found["deletionPolicy"], found["dependents"]) == ("Uninstall", [])
    assert "deletionTimestamp" not in released.xapp()["metadata"]

    helm_user.uninstall(XAPP_NAME)
    left = set(released.api.names(CONFIGMAPS.format(here)))
    assert {name for kind, name, _ in named(found["objects"]) if kind == "ConfigMap"} & left == set()
    assert {name for kind, name, _ in named(found["kept"]) if kind == "ConfigMap"} <= left
    assert released.api.find(f"{CLUSTER_ROLES}/{here}-preview") is None
    assert set(found["claimsKept"]) <= set(released.api.names(CLAIMS.format(here)))


def test_with_the_policy_orphan_everything_stays(released: GatewayClient) -> None:
    before = preview(released)
    released.api.patch(f"{XAPPS.format(released.namespace)}/{XAPP_NAME}", {"spec": {"deletionPolicy": "Orphan"}})
    found = preview(released)
    assert (found["objects"], found["pods"], found["deletionPolicy"]) == ([], 0, "Orphan")
    assert named(found["kept"]) == named(before["objects"]) | named(before["kept"])
    assert found["claimsKept"] == ["archive", "data-scratch-0", "data-store-0", "data-store-11"]


def test_before_the_first_release_nothing_is_removed(client: GatewayClient) -> None:
    client.deploy()
    assert preview(client) == {
        "objects": [],
        "kept": [],
        "pods": 0,
        "claimsKept": [],
        "deletionPolicy": "Uninstall",
        "dependents": [],
    }


def test_xapps_that_depend_on_it_are_named(client: GatewayClient) -> None:
    client.deploy()
    client.deploy(team="two", dependsOn=[{"name": XAPP_NAME}, {"name": "absent"}])
    wait_until(lambda: preview(client)["dependents"] == ["acme-two-hello"], timeout=60, what="the dependent")
    client.api.patch(f"{XAPPS.format(client.namespace)}/acme-two-hello", {"spec": {"dependsOn": None}})
    wait_until(lambda: preview(client)["dependents"] == [], timeout=60, what="the dependent to go")


@pytest.mark.parametrize(
    ("rights", "hidden"),
    [
        ({}, {"objects", "kept", "claimsKept", "pods", "dependents"}),
        ({"pods": ["list"]}, {"objects", "kept", "claimsKept", "dependents"}),
        ({"secrets": ["get"]}, {"objects", "kept", "claimsKept", "pods", "dependents"}),
        ({"secrets": ["get", "list"]}, {"claimsKept", "pods", "dependents"}),
        ({"secrets": ["get", "list"], "persistentvolumeclaims": ["list"]}, {"pods", "dependents"}),
    ],
)
def test_what_the_caller_may_not_see_is_null(
    released: GatewayClient, caller_factory: CallerFactory, rights: dict[str, list[str]], hidden: set[str]
) -> None:
    token = caller_factory.create_account("remover")
    caller_factory.grant("remover", xapps=["get", "delete"])
    if rights:
        caller_factory.grant("remover", group="", **rights)
    with caller_factory.client_with_token(token) as remover:
        found = preview(remover)
    assert {name for name, value in found.items() if value is None} == hidden


def test_a_preview_needs_the_rights_of_the_removal(released: GatewayClient, caller_factory: CallerFactory) -> None:
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        refused = send(viewer)
    assert refused.status_code == 403
    assert [each["verb"] for each in refused.json()["missing"]] == ["delete"]
    assert "deletionTimestamp" not in released.xapp()["metadata"]


def test_a_preview_of_another_uid_or_a_missing_xapp_is_refused(released: GatewayClient) -> None:
    body = {"name": XAPP_NAME, "namespace": released.namespace}
    path, query = "/api/deployment/xapp", {"dryRun": "true"}
    other = released.http.request("DELETE", path, json=body, params=query, headers={"If-Match": '"other"'})
    assert other.status_code == 412
    missing = released.http.request("DELETE", path, json={**body, "name": "absent"}, params=query)
    assert missing.status_code == 404
