"""The fake API server and the fake helm do what the real ones do: see `tests/integration/fakes`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from tests.contracts.api_server import ApiServerContract
from tests.contracts.helm import HelmContract, HelmSubject, hello_chart
from tests.contracts.helm_kills import HelmKillContract, KillBefore
from tests.contracts.helm_renderings import HelmRenderingContract, full_chart
from tests.contracts.kopf import KopfContract, RecordingRuntime, RefuseFinalizers, StartKopf
from tests.support.fakes.api_server import FakeApiServer, FakeTransport, Refused
from tests.support.fakes.helm import FakeHelm, Fault
from tests.support.fakes.kopf import KopfStandIn
from tests.support.fakes.kubelet import run_pods
from tests.support.fakes.operator import fake_credentials
from xapp_operator.config.settings import Settings
from xapp_operator.errors import HelmError
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile.runtime import OperatorRuntime

__all__ = ["full_chart", "hello_chart"]


@pytest.fixture
def server() -> FakeApiServer:
    server = FakeApiServer()
    run_pods(server)
    return server


@dataclass
class Refusal:
    """What becomes of requests that change finalizers: 0, or the status that they get."""

    code: int = 0

    def check(self, request: ApiRequest) -> None:
        if self.code and request.method == "PATCH" and b'"finalizers"' in (request.body or b""):
            raise Refused(self.code, "Invalid" if self.code == 422 else "Forbidden", "refused")


@pytest.fixture
def refusal() -> Refusal:
    return Refusal()


@pytest.fixture
async def kube(server: FakeApiServer, refusal: Refusal) -> AsyncIterator[KubeClient]:
    async with KubeClient(FakeTransport(server, fake_credentials(), refuse=refusal.check)) as client:
        yield client


@pytest.fixture
def refuse_finalizers(refusal: Refusal) -> RefuseFinalizers:
    @contextlib.asynccontextmanager
    async def refuse(code: int) -> AsyncIterator[None]:
        refusal.code = code
        yield
        refusal.code = 0

    return refuse


@pytest.fixture
def namespace() -> str:
    return "ns"


@pytest.fixture
def fake_helm(server: FakeApiServer) -> FakeHelm:
    return FakeHelm(server, post_renders=True)


@pytest.fixture
def helm(fake_helm: FakeHelm, kube: KubeClient, tmp_path: Path, hello_chart: Path) -> Iterator[HelmSubject]:
    settings = Settings(helm="/bin/sh", cache_dir=tmp_path / "cache")
    engine = HelmEngine(settings, kubeconfig="/fake", start=fake_helm)
    yield HelmSubject(engine, kube, "ns", hello_chart)
    engine.close()


@pytest.fixture
def kill_before(fake_helm: FakeHelm) -> KillBefore:
    return lambda write: fake_helm.faults.append(Fault(writes=write))


@pytest.fixture
def start_kopf(kube: KubeClient) -> StartKopf:
    @contextlib.asynccontextmanager
    async def start(runtime: RecordingRuntime) -> AsyncIterator[None]:
        stand_in = KopfStandIn(kube, cast("OperatorRuntime", runtime))
        running = asyncio.create_task(stand_in.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await stand_in.stop()

    return start


class TestFakeApiServer(ApiServerContract):
    """The fake keeps the contract."""


class TestFakeHelm(HelmContract):
    """The fake keeps the contract."""


class TestFakeHelmRenderings(HelmRenderingContract):
    """The fake keeps the contract."""


class TestFakeHelmKills(HelmKillContract):
    """The fake keeps the contract."""

    async def test_a_step_that_fails_after_its_last_write_has_succeeded(
        self, helm: HelmSubject, fake_helm: FakeHelm
    ) -> None:
        fake_helm.faults = [Fault("http2: client connection lost", writes=None)] * 4
        for step, statuses in (
            (helm.engine.install(helm.request()), {1: "deployed"}),
            (helm.engine.upgrade(helm.request(text="two")), {1: "superseded", 2: "deployed"}),
            (helm.engine.rollback(helm.rollback(1)), {1: "superseded", 2: "superseded", 3: "deployed"}),
            (helm.engine.uninstall(helm.uninstall), {}),
        ):
            with pytest.raises(HelmError, match="connection lost"):
                await step
            assert await helm.statuses() == statuses
        assert fake_helm.faults == []


class TestKopfStandIn(KopfContract):
    """The stand-in keeps the contract."""
