"""The roles of manifests/base on a cluster without pods of the system, and namespaces that are prepared for XApps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.localcluster import Cluster, KubectlFailed
from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE, install_crds

MANIFESTS = ROOT / "manifests"
RBAC_KINDS = frozenset({"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
DEPLOYER_POLICY = "ValidatingAdmissionPolicy 'deployer.xapp-operator.io'"


def kustomized(cluster: Cluster, folder: Path) -> list[dict[str, Any]]:
    """Return the objects of a kustomization."""
    return [each for each in yaml.safe_load_all(cluster.kubectl("kustomize", str(folder))) if each]


def apply_roles(cluster: Cluster, system: Path = MANIFESTS / "base") -> None:
    """Apply the definitions, and the accounts and roles of a kustomization."""
    install_crds(cluster)
    _apply(cluster, [each for each in kustomized(cluster, system) if each["kind"] in RBAC_KINDS])


def apply_deployer_policy(cluster: Cluster) -> None:
    """Apply the policy for Roles and RoleBindings of charts, and wait until the API server enforces it."""
    cluster.kubectl("apply", "--server-side", "-f", str(MANIFESTS / "base" / "deployer-policy.yaml"))
    attempt = ("create", "rolebinding", "x", "--clusterrole=view", "--user=x", "--dry-run=server", "-n", "default")
    deployer = ("--as=system:serviceaccount:default:xapp-deployer", "--as-group=system:masters")

    def is_enforced() -> bool:
        try:
            cluster.kubectl(*attempt, *deployer)
        except KubectlFailed as error:
            return DEPLOYER_POLICY in str(error)
        return False

    wait_until(is_enforced, timeout=60, what="the policy of the deployer")


def prepare_namespace(cluster: Cluster, namespace: str) -> None:
    """Apply manifests/xapp-namespace to an existing namespace, without its Pod Security level."""
    apply_to_namespace(cluster, MANIFESTS / "xapp-namespace", namespace)


def apply_to_namespace(cluster: Cluster, kustomization: Path, namespace: str) -> None:
    """Apply the objects of a kustomization to an existing namespace."""
    with TemporaryDirectory() as folder:
        base = os.path.relpath(kustomization, Path(folder).resolve())
        content = {"namespace": namespace, "resources": [base]}
        (Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump(content))
        _apply(cluster, [each for each in kustomized(cluster, Path(folder)) if each["kind"] != "Namespace"])


def write_account_kubeconfig(cluster: Cluster, account: str, folder: Path) -> Path:
    """Write a kubeconfig with a token of a service account of the system; return its path."""
    config = json.loads(cluster.kubectl("config", "view", "--raw", "--flatten", "-o", "json"))
    token = cluster.kubectl("create", "token", account, "-n", SYSTEM_NAMESPACE)
    config["users"] = [{"name": each["name"], "user": {"token": token}} for each in config["users"]]
    path = folder / f"{account}.kubeconfig"
    path.write_text(json.dumps(config))
    return path


def _apply(cluster: Cluster, objects: list[dict[str, Any]]) -> None:
    content = {"apiVersion": "v1", "kind": "List", "items": objects}
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(content))
