"""The fake API server and the fake helm do what the real ones do: see `tests/integration/fakes`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.contracts.api_server import ApiServerContract
from tests.contracts.helm import HelmContract, HelmSubject, hello_chart
from tests.support.fakes.api_server import FakeApiServer, FakeTransport
from tests.support.fakes.helm import FakeHelm
from tests.support.fakes.kubelet import run_pods
from tests.support.fakes.operator import fake_credentials
from xapp_operator.config import Settings
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient

__all__ = ["hello_chart"]


@pytest.fixture
def server() -> FakeApiServer:
    server = FakeApiServer()
    run_pods(server)
    return server


@pytest.fixture
async def kube(server: FakeApiServer) -> AsyncIterator[KubeClient]:
    async with KubeClient(FakeTransport(server, fake_credentials())) as client:
        yield client


@pytest.fixture
def namespace() -> str:
    return "ns"


@pytest.fixture
def helm(server: FakeApiServer, kube: KubeClient, tmp_path: Path, hello_chart: Path) -> Iterator[HelmSubject]:
    settings = Settings(helm="/bin/sh", cache_dir=tmp_path / "cache")
    engine = HelmEngine(settings, kubeconfig="/fake", start=FakeHelm(server))
    yield HelmSubject(engine, kube, "ns", hello_chart)
    engine.close()


class TestFakeApiServer(ApiServerContract):
    """The fake keeps the contract."""


class TestFakeHelm(HelmContract):
    """The fake keeps the contract."""
