"""The start and the end of what runs in an operator that leads."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.fakes.api_server import FakeTransport
from tests.support.fakes.clock import FakeClock, run_in_fake_time
from tests.support.fakes.histories import make_settings
from tests.support.fakes.operator import FakeCluster, fake_credentials
from xapp_operator.errors import NotReady
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.transport import ApiRequest, RequestIdentity
from xapp_operator.reconcile.runtime import OperatorRuntime
from xapp_operator.telemetry.metrics import Metrics


class _SilentTransport(FakeTransport):
    """The connection to an API server that does not answer a list of some kind."""

    def __init__(self, cluster: FakeCluster, plural: str = "chartarchives") -> None:
        super().__init__(cluster.server, fake_credentials())
        self.is_waiting = asyncio.Event()
        self._plural = plural

    @asynccontextmanager
    async def stream(
        self, request: ApiRequest, *, identity: RequestIdentity, read_timeout: float | None
    ) -> AsyncIterator[AsyncGenerator[bytes]]:
        if request.path.endswith(f"/{self._plural}"):
            self.is_waiting.set()
            await asyncio.Event().wait()
        async with super().stream(request, identity=identity, read_timeout=read_timeout) as chunks:
            yield chunks


async def test_a_start_that_is_ended_leaves_nothing_open(tmp_path: Path) -> None:
    cluster = FakeCluster(make_settings(tmp_path))
    transport = _SilentTransport(cluster)
    async with KubeClient(transport) as kube:
        runtime = OperatorRuntime(kube, cluster.settings, Metrics(), clock=cluster.clock, start_helm=cluster.helm)
        folder = runtime.helm_folder
        start = asyncio.create_task(runtime.__aenter__())
        async with asyncio.timeout(5):
            await transport.is_waiting.wait()
        assert folder.exists()
        start.cancel()
        await asyncio.gather(start, return_exceptions=True)
        assert start.cancelled()
    assert not folder.exists()
    del runtime, start
    gc.collect()  # aiohttp warns about sessions that were not closed


@pytest.mark.parametrize("plural", ["chartarchives", "configmaps"])
def test_a_start_waits_a_minute_for_each_list(tmp_path: Path, plural: str) -> None:
    clock = FakeClock()

    async def start() -> None:
        cluster = FakeCluster(make_settings(tmp_path), clock)
        async with KubeClient(_SilentTransport(cluster, plural)) as kube:
            runtime = OperatorRuntime(kube, cluster.settings, Metrics(), clock=clock, start_helm=cluster.helm)
            with pytest.raises(NotReady, match=f"{plural}.* could not be listed within 60 seconds"):
                await runtime.__aenter__()

    run_in_fake_time(start(), clock)
    assert clock.monotonic() == pytest.approx(60.0, abs=0.5)
