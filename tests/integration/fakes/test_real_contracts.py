"""The real API server and the real helm do what the fakes of the unit tests do: see `tests/unit/fakes`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.contracts.api_server import ApiServerContract
from tests.contracts.helm import HelmContract, HelmSubject, hello_chart
from tests.localcluster import Cluster
from tests.localrun.cluster_setup import install_crds
from xapp_operator.config import Settings
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient

__all__ = ["hello_chart"]

pytestmark = pytest.mark.integration


@pytest.fixture(scope="session")
def crds(cluster: Cluster) -> None:
    install_crds(cluster)


@pytest.fixture
async def kube(cluster: Cluster, crds: None) -> AsyncIterator[KubeClient]:
    async with await KubeClient.connect(Settings(KUBECONFIG=str(cluster.kubeconfig))) as client:
        yield client


@pytest.fixture
def helm(
    kube: KubeClient,
    cluster: Cluster,
    namespace: str,
    tmp_path: Path,
    hello_chart: Path,
) -> Iterator[HelmSubject]:
    settings = Settings(helm=str(cluster.helm_path), cache_dir=tmp_path / "cache")
    engine = HelmEngine(settings, kubeconfig=str(cluster.kubeconfig))
    yield HelmSubject(engine, kube, namespace, hello_chart)
    engine.close()


class TestRealApiServer(ApiServerContract):
    """The real one keeps the contract."""


class TestRealHelm(HelmContract):
    """The real one keeps the contract."""
