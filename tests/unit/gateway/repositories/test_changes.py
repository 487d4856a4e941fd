"""A change of a saved repository that fails: whether the Secret with the new credentials stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import pytest

from tests.support.fakes.api_server import FakeApiServer, FakeTransport, Refused
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import fake_credentials
from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, ApiUnavailable, KubeError
from xapp_operator.gateway.auth.access_reviews import AccessReviews
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.repositories.changes import prepare_update, update_repository
from xapp_operator.gateway.repositories.preconditions import ExpectedRepository
from xapp_operator.gateway.repositories.writes import create_repository, validate_repository
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.transport import ApiRequest, ApiResponse, RequestIdentity

SETTINGS: Final = Settings()
SECONDS: Final = 10.0
BODY: Final[JsonObject] = {"url": "https://charts.example.com", "username": "jane", "password": "before"}


@dataclass
class Cluster:
    """An API server with one saved repository, and what becomes of the request that changes it."""

    server: FakeApiServer
    client: KubeClient
    transport: FakeTransport
    put: asyncio.Event
    """The API server has stored the change."""
    refusal: Refused | None = None
    lost: KubeError | None = None
    """Raised instead of the response to the change, which is stored."""

    async def change(self) -> None:
        caller = Caller(client=self.client, mode="none", access_reviews=AccessReviews())
        body = {**BODY, "password": "after"}
        expected = ExpectedRepository()
        update = await prepare_update(caller, body, namespace="ns", name="acme", expected=expected, settings=SETTINGS)
        await update_repository(self.client, update)

    @property
    def referenced(self) -> Json | None:
        """The Secret that the repository refers to."""
        repository = self.server.find("chartrepositories", "acme")
        assert repository is not None
        return self.server.find("secrets", repository["spec"]["secretRef"]["name"])

    @property
    def passwords(self) -> list[str]:
        """The passwords in all Secrets."""
        return [each["stringData"]["password"] for each in self.server.all("secrets")]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    server, put = FakeApiServer(), asyncio.Event()

    def refuse(request: ApiRequest) -> None:
        if request.method == "PUT" and one.refusal is not None:
            raise one.refusal

    def lose(request: ApiRequest, _response: ApiResponse, _identity: RequestIdentity) -> None:
        if request.method == "PUT":
            put.set()
            if one.lost is not None:
                raise one.lost

    transport = FakeTransport(server, fake_credentials(), refuse=refuse, on_response=[lose])
    async with KubeClient(transport) as client:
        one = Cluster(server, client, transport, put)
        caller = Caller(client=client, mode="none", access_reviews=AccessReviews())
        request = validate_repository({**BODY, "name": "acme", "namespace": "ns"}, settings=SETTINGS)
        await create_repository(caller, request)
        yield one


async def test_a_change_replaces_the_secret(cluster: Cluster) -> None:
    await cluster.change()
    assert (cluster.referenced is not None, cluster.passwords) == (True, ["after"])


async def test_the_new_secret_is_deleted_when_the_change_is_refused(cluster: Cluster) -> None:
    cluster.refusal = Refused(403, "Forbidden", "no")
    with pytest.raises(AccessDenied):
        await cluster.change()
    assert (cluster.referenced is not None, cluster.passwords) == (True, ["before"])


@pytest.mark.parametrize("lost", [ApiUnavailable("no response"), KubeError("internal error")], ids=["lost", "5xx"])
async def test_the_new_secret_stays_when_the_change_may_be_stored(cluster: Cluster, lost: KubeError) -> None:
    cluster.lost = lost
    with pytest.raises(type(lost)):
        await cluster.change()
    assert (cluster.referenced is not None, cluster.passwords) == (True, ["before", "after"])


async def test_the_new_secret_stays_when_the_client_leaves(cluster: Cluster) -> None:
    cluster.transport.response_latency = lambda request: 3600.0 if request.method == "PUT" else 0.0
    change = asyncio.create_task(cluster.change())
    await asyncio.wait_for(cluster.put.wait(), SECONDS)
    change.cancel()
    await asyncio.wait([change], timeout=SECONDS)
    assert change.cancelled()
    assert (cluster.referenced is not None, cluster.passwords) == (True, ["before", "after"])
