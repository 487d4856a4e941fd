"""The author of a chart, with the role edit in a namespace, makes helm grant them more."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.localcluster import KubectlFailed
from tests.support.charts import CONFIGMAP_TEMPLATE, chart_archive
from tests.support.xapps import Json, XAppClient

pytestmark = pytest.mark.integration

GROUP = "rbac.authorization.k8s.io"


def role(*rules: Json, kind: str = "Role", name: str = "granted", **metadata: str) -> Json:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name, **metadata}, "rules": [*rules]}


def rule(verbs: str, resources: str, group: str = "") -> Json:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


def binding(role_kind: str, role_name: str, *, kind: str = "RoleBinding", **metadata: str) -> Json:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": "granted", **metadata},
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role_name},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": "system:authenticated"}],
    }


ESCALATIONS = {
    "bind-admin": [binding("ClusterRole", "admin")],
    "bind-cluster-admin": [binding("ClusterRole", "cluster-admin")],
    "bind-in-the-cluster": [binding("ClusterRole", "view", kind="ClusterRoleBinding")],
    "bind-in-another-namespace": [binding("ClusterRole", "view", namespace="kube-system")],
    "grant-everything": [role(rule("*", "*", "*"))],
    "grant-escalate": [role(rule("escalate bind", "roles rolebindings", GROUP))],
    "grant-impersonation": [role(rule("impersonate", "users groups"))],
    "grant-nodes": [role(rule("get", "nodes/proxy"))],
    "grant-secrets-in-the-cluster": [role(rule("get list", "secrets"), kind="ClusterRole")],
    "widen-the-deployer": [
        role(rule("*", "*", "*"), kind="ClusterRole")
        | {"metadata": {"name": "widened", "labels": {"xapp-operator.io/aggregate-to-deployer": "true"}}}
    ],
}


@pytest.fixture
def jane(xapps: XAppClient, prepared: str) -> str:
    """A user with the role edit in the namespace; returns kubectl's flag to act as her."""
    xapps.kubectl("create", "rolebinding", "jane", "--clusterrole=edit", "--user=jane")
    assert prepared == xapps.namespace
    return "--as=jane"


def deploy_as(user: str, xapps: XAppClient, name: str, objects: list[Json], **spec: Any) -> None:
    """Deploy a chart with the rights of a user."""
    templates = {f"templates/{number}.json": json.dumps(each) for number, each in enumerate(objects)}
    archive = chart_archive({"templates/c.yaml": CONFIGMAP_TEMPLATE, **templates}, name=name)
    manifest = xapps.uploaded_manifest(name, archive, **spec)
    xapps.kubectl("apply", "--server-side", "-f", "-", user, input=json.dumps(manifest))


def can(xapps: XAppClient, user: str, verb: str, resource: str) -> bool:
    try:
        return xapps.kubectl("auth", "can-i", verb, resource, user).strip() == "yes"
    except KubectlFailed:
        return False


def test_a_chart_cannot_grant_what_the_deployer_does_not_hold(xapps: XAppClient, jane: str) -> None:
    for name, objects in ESCALATIONS.items():
        deploy_as(jane, xapps, name, objects)
    for name in ESCALATIONS:
        condition = xapps.wait_stalled(name)
        assert condition["reason"] == "AccessDenied", (name, condition)
        assert re.search(r"may not|not currently held", condition["message"]), (name, condition)

    assert xapps.names("roles") == []
    assert sorted(xapps.names("rolebindings")) == ["jane", "xapp-deployer", "xapp-operator-secrets"]
    assert [name for name in xapps.names("clusterroles") if name in {"granted", "widened"}] == []
    assert can(xapps, jane, "create", "deployments.apps")
    assert not can(xapps, jane, "*", "*.*")
    assert not can(xapps, jane, "create", f"rolebindings.{GROUP}")
    assert not can(xapps, jane, "update", "resourcequotas")


def test_a_chart_grants_what_the_deployer_holds(xapps: XAppClient, jane: str) -> None:
    held = [role(rule("get list watch", "pods configmaps secrets")), binding("Role", "granted")]
    deploy_as(jane, xapps, "held", held)
    xapps.wait_ready("held")
    assert xapps.names("roles") == ["granted"]


def test_another_service_account_needs_the_permission_of_an_administrator(xapps: XAppClient, jane: str) -> None:
    account = f"builder-{xapps.namespace[-6:]}"
    xapps.kubectl("create", "serviceaccount", account)
    xapps.kubectl(
        "create",
        "rolebinding",
        account,
        "--clusterrole=edit",
        f"--serviceaccount={xapps.namespace}:{account}",
    )
    deploy_as(jane, xapps, "named", [], serviceAccountName=account)
    condition = xapps.wait_stalled("named")
    assert condition["reason"] == "AccessDenied"
    assert "impersonate" in condition["message"]
    assert 'xapp-operator.io/aggregate-to-impersonation: "true"' in condition["message"]

    allowed = role(rule("impersonate", "serviceaccounts") | {"resourceNames": [account]}, kind="ClusterRole")
    allowed["metadata"] = {"name": account, "labels": {"xapp-operator.io/aggregate-to-impersonation": "true"}}
    xapps.apply(allowed)
    operator = "--as=system:serviceaccount:xapp-operator-system:xapp-operator"
    xapps.wait_until(
        lambda: can(xapps, operator, "impersonate", f"serviceaccounts/{account}"), what="the aggregated role"
    )
    xapps.kubectl("annotate", "xapp", "named", "xapp-operator.io/retry-at=now", jane)
    xapps.wait_ready("named")
    xapps.kubectl("delete", "clusterrole", account)
