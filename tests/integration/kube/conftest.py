"""A client of the test cluster, and objects for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.localcluster import Cluster
from xapp_operator.api.json import JsonObject
from xapp_operator.config import Settings
from xapp_operator.kube.client import KubeClient

CRDS = Path(__file__).parents[3] / "crds"


@pytest.fixture
async def kube(cluster: Cluster) -> AsyncIterator[KubeClient]:
    async with await KubeClient.connect(Settings(KUBECONFIG=str(cluster.kubeconfig))) as client:
        yield client


@pytest.fixture(scope="session")
def crds(cluster: Cluster) -> None:
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(CRDS))
    cluster.kubectl("wait", "--for=condition=Established", "crd/xapps.xapp-operator.io", "--timeout=60s")


def config_map(name: str, *, data: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> JsonObject:
    """Return a ConfigMap without namespace."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {**(labels or {})}},
        "data": {**(data or {})},
    }
