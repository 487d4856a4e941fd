"""The author of a chart, with the role edit in a namespace, makes helm grant them more."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.localcluster import KubectlFailed
from tests.support.charts import CONFIGMAP_TEMPLATE, chart_archive
from tests.support.service_accounts import DEPLOYER_POLICY
from tests.support.xapps import Json, XAppClient

pytestmark = pytest.mark.integration

GROUP = "rbac.authorization.k8s.io"


def role(*rules: Json, kind: str = "Role", name: str = "granted", **metadata: str) -> Json:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name, **metadata}, "rules": [*rules]}


def rule(verbs: str, resources: str, group: str = "") -> Json:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


def account(name: str = "default", namespace: str = "{{ .Release.Namespace }}") -> Json:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def binding(
    role_kind: str, role_name: str, *, kind: str = "RoleBinding", subject: Json | None = None, **metadata: Any
) -> Json:
    """Return a RoleBinding for a service account of the namespace, or for `subject`."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": "granted", **metadata},
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role_name},
        "subjects": [subject or account()],
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
    "bind-the-deployers-role": [binding("ClusterRole", "xapp-deployer")],
    "bind-to-a-user": [binding("ClusterRole", "view", subject={"apiGroup": GROUP, "kind": "User", "name": "jane"})],
    "bind-to-a-group": [
        binding("ClusterRole", "edit", subject={"apiGroup": GROUP, "kind": "Group", "name": "system:authenticated"})
    ],
    "bind-to-another-namespace": [binding("ClusterRole", "view", subject=account(namespace="kube-system"))],
    "bind-to-the-deployer": [binding("ClusterRole", "view", subject=account("xapp-deployer"))],
    "grant-role-bindings": [role(rule("create delete", "rolebindings", GROUP))],
    "grant-impersonation-of-accounts": [role(rule("impersonate", "serviceaccounts"))],
    "change-the-admins-binding": [binding("ClusterRole", "view", name="the-admin")],
    "widen-the-deployer": [
        role(rule("*", "*", "*"), kind="ClusterRole")
        | {"metadata": {"name": "widened", "labels": {"xapp-operator.io/aggregate-to-deployer": "true"}}}
    ],
}

BINDINGS = ["jane", "the-admin", "xapp-deployer", "xapp-operator-secrets"]
"""The RoleBindings of an administrator in the namespace of a test."""
DIRECT_ATTEMPTS = [
    "create rolebinding granted --clusterrole=view --user=jane",
    "create rolebinding granted --clusterrole=edit --group=system:unauthenticated",
    "create rolebinding granted --clusterrole=view --serviceaccount=kube-system:default",
    "create rolebinding granted --clusterrole=xapp-deployer --serviceaccount={namespace}:default",
    f"create role granted --verb=create --resource=rolebindings.{GROUP}",
    "delete rolebinding the-admin",
    "delete rolebinding other-viewer",
    "delete rolebinding xapp-deployer",
    "delete rolebinding xapp-operator-secrets",
    "label rolebinding the-admin app.kubernetes.io/managed-by=Helm",
    "annotate rolebinding the-admin helm.sh/hook=pre-install",
]


@pytest.fixture
def jane(xapps: XAppClient, prepared: str) -> str:
    """A user with the role edit in the namespace; returns kubectl's flag to act as her.

    An administrator has a RoleBinding beside hers.
    """
    xapps.kubectl("create", "rolebinding", "the-admin", "--clusterrole=view", "--user=boss")
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
        deploy_as(jane, xapps, name, objects, adopt=True)
    for name in ESCALATIONS:
        condition = xapps.wait_stalled(name)
        assert condition["reason"] == "AccessDenied", (name, condition)
        assert re.search(rf"may not|not currently held|{DEPLOYER_POLICY}", condition["message"]), (name, condition)

    assert xapps.names("roles") == []
    assert sorted(xapps.names("rolebindings")) == BINDINGS
    admin = xapps.get("rolebinding", "the-admin")
    assert admin is not None
    assert [subject["name"] for subject in admin["subjects"]] == ["boss"]
    assert [name for name in xapps.names("clusterroles") if name in {"granted", "widened"}] == []
    assert can(xapps, jane, "create", "deployments.apps")
    assert not can(xapps, jane, "*", "*.*")
    assert not can(xapps, jane, "create", f"rolebindings.{GROUP}")
    assert not can(xapps, jane, "update", "resourcequotas")


@pytest.mark.parametrize("account_name", ["xapp-deployer", "default"])
def test_whoever_impersonates_a_service_account_gains_no_more(xapps: XAppClient, jane: str, account_name: str) -> None:
    assert can(xapps, jane, "impersonate", "serviceaccounts")
    # An administrator gave the rights of the deployer to another service account.
    other = f"--serviceaccount={xapps.namespace}:default"
    xapps.kubectl("create", "rolebinding", "other-account", "--clusterrole=xapp-deployer", other)
    xapps.kubectl("create", "rolebinding", "other-viewer", "--clusterrole=view", other)
    user = f"--as=system:serviceaccount:{xapps.namespace}:{account_name}"
    xapps.wait_until(lambda: can(xapps, user, "delete", f"rolebindings.{GROUP}"), what="the rights of the account")
    xapps.wait_until(
        lambda: DEPLOYER_POLICY in refusal(xapps, user, f"{DIRECT_ATTEMPTS[0]} --dry-run=server"),
        what="the policy in the namespace",
    )

    for attempt in DIRECT_ATTEMPTS:
        assert DEPLOYER_POLICY in refusal(xapps, user, attempt), attempt

    assert sorted(xapps.names("rolebindings")) == sorted([*BINDINGS, "other-account", "other-viewer"])
    assert xapps.names("roles") == []


def refusal(xapps: XAppClient, user: str, attempt: str) -> str:
    """Return the error of a kubectl command of a user, or an empty text if it succeeds."""
    try:
        xapps.kubectl(*attempt.format(namespace=xapps.namespace).split(), user)
    except KubectlFailed as error:
        return str(error)
    return ""


def test_a_chart_grants_what_the_deployer_holds(xapps: XAppClient, jane: str) -> None:
    hook: Json = {"annotations": {"helm.sh/hook": "pre-install,pre-upgrade"}}  # without the label of helm
    held = [
        role(rule("get list watch", "pods configmaps secrets")),
        binding("Role", "granted"),
        binding("ClusterRole", "view", name="viewer"),
        binding("ClusterRole", "edit", name="hook", **hook),
    ]
    deploy_as(jane, xapps, "held", held)
    xapps.wait_ready("held")
    assert xapps.names("roles") == ["granted"]
    assert sorted(xapps.names("rolebindings")) == sorted([*BINDINGS, "granted", "viewer", "hook"])

    held[0] = role(rule("get", "pods"))
    deploy_as(jane, xapps, "held", held)
    xapps.wait_until(lambda: xapps.status("held").get("release", {}).get("revision") == 2, what="the upgrade")
    xapps.wait_ready("held")

    xapps.kubectl("delete", "xapp", "held", "--wait=false", jane)
    xapps.wait_gone("xapp", "held")
    assert xapps.names("roles") == []
    assert sorted(xapps.names("rolebindings")) == sorted([*BINDINGS, "hook"])  # helm keeps hooks


def test_an_administrator_can_turn_the_policy_off_for_a_namespace(xapps: XAppClient, jane: str) -> None:
    xapps.kubectl("label", "namespace", xapps.namespace, "xapp-operator.io/deployer-policy=off")
    deployer = f"--as=system:serviceaccount:{xapps.namespace}:xapp-deployer"
    attempt = "create rolebinding granted --clusterrole=view --user=jane --dry-run=server"
    xapps.wait_until(lambda: not refusal(xapps, deployer, attempt), what="the label of the namespace")
    assert not can(xapps, jane, "patch", f"namespaces/{xapps.namespace}")


def test_another_service_account_needs_the_permission_of_an_administrator(xapps: XAppClient, jane: str) -> None:
    builder = f"builder-{xapps.namespace[-6:]}"
    xapps.kubectl("create", "serviceaccount", builder)
    xapps.kubectl(
        "create",
        "rolebinding",
        builder,
        "--clusterrole=edit",
        f"--serviceaccount={xapps.namespace}:{builder}",
    )
    deploy_as(jane, xapps, "named", [], serviceAccountName=builder)
    condition = xapps.wait_stalled("named")
    assert condition["reason"] == "AccessDenied"
    assert "impersonate" in condition["message"]
    assert 'xapp-operator.io/aggregate-to-impersonation: "true"' in condition["message"]

    allowed = role(rule("impersonate", "serviceaccounts") | {"resourceNames": [builder]}, kind="ClusterRole")
    allowed["metadata"] = {"name": builder, "labels": {"xapp-operator.io/aggregate-to-impersonation": "true"}}
    xapps.apply(allowed)
    operator = "--as=system:serviceaccount:xapp-operator-system:xapp-operator"
    xapps.wait_until(
        lambda: can(xapps, operator, "impersonate", f"serviceaccounts/{builder}"), what="the aggregated role"
    )
    xapps.kubectl("annotate", "xapp", "named", "xapp-operator.io/retry-at=now", jane)
    xapps.wait_ready("named")
    xapps.kubectl("delete", "clusterrole", builder)
