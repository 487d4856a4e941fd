"""A client of the test cluster, and objects for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.localcluster import Cluster
from tests.localrun.cluster_setup import install_crds
from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource

ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")


@pytest.fixture
async def kube(cluster: Cluster) -> AsyncIterator[KubeClient]:
    async with await KubeClient.connect(Settings(KUBECONFIG=str(cluster.kubeconfig))) as client:
        yield client


@pytest.fixture(scope="session")
def crds(cluster: Cluster) -> None:
    install_crds(cluster)


def config_map(name: str, *, data: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> JsonObject:
    """Return a ConfigMap without namespace."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {**(labels or {})}},
        "data": {**(data or {})},
    }


async def grant_to_default(kube: KubeClient, namespace: str, rule: JsonObject) -> None:
    """Allow the default service account of the namespace what a rule of a Role allows."""
    await kube.create(ROLES, {"metadata": {"name": "granted"}, "rules": [rule]}, namespace=namespace)
    binding: JsonObject = {
        "metadata": {"name": "granted"},
        "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": "granted"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
    await kube.create(ROLE_BINDINGS, binding, namespace=namespace)
