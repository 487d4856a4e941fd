"""A deployment that fails after it has saved its repository: whether the repository stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.support.fakes.api_server import FakeApiServer, FakeTransport, Refused, Target
from tests.support.fakes.operator import fake_credentials
from tests.support.gateway import GatewayServer
from tests.unit.gateway.deploy.test_forms import REMOTE, SETTINGS, checked
from tests.unit.gateway.xapp_objects import raw_xapp
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import AccessDenied, AlreadyExists, Conflict
from xapp_operator.gateway.auth.access_reviews import AccessReviews
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.deploy.deployer import Deployer
from xapp_operator.gateway.deploy.namespaces import XAppNamespaces
from xapp_operator.gateway.deploy.preconditions import ANY_XAPP
from xapp_operator.gateway.deploy.submission import Submission
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.transport import ApiRequest

FORM: Final = checked(**REMOTE)
NAMESPACE: Final = FORM.spec.namespace
REPOSITORY: Final = REMOTE["repoName"]
REFUSAL: Final = Refused(403, "Forbidden", "no")


def other_xapp(name: str = "other", *, repository: str = REPOSITORY) -> JsonObject:
    """Return the XApp that another request creates."""
    return raw_xapp(name, namespace=NAMESPACE, spec={**FORM.fields, "repoName": repository})


@dataclass
class Cluster:
    """A gateway's view of an API server, and what happens just before it stores the XApp."""

    server: FakeApiServer
    client: KubeClient
    deployer: Deployer
    store: XAppRecordStore
    before_xapp: list[Callable[[], object]] = field(default_factory=list)
    refuse_reads: bool = False

    async def deploy(self) -> None:
        await self.deployer.create(self.caller, Submission(form=FORM, values=None, chart=None))

    @property
    def caller(self) -> Caller:
        return Caller(client=self.client, mode="none", access_reviews=AccessReviews())

    def create(self, xapp: JsonObject) -> None:
        """Create an XApp as another replica of the gateway does."""
        self.server.create(Target("xapp-operator.io", "v1alpha1", "xapps", NAMESPACE), xapp)

    @property
    def has_repository(self) -> bool:
        return self.server.find("chartrepositories", REPOSITORY, namespace=NAMESPACE) is not None


@pytest.fixture
async def cluster(gateway: GatewayServer) -> AsyncIterator[Cluster]:
    server, store, parts = FakeApiServer(), XAppRecordStore(), gateway.gateway
    server.create(Target("", "v1", "namespaces"), {"metadata": {"name": NAMESPACE}})

    def refuse(request: ApiRequest) -> None:
        if "/xapps" not in request.path or "dryRun" in request.params:
            return
        if request.method == "GET" and one.refuse_reads:
            raise REFUSAL
        if request.method in {"POST", "PUT"}:
            for each in one.before_xapp:
                each()

    transport = FakeTransport(server, fake_credentials(), refuse=refuse)
    async with KubeClient(transport) as client:
        deployer = Deployer(
            kube=client,
            store=store,
            namespaces=XAppNamespaces(client, SETTINGS),
            renderer=parts.renderer,
            charts=parts.chart_loader,
            archives=parts.archive_storage,
        )
        one = Cluster(server, client, deployer, store)
        yield one


def refuse_xapp() -> None:
    raise REFUSAL


async def test_it_stays_for_the_xapp(cluster: Cluster) -> None:
    await cluster.deploy()
    assert cluster.has_repository


async def test_it_is_deleted_when_nobody_uses_it(cluster: Cluster) -> None:
    cluster.before_xapp.append(refuse_xapp)
    with pytest.raises(AccessDenied):
        await cluster.deploy()
    assert not cluster.has_repository


async def test_it_stays_when_another_request_has_created_the_same_xapp(cluster: Cluster) -> None:
    cluster.before_xapp.append(lambda: cluster.create(other_xapp(FORM.name)))
    with pytest.raises(AlreadyExists):
        await cluster.deploy()
    assert cluster.has_repository


async def test_it_is_deleted_when_that_xapp_uses_another_one(cluster: Cluster) -> None:
    cluster.before_xapp.append(lambda: cluster.create(other_xapp(FORM.name, repository="theirs")))
    with pytest.raises(AlreadyExists):
        await cluster.deploy()
    assert not cluster.has_repository


async def test_it_stays_when_another_xapp_uses_it(cluster: Cluster) -> None:
    cluster.before_xapp += [lambda: cluster.store.put(build_xapp_entry(other_xapp())), refuse_xapp]
    with pytest.raises(AccessDenied):
        await cluster.deploy()
    assert cluster.has_repository


async def test_it_stays_when_nobody_can_tell_who_uses_it(cluster: Cluster) -> None:
    cluster.before_xapp.append(refuse_xapp)
    cluster.refuse_reads = True
    with pytest.raises(AccessDenied):
        await cluster.deploy()
    assert cluster.has_repository


async def test_it_stays_when_another_upgrade_of_the_xapp_uses_it(cluster: Cluster) -> None:
    cluster.create(other_xapp(FORM.name, repository="before"))
    current = await cluster.client.get(XAPPS, FORM.name, namespace=NAMESPACE)
    target = Target("xapp-operator.io", "v1alpha1", "xapps", NAMESPACE, FORM.name)
    cluster.before_xapp.append(lambda: cluster.server.patch(target, {"spec": {"repoName": REPOSITORY}}))
    submission = Submission(form=FORM, values=None, chart=None)
    with pytest.raises(Conflict):
        await cluster.deployer.upgrade(cluster.caller, current, submission, expected=ANY_XAPP)
    assert cluster.has_repository
