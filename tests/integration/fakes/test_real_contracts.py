"""The real API server and the real helm do what the fakes of the unit tests do: see `tests/unit/fakes`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from tests.contracts.api_server import ApiServerContract
from tests.contracts.helm import HelmContract, HelmSubject, hello_chart
from tests.contracts.helm_kills import HelmKillContract, KillBefore
from tests.contracts.helm_renderings import HelmRenderingContract, full_chart
from tests.contracts.kopf import KopfContract, RecordingRuntime, RefuseFinalizers, StartKopf
from tests.localcluster import Cluster
from tests.localrun.cluster_setup import install_crds
from tests.support.finalizer_refusal import refused_finalizers
from tests.support.write_interceptor import WriteInterceptor
from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult, run_process
from xapp_operator.config.settings import Settings
from xapp_operator.handlers.kopf_operator import run_operator
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.kube.client import KubeClient
from xapp_operator.reconcile.runtime import OperatorRuntime

__all__ = ["full_chart", "hello_chart"]

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


class HelmProcesses:
    """The helm processes of a test that run."""

    def __init__(self) -> None:
        self._running: set[int] = set()

    async def start(
        self, command: Command, *, limits: ProcessLimits, on_start: Callable[[int], None] | None = None
    ) -> ProcessResult:
        """Run helm as `run_process` does, which is a `ProcessStarter` too."""
        started: list[int] = []

        def note(pid: int) -> None:
            started.append(pid)
            self._running.add(pid)
            if on_start is not None:
                on_start(pid)

        try:
            return await run_process(command, limits=limits, on_start=note)
        finally:
            self._running.difference_update(started)

    def kill(self) -> None:
        """Kill the one that runs, with its own processes."""
        (pid,) = self._running
        os.killpg(pid, signal.SIGKILL)


@pytest.fixture
def processes() -> HelmProcesses:
    return HelmProcesses()


@pytest.fixture
def kill_before(cluster: Cluster, namespace: str, processes: HelmProcesses, tmp_path: Path) -> Iterator[KillBefore]:
    with WriteInterceptor(cluster, namespace, tmp_path) as interceptor:
        yield lambda write: interceptor.arm(processes.kill, write=write, after=False)


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


@pytest.fixture
def refuse_finalizers(cluster: Cluster, namespace: str) -> RefuseFinalizers:
    @contextlib.asynccontextmanager
    async def refuse(code: int) -> AsyncIterator[None]:
        refusal = refused_finalizers(cluster, namespace, code, message="not now")
        await asyncio.to_thread(refusal.__enter__)
        try:
            yield
        finally:
            await asyncio.to_thread(refusal.__exit__, None, None, None)

    return refuse


class TestRealApiServer(ApiServerContract):
    """The real one keeps the contract."""


class TestRealHelm(HelmContract):
    """The real one keeps the contract."""


class TestRealHelmRenderings(HelmRenderingContract):
    """The real one keeps the contract."""


class TestRealHelmKills(HelmKillContract):
    """The real one keeps the contract."""

    @pytest.fixture
    def helm(
        self, helm: HelmSubject, processes: HelmProcesses, cluster: Cluster, tmp_path: Path
    ) -> Iterator[HelmSubject]:
        settings = Settings(helm=str(cluster.helm_path), cache_dir=tmp_path / "killed")
        engine = HelmEngine(settings, kubeconfig=str(cluster.kubeconfig), start=processes.start)
        yield replace(helm, engine=engine)
        engine.close()


class TestRealKopf(KopfContract):
    """The real one keeps the contract."""
