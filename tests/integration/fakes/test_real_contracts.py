"""The real API server and the real helm do what the fakes of the unit tests do: see `tests/unit/fakes`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.contracts.api_server import ApiServerContract
from tests.contracts.helm import HelmContract, HelmSubject, hello_chart
from tests.contracts.helm_kills import HelmKillContract, KillBefore
from tests.contracts.kopf import KopfContract, RecordingRuntime, StartKopf
from tests.localcluster import Cluster
from tests.localrun.cluster_setup import install_crds
from tests.support.killed_helm import KillingProxy, killing_proxy
from xapp_operator.config import Settings
from xapp_operator.handlers.kopf_operator import run_operator
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient
from xapp_operator.reconcile.runtime import OperatorRuntime

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


@pytest.fixture
async def proxy(cluster: Cluster, tmp_path: Path) -> AsyncIterator[KillingProxy]:
    async with killing_proxy(cluster, tmp_path) as one:
        yield one


@pytest.fixture
def kill_before(proxy: KillingProxy) -> KillBefore:
    return proxy.kill_before


@pytest.fixture
def start_kopf(namespace: str) -> StartKopf:
    @contextlib.asynccontextmanager
    async def start(runtime: RecordingRuntime) -> AsyncIterator[None]:
        operator = run_operator(
            cast("OperatorRuntime", runtime), Settings(namespaces=(namespace,)), on_started=lambda: None
        )
        running = asyncio.create_task(operator)
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait([running])

    return start


class TestRealApiServer(ApiServerContract):
    """The real one keeps the contract."""


class TestRealHelm(HelmContract):
    """The real one keeps the contract."""


class TestRealHelmKills(HelmKillContract):
    """The real one keeps the contract."""

    @pytest.fixture
    def helm(self, kube: KubeClient, proxy: KillingProxy, namespace: str, hello_chart: Path) -> Iterator[HelmSubject]:
        settings = Settings(helm=str(proxy.cluster.helm_path), cache_dir=proxy.kubeconfig.with_name("cache"))
        engine = HelmEngine(settings, kubeconfig=str(proxy.kubeconfig), start=proxy.start_helm)
        yield HelmSubject(engine, kube, namespace, hello_chart)
        engine.close()


class TestRealKopf(KopfContract):
    """The real one keeps the contract."""
