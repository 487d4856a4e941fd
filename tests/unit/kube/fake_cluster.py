"""A client of an API server in memory whose requests a test can make fail, wait or notice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kubernetes.aio.client import Configuration

from tests.support.fakes.api_server import FakeApiServer, FakeTransport
from tests.support.fakes.clock import FakeClock, FakeTimeLoop
from tests.support.fakes.kinds import KINDS
from xapp_operator.api.json import JsonObject
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.credentials import ClusterCredentials
from xapp_operator.kube.resources import Resource
from xapp_operator.kube.transport import ApiRequest, ApiResponse, RequestIdentity

MORE_KINDS: dict[tuple[str, str], dict[str, tuple[str, bool]]] = {
    ("coordination.k8s.io", "v1"): {"leases": ("Lease", True)},
    ("networking.k8s.io", "v1"): {
        **KINDS["networking.k8s.io", "v1"],
        "servicecidrs": ("ServiceCIDR", False),
    },
}
"""Kinds that only these tests need."""


class Transport(FakeTransport):
    """Calls `before` with each request; what it raises is the answer, and what it returns is awaited."""

    before: Callable[[ApiRequest], Coroutine[Any, Any, None] | None] = staticmethod(lambda _: None)

    async def send(self, request: ApiRequest, *, identity: RequestIdentity) -> ApiResponse:
        waiting = self.before(request)
        if waiting is not None:
            await waiting
        return await super().send(request, identity=identity)


class FakeCluster:
    """An empty API server and a client of it."""

    def __init__(self, *, host: str = "http://127.0.0.1:6443") -> None:
        self.clock = FakeClock()
        self.server = FakeApiServer(self.clock)
        self.transport = Transport(self.server, fake_credentials(host))
        self.kube = KubeClient(self.transport)

    def requests(self, method: str) -> list[ApiRequest]:
        """Return the requests of one method that reached the server."""
        return [each for each in self.transport.requests if each.method == method]

    async def create(self, resource: Resource, name: str, *, namespace: str | None = None, **body: Any) -> JsonObject:
        metadata = {"name": name, **body.pop("metadata", {})}
        return await self.kube.create(resource, {**body, "metadata": metadata}, namespace=namespace)

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        """Run in simulated time, which passes only while nothing else is left to do."""
        with asyncio.Runner(loop_factory=lambda: FakeTimeLoop(self.clock)) as runner:
            runner.run(main)


def fake_credentials(host: str) -> ClusterCredentials:
    async def never() -> float:
        return 1e9

    return ClusterCredentials(Configuration(host=host), refresh=never, first_refresh=1e9, kubeconfig_path="/fake")
