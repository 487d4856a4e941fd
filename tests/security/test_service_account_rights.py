"""A stolen token of the gateway or of the operator is a way to the rights of a cluster administrator.

The roles of manifests/base are compared with a table of what each service account needs, so that an added right fails
here. Then the API server is asked, and the tokens are used for what an attacker would try.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.localcluster import Cluster, KubectlFailed
from tests.localcluster.access import run_kubectl
from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE
from tests.support.service_accounts import apply_roles, kustomized, prepare_namespace, write_account_kubeconfig
from xapp_operator.api.json import obj
from xapp_operator.config.settings import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource

pytestmark = pytest.mark.integration

BASE = ROOT / "manifests" / "base"
REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)

READ = "get list watch"
WATCH = "list watch"
WATCHED_KINDS = {
    "services": WATCH,
    "pods": WATCH,
    "configmaps": WATCH,
    "persistentvolumeclaims": WATCH,
    "deployments.apps": WATCH,
    "statefulsets.apps": WATCH,
    "daemonsets.apps": WATCH,
    "replicasets.apps": WATCH,
    "jobs.batch": WATCH,
    "cronjobs.batch": WATCH,
    "horizontalpodautoscalers.autoscaling": WATCH,
    "poddisruptionbudgets.policy": WATCH,
    "ingresses.networking.k8s.io": WATCH,
    "nodes": "list",
    "namespaces": "get",
    "servicecidrs.networking.k8s.io": "list",
}
EVERYBODY = {"system:authenticated in xapp-operator-system": {"services/xapp-gateway": "get"}}
"""So that the command line finds the gateway."""
NEEDED = {
    "xapp-gateway everywhere": {
        **WATCHED_KINDS,
        "xapps.xapp-operator.io": READ,
        "chartrepositories.xapp-operator.io": READ,
        "chartarchives.xapp-operator.io": READ,
    },
    "xapp-gateway in xapp-operator-system": {"secrets/xapp-gateway-session": "get patch", "secrets": "create"},
    "xapp-operator everywhere": {
        **WATCHED_KINDS,
        "xapps.xapp-operator.io": "get list patch watch",
        "xapps/status.xapp-operator.io": "patch",
        "xapps/finalizers.xapp-operator.io": "update",
        "chartrepositories.xapp-operator.io": "create get list watch",
        "chartrepositories/status.xapp-operator.io": "patch",
        "chartarchives.xapp-operator.io": "delete get list patch watch",
        "networkpolicies.networking.k8s.io": WATCH,
        "roles.rbac.authorization.k8s.io": WATCH,
        "rolebindings.rbac.authorization.k8s.io": WATCH,
        "serviceaccounts": WATCH,
        "events": "create list patch",
        "serviceaccounts/xapp-deployer": "impersonate",
    },
    "xapp-operator in xapp-operator-system": {"leases.coordination.k8s.io": "create get update"},
    **EVERYBODY,
}
"""What each service account and every user may do, and nothing else."""

SUBJECTS = {("ServiceAccount", SYSTEM_NAMESPACE), ("Group", None)}
WITHOUT_NAMESPACE = {"nodes", "servicecidrs.networking.k8s.io"}

SECRET_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
ESCALATIONS = [
    "* *.*",
    "create serviceaccounts/token",
    "create pods",
    "create pods/exec",
    "create pods/attach",
    "create pods/portforward",
    "get nodes/proxy",
    "get pods/log",
    "create deployments.apps",
    "patch serviceaccounts",
    "create roles.rbac.authorization.k8s.io",
    "create rolebindings.rbac.authorization.k8s.io",
    "create clusterrolebindings.rbac.authorization.k8s.io",
    "patch clusterroles.rbac.authorization.k8s.io",
    "bind clusterroles.rbac.authorization.k8s.io",
    "bind roles.rbac.authorization.k8s.io",
    "escalate clusterroles.rbac.authorization.k8s.io",
    "escalate roles.rbac.authorization.k8s.io",
    "impersonate users",
    "impersonate groups",
    "impersonate uids.authentication.k8s.io",
    "impersonate serviceaccounts",
    "create certificatesigningrequests.certificates.k8s.io",
    "update certificatesigningrequests/approval.certificates.k8s.io",
    "create mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "create validatingwebhookconfigurations.admissionregistration.k8s.io",
    "patch customresourcedefinitions.apiextensions.k8s.io",
    "patch namespaces",
    "update xapps.xapp-operator.io",
    "create xapps.xapp-operator.io",
]


def rights(objects: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return the verbs of each service account or group, by place and by resource (`resource/name.group`)."""
    roles = {(each["kind"], each["metadata"]["name"]): each for each in objects if each["kind"].endswith("Role")}
    found: dict[str, dict[str, set[str]]] = {}
    for binding in (each for each in objects if each["kind"].endswith("RoleBinding")):
        role = roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]
        if "aggregationRule" in role:
            selectors = [each["matchLabels"] for each in role["aggregationRule"]["clusterRoleSelectors"]]
            rules = [
                rule
                for each in roles.values()
                for rule in each.get("rules") or ()
                if any(selector.items() <= each["metadata"].get("labels", {}).items() for selector in selectors)
            ]
        else:
            rules = role["rules"]
        everywhere = binding["kind"] == "ClusterRoleBinding"
        where = "everywhere" if everywhere else f"in {binding['metadata']['namespace']}"
        for subject in binding["subjects"]:
            assert (subject["kind"], subject.get("namespace")) in SUBJECTS
            by_resource = found.setdefault(f"{subject['name']} {where}", {})
            for rule in rules:
                assert rule.keys() <= {"apiGroups", "resources", "resourceNames", "verbs"}, rule
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for name in rule.get("resourceNames", [""]):
                            key = resource + (f"/{name}" if name else "") + (f".{group}" if group else "")
                            by_resource.setdefault(key, set()).update(rule["verbs"])
    return {
        account: {resource: " ".join(sorted(verbs)) for resource, verbs in by_resource.items()}
        for account, by_resource in found.items()
        if by_resource
    }


def needed_in_some_namespaces() -> dict[str, dict[str, str]]:
    """Return what each service account needs with the component `namespaced`: the same in one namespace."""
    needed: dict[str, dict[str, str]] = {**EVERYBODY}
    for account in ("xapp-operator", "xapp-gateway"):
        everywhere = NEEDED[f"{account} everywhere"]
        needed[f"{account} in ric-xapps"] = {key: everywhere[key] for key in everywhere if key not in WITHOUT_NAMESPACE}
        system = f"{account} in {SYSTEM_NAMESPACE}"
        needed[system] = {**NEEDED[system], "pods": "list"}
    return needed


@pytest.mark.parametrize("overlay", sorted(path.name for path in (ROOT / "manifests" / "overlays").iterdir()))
def test_no_account_has_more_rights_than_it_needs(cluster: Cluster, overlay: str) -> None:
    needed: dict[str, dict[str, str]] = {**NEEDED}
    if overlay == "cluster-wide-secrets":
        needed["xapp-operator everywhere"] = {**needed["xapp-operator everywhere"], "secrets": READ}
    if overlay == "namespaced":
        needed = needed_in_some_namespaces()
    assert rights(kustomized(cluster, BASE)) == NEEDED
    assert rights(kustomized(cluster, ROOT / "manifests" / "overlays" / overlay)) == needed


@pytest.mark.parametrize("overlay", ["tls", "deployer-admin"])
def test_only_the_overlay_deployer_admin_removes_the_policy_of_the_deployer(cluster: Cluster, overlay: str) -> None:
    objects = kustomized(cluster, ROOT / "manifests" / "overlays" / overlay)
    names = {each["metadata"]["name"] for each in objects if each["kind"].startswith("ValidatingAdmissionPolicy")}
    assert "session-secret.xapp-operator.io" in names
    policies = {"deployer.xapp-operator.io", "service-accounts.xapp-operator.io"}
    assert names & policies == (set() if overlay == "deployer-admin" else policies)


def test_the_binding_of_a_namespace_only_reads_secrets(cluster: Cluster) -> None:
    objects = [*kustomized(cluster, BASE), *kustomized(cluster, ROOT / "manifests" / "xapp-namespace")]
    bindings = [
        each for each in objects if each["kind"] == "RoleBinding" and each["metadata"]["namespace"] == "ric-xapps"
    ]
    (binding,) = (each for each in bindings if each["subjects"][0]["name"] == "xapp-operator")
    roles = [each for each in objects if each["kind"] == "ClusterRole"]
    assert rights([binding, *roles]) == {"xapp-operator in ric-xapps": {"secrets": READ}}


@dataclass(frozen=True, slots=True)
class Accounts:
    """The roles as applied, one namespace that is prepared for XApps, and one that is not; kubeconfigs by account."""

    cluster: Cluster
    prepared: str
    other: str
    kubeconfigs: dict[str, Path]

    def kubectl(self, account: str, *arguments: str, body: object = None) -> str:
        """Run kubectl with the token of an account."""
        standard_input = None if body is None else json.dumps(body)
        return run_kubectl(
            self.cluster.kubectl_path, arguments, kubeconfig=self.kubeconfigs[account], standard_input=standard_input
        )


@pytest.fixture(scope="module")
def accounts(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accounts]:
    apply_roles(cluster)
    folder = tmp_path_factory.mktemp("accounts")
    prepared, other = (f"rights-{name}-{secrets.token_hex(3)}" for name in ("prepared", "other"))
    for namespace in (prepared, other):
        cluster.kubectl("create", "namespace", namespace)
        cluster.kubectl("create", "secret", "generic", "prey", "--from-literal=password=x", "-n", namespace)
    prepare_namespace(cluster, prepared)
    kubeconfigs = {
        account: write_account_kubeconfig(cluster, account, folder) for account in ("xapp-gateway", "xapp-operator")
    }
    yield Accounts(cluster, prepared, other, kubeconfigs)
    cluster.kubectl("delete", "namespace", prepared, other, "--wait=false")


@pytest.fixture
async def kube(cluster: Cluster) -> AsyncIterator[KubeClient]:
    async with await KubeClient.connect(Settings(kubeconfig=str(cluster.kubeconfig))) as client:
        yield client


async def allowed(kube: KubeClient, account: str, right: str, *, namespace: str | None, name: str = "") -> bool:
    """Ask the API server whether an account has a right, written as `verb resource/subresource.group`."""
    verb, _, what = right.partition(" ")
    resource, _, group = what.partition(".")
    resource, _, subresource = resource.partition("/")
    attributes = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace or "",
        "name": name,
    }
    review = await kube.create(
        REVIEWS,
        {
            "apiVersion": REVIEWS.api_version,
            "kind": REVIEWS.kind,
            "spec": {
                "user": f"system:serviceaccount:{SYSTEM_NAMESPACE}:{account}",
                "groups": [
                    "system:serviceaccounts",
                    f"system:serviceaccounts:{SYSTEM_NAMESPACE}",
                    "system:authenticated",
                ],
                "resourceAttributes": {**attributes},
            },
        },
    )
    return obj(review, "status").get("allowed") is True


@pytest.mark.parametrize("account", ["xapp-gateway", "xapp-operator"])
async def test_the_api_server_grants_no_escalation(accounts: Accounts, kube: KubeClient, account: str) -> None:
    places = (accounts.prepared, accounts.other, "kube-system", SYSTEM_NAMESPACE, None)
    granted = [
        f"{right} in {namespace}"
        for right in ESCALATIONS
        for namespace in places
        if await allowed(kube, account, right, namespace=namespace)
    ]
    assert granted == []
    assert await allowed(kube, account, "list xapps.xapp-operator.io", namespace=None), "no question was understood"


async def test_the_gateway_has_no_right_on_secrets_outside_its_namespace(accounts: Accounts, kube: KubeClient) -> None:
    for namespace in (accounts.prepared, accounts.other, "kube-system", None):
        for verb in SECRET_VERBS:
            assert not await allowed(kube, "xapp-gateway", f"{verb} secrets", namespace=namespace), (verb, namespace)
    own = {
        verb: await allowed(kube, "xapp-gateway", f"{verb} secrets", namespace=SYSTEM_NAMESPACE)
        for verb in SECRET_VERBS
    }
    assert [verb for verb, granted in own.items() if granted] == ["create"]
    assert await allowed(kube, "xapp-gateway", "get secrets", namespace=SYSTEM_NAMESPACE, name="xapp-gateway-session")


async def test_the_operator_only_reads_secrets_and_only_with_the_binding(accounts: Accounts, kube: KubeClient) -> None:
    for namespace in (accounts.prepared, accounts.other, "kube-system", SYSTEM_NAMESPACE, None):
        granted = [
            verb
            for verb in SECRET_VERBS
            if await allowed(kube, "xapp-operator", f"{verb} secrets", namespace=namespace)
        ]
        assert granted == (READ.split() if namespace == accounts.prepared else []), namespace


async def test_the_operator_impersonates_the_deployer_only(accounts: Accounts, kube: KubeClient) -> None:
    for name in ("xapp-deployer", "default", "xapp-operator", "xapp-gateway", "*"):
        granted = await allowed(
            kube, "xapp-operator", "impersonate serviceaccounts", namespace=accounts.prepared, name=name
        )
        assert granted is (name == "xapp-deployer"), name


def secret(name: str, namespace: str, **fields: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, **fields}


def admin_binding(namespace: str) -> dict[str, object]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "escalation", "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:authenticated"}],
    }


def refused(accounts: Accounts, account: str, *arguments: str, body: object = None) -> None:
    with pytest.raises(KubectlFailed, match="orbidden"):
        accounts.kubectl(account, *arguments, body=body)


@pytest.mark.parametrize("account", ["xapp-gateway", "xapp-operator"])
def test_attempts_with_a_stolen_token_are_refused(accounts: Accounts, account: str) -> None:
    other = ("-n", accounts.other)
    refused(accounts, account, "get", "secret", "prey", *other)
    refused(accounts, account, "get", "secrets", "--all-namespaces")
    refused(accounts, account, "create", "-f", "-", body=secret("new", accounts.other))
    refused(accounts, account, "create", "-f", "-", body=secret("new", accounts.prepared))
    refused(accounts, account, "delete", "secret", "prey", "-n", accounts.prepared)
    refused(accounts, account, "create", "token", "xapp-deployer", "-n", accounts.prepared)
    refused(accounts, account, "create", "token", "xapp-operator", "-n", SYSTEM_NAMESPACE)
    refused(accounts, account, "create", "-f", "-", body=admin_binding(accounts.prepared))
    refused(accounts, account, "create", "clusterrolebinding", "x", "--clusterrole=cluster-admin", "--user=eve")
    refused(accounts, account, "get", "nodes", "--as=admin")
    refused(accounts, account, "get", "nodes", "--as=eve", "--as-group=system:masters")
    deployer = f"system:serviceaccount:{accounts.prepared}:xapp-deployer"
    refused(accounts, account, "get", "nodes", f"--as={deployer}", "--as-group=system:masters")
    refused(accounts, account, "get", "pods", *other, f"--as=system:serviceaccount:{accounts.other}:default")
    refused(accounts, account, "get", "pods", f"--as=system:serviceaccount:{SYSTEM_NAMESPACE}:xapp-operator", *other)


def test_the_gateway_cannot_have_a_token_put_into_its_secret(accounts: Accounts) -> None:
    policy = ("-f", str(BASE / "session-secret-policy.yaml"))
    annotations = {"kubernetes.io/service-account.name": "xapp-operator"}
    metadata = {"name": "xapp-gateway-session", "namespace": SYSTEM_NAMESPACE, "annotations": annotations}
    token_secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    token_secret["type"] = "kubernetes.io/service-account-token"
    create = ("create", "--dry-run=server", "-f", "-")

    def is_admitted(body: object) -> bool:
        try:
            return "created" in accounts.kubectl("xapp-gateway", *create, body=body)
        except KubectlFailed as error:  # a gateway of another test has created it; policies are asked before
            return "AlreadyExists" in str(error)

    assert is_admitted(token_secret), "RBAC alone allows it"
    accounts.cluster.kubectl("apply", "--server-side", *policy)
    try:

        def is_refused() -> bool:
            try:
                accounts.kubectl("xapp-gateway", *create, body=token_secret)
            except KubectlFailed as error:
                return "must have the type xapp-operator.io/session-keys" in str(error)
            return False

        wait_until(is_refused, timeout=60, what="the policy")
        right_type = {**token_secret, "type": "xapp-operator.io/session-keys"}
        assert is_admitted(right_type)
        other = {**token_secret, "metadata": {**metadata, "name": "token"}}
        assert is_admitted(other)
        refused(accounts, "xapp-gateway", "get", "secret", "token", "-n", SYSTEM_NAMESPACE)
    finally:
        accounts.cluster.kubectl("delete", *policy)


def test_the_operator_acts_as_the_deployer_in_a_prepared_namespace_only(accounts: Accounts) -> None:
    deployer = f"--as=system:serviceaccount:{accounts.prepared}:xapp-deployer"
    wait_until(
        lambda: "prey" in accounts.cluster.kubectl("get", "secrets", "-n", accounts.prepared, deployer),
        timeout=60,
        what="the aggregated role",
    )
    assert "prey" in accounts.kubectl("xapp-operator", "get", "secret", "prey", "-n", accounts.prepared)
    assert "prey" in accounts.kubectl("xapp-operator", "get", "secret", "prey", "-n", accounts.prepared, deployer)
    refused(accounts, "xapp-operator", "get", "secret", "prey", "-n", accounts.other, deployer)
    refused(accounts, "xapp-gateway", "get", "secret", "prey", "-n", accounts.prepared, deployer)
